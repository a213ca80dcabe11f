import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Record from "effect/Record"
import * as Struct from "effect/Struct"
import type { CollectionName } from "../model/Collection.ts"
import type { DocumentId } from "../model/Document.ts"
import type { Filter } from "../model/Filter.ts"
import type { SearchRequest } from "../model/Query.ts"
import { type Hit, type Similar, passageKey } from "../model/SearchResult.ts"
import type { ListedDocument } from "../model/Stored.ts"
import type { Judgement } from "../model/Judgement.ts"
import { Search } from "../Search.ts"
import { Store } from "../Store.ts"
import { requests as requestsBy } from "./Benchmark.ts"
import { graded, isAbout, isSource, type PassagePlace } from "./grading.ts"
import type { JudgedQuestion } from "./Judgements.ts"
import { ndcgAt, recallAt, reciprocalRankAt } from "./evaluation.ts"

/** The modes of search measured by judgements; `configured` searches like `clew query`. */
export const judgedModes = ["configured", "keyword", "vector", "hybrid rrf", "hybrid score"] as const
export type JudgedMode = (typeof judgedModes)[number]

const known = { ...requestsBy, configured: { hybrid: true } }
const requests: Readonly<Record<JudgedMode, Partial<SearchRequest>>> = Struct.pick(known, ...judgedModes)

/** A passage to judge, and its rank in each mode that found it. */
export interface Pooled {
  readonly hit: Hit
  readonly ranks: Partial<Readonly<Record<JudgedMode, number>>>
}

/** How well a question was answered, each from 0 to 1. */
export interface Scores {
  readonly ndcg_at_10: number
  readonly recall_at_10: number
  readonly mrr_at_10: number
  /** The share of the top ten that was judged at all. */
  readonly judged_at_10: number
}

/** A question with its results by mode. */
export interface Answered {
  readonly query: string
  readonly scores: Readonly<Record<JudgedMode, Scores>>
  /** Milliseconds of the configured search. */
  readonly ms: number
}

const placeOf = ({ document, passage }: Similar): PassagePlace => ({
  source: document.source,
  startLine: passage.startLine,
  endLine: passage.endLine
})

/** The place of a hit, or those of it and of the passages told with it that were judged. */
const placesOf = (hit: Hit, judgements: JudgedQuestion["judgements"]): ReadonlyArray<PassagePlace> => {
  const judged = [hit, ...(hit.similar ?? [])]
    .map(placeOf)
    .filter((place) => judgements.some((judgement) => isAbout(judgement, place)))
  return judged.length > 0 ? judged : [placeOf(hit)]
}

/** Documents listed at once. */
const pageSize = 1000

const nameOf = (source: string): string => source.slice(Math.max(source.lastIndexOf("/"), source.lastIndexOf("\\")) + 1)

/** Passages to fetch, so that they cover ten judged places even if many are of one. */
const depth = 100

export const isRelevant = ({ judgements }: JudgedQuestion): boolean => judgements.some(({ grade }) => grade > 0)

/** Lets people judge search results, and measures searches by their judgements. */
export class Judging extends Effect.Service<Judging>()("clew/Judging", {
  effect: Effect.gen(function* () {
    const search = yield* Search
    const store = yield* Store

    const among = Effect.fnUntraced(function* (collection: CollectionName | undefined) {
      return collection === undefined ? (yield* store.collections).map(({ name }) => name) : [collection]
    })

    /** The judgements whose source is that of no document, nor the end of its path. */
    const unmatched = Effect.fn("Judging.unmatched")(function* (
      judgements: ReadonlyArray<Judgement>,
      collection?: CollectionName
    ) {
      const missing = new Set(judgements.map(({ source }) => source))
      // By the last name of their path, so that each document is compared with few.
      const byName = new Map<string, Array<string>>()
      for (const source of missing) byName.set(nameOf(source), [...(byName.get(nameOf(source)) ?? []), source])
      for (const name of yield* among(collection)) {
        let after: ListedDocument | undefined
        const before = new Set<DocumentId>()
        while (missing.size > 0) {
          const page: ReadonlyArray<ListedDocument> = yield* store.list(name, { limit: pageSize, after })
          for (const { docId, source = docId } of page) {
            for (const judged of byName.get(nameOf(source)) ?? []) if (isSource(source, judged)) missing.delete(judged)
          }
          after = page.at(-1)
          // A damaged index could lead in a circle.
          if (after === undefined || page.length < pageSize || before.has(after.docId)) break
          before.add(after.docId)
        }
      }
      return judgements.filter(({ source }) => missing.has(source))
    })

    /** The best passages of every mode, the highest ranked first. */
    const pool = Effect.fn("Judging.pool")(function* (
      query: string,
      options: {
        readonly most: number
        readonly collection?: CollectionName | undefined
        readonly filter?: Filter | undefined
      }
    ) {
      const { most, ...where } = options
      const found = new Map<string, { readonly hit: Hit; readonly ranks: Partial<Record<JudgedMode, number>> }>()
      for (const mode of judgedModes) {
        const { hits } = yield* search.run({ ...requests[mode], ...where, query, topK: most })
        for (const [at, hit] of hits.entries()) {
          const key = passageKey(hit)
          const known = found.get(key) ?? { hit, ranks: {} }
          known.ranks[mode] = at + 1
          found.set(key, known)
        }
      }
      const best = ({ ranks }: Pooled) => Math.min(...Object.values(ranks))
      return [...found.values()].sort((a, b) => best(a) - best(b)) satisfies ReadonlyArray<Pooled>
    })

    const scored = Effect.fnUntraced(function* (
      { judgements, query }: JudgedQuestion,
      mode: JudgedMode,
      collection: CollectionName | undefined
    ) {
      const [time, { hits }] = yield* Effect.timed(search.run({ ...requests[mode], query, topK: depth, collection }))
      const places = hits.flatMap((hit) => placesOf(hit, judgements))
      const { grades, ranking } = graded(places, judgements)
      const best = places.slice(0, 10)
      const scores: Scores = {
        ndcg_at_10: ndcgAt(10, ranking, grades),
        recall_at_10: recallAt(10, ranking, grades),
        mrr_at_10: reciprocalRankAt(10, ranking, grades),
        judged_at_10:
          best.length === 0
            ? 1
            : best.filter((place) => judgements.some((judgement) => isAbout(judgement, place))).length / best.length
      }
      return { scores, ms: Duration.toMillis(time) }
    })

    /** Runs the questions in every mode; each must have an answer. */
    const evaluate = Effect.fn("Judging.evaluate")(function* (
      questions: ReadonlyArray<JudgedQuestion>,
      collection?: CollectionName
    ) {
      // The first search loads the model.
      for (const question of questions.slice(0, 1)) yield* scored(question, "configured", collection)
      return yield* Effect.forEach(questions, (question) =>
        Effect.gen(function* () {
          const found = yield* Effect.all(Record.map(requests, (_, mode) => scored(question, mode, collection)))
          const scores = Record.map(found, ({ scores }) => scores)
          return { query: question.query, scores, ms: found.configured.ms } satisfies Answered
        })
      )
    })

    return { pool, evaluate, unmatched }
  })
}) {}

/** The grade of a passage, if it was judged. */
export const gradeOf = (question: JudgedQuestion | undefined, hit: Hit): number | undefined =>
  question?.judgements.findLast((judgement) =>
    [hit, ...(hit.similar ?? [])].some((place) => isAbout(judgement, placeOf(place)))
  )?.grade
