import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { untilMade } from "../Collections.ts"
import { Indexer } from "../Indexer.ts"
import { Search } from "../Search.ts"
import { Store } from "../Store.ts"
import { CollectionName, defaultCollection } from "../model/Collection.ts"
import type { DocumentId, DocumentInput } from "../model/Document.ts"
import type { SearchRequest } from "../model/Query.ts"
import type { Hit } from "../model/SearchResult.ts"
import { requests as modes } from "./Benchmark.ts"
import { mean, queryOf, randomFrom } from "./evaluation.ts"

/** There is no passage to sample queries from. */
class NothingIndexed extends Schema.TaggedError<NothingIndexed>()("NothingIndexed", {
  collection: CollectionName
}) {
  override get message() {
    return `Collection ${this.collection} has no passage to measure with; index something with \`clew index PATH\``
  }
}

export const legs = ["keyword", "vector", "hybrid"] as const
export type SpeedLeg = (typeof legs)[number]

/** What one leg finds is measured without the passages that the graph leads to. */
const requests: Readonly<Record<SpeedLeg, Partial<SearchRequest>>> = {
  keyword: modes.keyword,
  vector: modes.vector,
  hybrid: { hybrid: true }
}

/** What a search found, and how long it took in milliseconds. */
export interface Answered {
  readonly ms: number
  readonly hits: ReadonlyArray<Hit>
}

const topK = 10

/** Enough that the start does not distort the rate, but few enough to take only seconds. */
const most = { documents: 500, characters: 4_000_000 }

const batch = 100

/**
 * The share, 0 to 1, of the exact ranking's places that the other ranking fills with equally near passages; ties are
 * interchangeable.
 */
export const recallAgainst = (exact: ReadonlyArray<Hit>, found: ReadonlyArray<Hit>): number => {
  const last = exact.at(-1)
  if (last === undefined) return 1
  return Math.min(1, found.filter(({ score }) => score >= last.score - 1e-6).length / exact.length)
}

/** Measures the speed of searching an index, and of indexing its documents again. */
export class Speed extends Effect.Service<Speed>()("clew/Speed", {
  effect: Effect.gen(function* () {
    const store = yield* Store
    const search = yield* Search
    const indexer = yield* Indexer

    /** The top ten for each query, and the milliseconds that each took; the first ten are asked before, to warm up. */
    const answers = Effect.fn("Speed.answers")(function* (
      collection: CollectionName | undefined,
      queries: ReadonlyArray<string>,
      leg: SpeedLeg
    ) {
      const run = (query: string) => search.run({ collection, query, topK, ...requests[leg] })
      for (const query of queries.slice(0, 10)) yield* run(query)
      return yield* Effect.forEach(queries, (query) =>
        Effect.map(Effect.timed(run(query)), ([time, { hits }]) => ({ ms: Duration.toMillis(time), hits }))
      )
    })

    return {
      answers,

      /** Queries from the collection's passages, and whole documents; the same for the same index and seed. */
      sample: Effect.fn("Speed.sample")(function* (collection: CollectionName, queries: number, seed: number) {
        const { documents, passages } = yield* untilMade(
          collection,
          () => new NothingIndexed({ collection })
        )(store.stats(collection))
        const { databaseBytes, passages: allPassages } = yield* store.stats()
        const random = randomFrom(seed)
        const places = Array.from({ length: Math.max(queries, most.documents) }, random)
        const sampled = yield* store.sample(collection, places)
        if (sampled.length === 0) return yield* new NothingIndexed({ collection })
        const asked = Array.from({ length: queries }, (_, n) => queryOf(sampled[n % sampled.length]!, random))

        const inputs: Array<DocumentInput> = []
        let characters = 0
        for (const docId of new Set<DocumentId>(sampled.map(({ docId }) => docId))) {
          if (inputs.length === most.documents || characters > most.characters) break
          const { content, metadata, source, title } = yield* store.get(collection, docId)
          inputs.push({ docId, content, metadata: { ...metadata, source, title } })
          characters += content.length
        }
        return {
          documents,
          passages,
          databaseBytes,
          /** Passages in all collections, which share the database. */
          allPassages,
          queries: asked.filter((query) => query !== ""),
          inputs
        }
      }),

      /** Queries from the passages of one collection or of all, by their sizes; the same for the same index and seed. */
      questions: Effect.fn("Speed.questions")(function* (
        only: CollectionName | undefined,
        wanted: number,
        seed: number
      ) {
        const chosen = only === undefined ? yield* store.collections : [yield* store.collection(only)]
        const all = chosen.reduce((sum, { passages }) => sum + passages, 0)
        const random = randomFrom(seed)
        const asked = yield* Effect.forEach(chosen, ({ name, passages }) =>
          Effect.map(
            store.sample(name, Array.from({ length: Math.ceil((wanted * passages) / Math.max(1, all)) }, random)),
            (sampled) => sampled.map((passage) => queryOf(passage, random))
          )
        )
        const queries = [...new Set(asked.flat())].filter((query) => query !== "").slice(0, wanted)
        return queries.length > 0 ? queries : yield* new NothingIndexed({ collection: only ?? defaultCollection })
      }),

      /** Chunks, embeds and stores documents in an empty index; passages per second. */
      indexing: Effect.fn("Speed.indexing")(function* (inputs: ReadonlyArray<DocumentInput>) {
        // The first document loads the model.
        yield* indexer.index(inputs.slice(0, 1))
        let passages = 0
        const [time] = yield* Effect.timed(
          Effect.gen(function* () {
            for (let at = 1; at < inputs.length; at += batch) {
              for (const indexed of yield* indexer.index(inputs.slice(at, at + batch))) passages += indexed.passages
            }
          })
        )
        return passages === 0 ? undefined : passages / Duration.toSeconds(time)
      })
    }
  })
}) {}

/** The mean of each query's recall. */
export const meanRecall = (
  exact: ReadonlyArray<{ readonly hits: ReadonlyArray<Hit> }>,
  found: ReadonlyArray<{ readonly hits: ReadonlyArray<Hit> }>
): number => mean(exact.map(({ hits }, query) => recallAgainst(hits, found[query]?.hits ?? [])))
