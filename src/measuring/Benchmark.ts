import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type Judgements, allFoundAt, mean, ndcgAt, recallAt, reciprocalRankAt } from "./evaluation.ts"
import { FileIndexer } from "../files/FileIndexer.ts"
import { defaultCollection } from "../model/Collection.ts"
import type { Fusion, SearchRequest } from "../model/Query.ts"
import type { Hit } from "../model/SearchResult.ts"
import { Search } from "../Search.ts"

const Query = Schema.parseJson(Schema.Struct({ _id: Schema.String, text: Schema.NonEmptyString }))
const decodeQuery = Schema.decodeUnknownEither(Query)

/** Non-empty lines with their numbers, from 1. */
const linesOf = (text: string): ReadonlyArray<readonly [line: string, number: number]> =>
  text
    .split(/\r?\n/)
    .map((line, index) => [line, index + 1] as const)
    .filter(([line]) => line.trim() !== "")

/** Grades by query id, then document id: `query-id <tab> corpus-id <tab> score`, with or without a header line. */
export const parseJudgements = (text: string): Either.Either<ReadonlyMap<string, Judgements>, string> => {
  const judgements = new Map<string, Map<string, number>>()
  for (const [line, number] of linesOf(text)) {
    const [query, document, grade, ...more] = line.split("\t")
    const value = grade === undefined || grade.trim() === "" ? Number.NaN : Number(grade)
    if (query === undefined || document === undefined || more.length > 0 || !Number.isFinite(value)) {
      if (number === 1) continue
      return Either.left(`line ${number} is not a query-id, corpus-id and score separated by tabs`)
    }
    judgements.set(query, (judgements.get(query) ?? new Map<string, number>()).set(document, value))
  }
  return Either.right(judgements)
}

/** Texts by query id: a JSON object with `_id` and `text` on each line. */
export const parseQueries = (text: string): Either.Either<ReadonlyMap<string, string>, string> => {
  const queries = new Map<string, string>()
  for (const [line, number] of linesOf(text)) {
    const query = decodeQuery(line)
    if (Either.isLeft(query)) return Either.left(`line ${number} is not a JSON object with "_id" and "text"`)
    queries.set(query.right._id, query.right.text)
  }
  return Either.right(queries)
}

/** A folder is not a dataset in BEIR layout; the reason says what is wrong, and where. */
export class DatasetUnreadable extends Schema.TaggedError<DatasetUnreadable>()("DatasetUnreadable", {
  path: Schema.String,
  reason: Schema.String
}) {
  override get message() {
    return `${this.path}: ${this.reason}`
  }
}

interface JudgedQuery {
  readonly id: string
  readonly text: string
  /** Grades by document id, at least one above 0. */
  readonly judgements: Judgements
}

interface Dataset {
  readonly name: string
  /** Absolute path of its corpus.jsonl. */
  readonly corpus: string
  /** In the order of queries.jsonl. */
  readonly queries: ReadonlyArray<JudgedQuery>
}

/** Why a file cannot be read. */
export const reasonOf = (error: PlatformError): string =>
  error._tag === "SystemError" && error.reason === "NotFound" ? "there is no such file" : error.message

const layout = "a dataset is a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv (BEIR's layout)"

/** Reads queries and judgements; for the corpus it only checks that the file exists. */
export const readDataset = Effect.fn("Benchmark.readDataset")(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const root = path.resolve(folder)
  const files = {
    corpus: path.join(root, "corpus.jsonl"),
    queries: path.join(root, "queries.jsonl"),
    judgements: path.join(root, "qrels", "test.tsv")
  }
  const fail = (file: string) => (reason: string) => new DatasetUnreadable({ path: file, reason })
  const read = (file: string) =>
    Effect.mapError(fs.readFileString(file), (error) => fail(file)(`${reasonOf(error)}; ${layout}`))

  yield* Effect.mapError(fs.access(files.corpus, { readable: true }), (error) =>
    fail(files.corpus)(`${reasonOf(error)}; ${layout}`)
  )
  const texts = yield* Either.mapLeft(parseQueries(yield* read(files.queries)), fail(files.queries))
  const judged = yield* Either.mapLeft(parseJudgements(yield* read(files.judgements)), fail(files.judgements))
  for (const id of judged.keys()) {
    if (!texts.has(id))
      return yield* fail(files.judgements)(`query ${id} is judged, but queries.jsonl has no such query`)
  }
  const queries = [...texts].flatMap(([id, text]): ReadonlyArray<JudgedQuery> => {
    const judgements = judged.get(id)
    return judgements !== undefined && [...judgements.values()].some((grade) => grade > 0)
      ? [{ id, text, judgements }]
      : []
  })
  if (queries.length === 0) return yield* fail(files.judgements)("no query has a relevant document")
  return { name: path.basename(root), corpus: files.corpus, queries } satisfies Dataset
})

/** The modes of search that are measured. */
export const modes = ["keyword", "vector", "hybrid rrf", "hybrid score", "score + graph", "score + auto"] as const
type BenchmarkMode = (typeof modes)[number]

/** The mode of hybrid search with this fusion. */
export const hybridMode = (fusion: Fusion): BenchmarkMode => `hybrid ${fusion}`

/** Means over the judged queries, 0 to 1, and latencies of a search for 10 results. */
export const Quality = Schema.Struct({
  ndcg_at_10: Schema.Finite,
  recall_at_10: Schema.Finite,
  all_evidence_at_10: Schema.Finite.annotations({
    description: "Share of queries with all relevant documents in the top 10"
  }),
  recall_at_100: Schema.Finite,
  mrr_at_10: Schema.Finite,
  p50_ms: Schema.Finite.annotations({ description: "Median time of a search for 10 results" }),
  p95_ms: Schema.Finite
})
export type Quality = typeof Quality.Type

export const QualityByMode = Schema.Record({ key: Schema.Literal(...modes), value: Quality })

/** The mean of each figure. */
export const meanQuality = (all: ReadonlyArray<Quality>): Quality =>
  Record.map(Quality.fields, (_, figure) => mean(all.map((each) => each[figure])))

/** What was measured with a dataset. */
export const Evaluation = Schema.Struct({
  dataset: Schema.String,
  documents: Schema.Int,
  passages: Schema.Int,
  queries: Schema.Int,
  failed: Schema.Int.annotations({ description: "Records of the corpus that could not be read" }),
  index_time_ms: Schema.Int,
  passages_per_second: Schema.Int,
  modes: QualityByMode
})

/** How each mode searches. */
export const requests: Readonly<Record<BenchmarkMode, Partial<SearchRequest>>> = {
  keyword: { hybrid: true, alpha: 0, graph: false },
  vector: { hybrid: false, graph: false },
  "hybrid rrf": { hybrid: true, fusion: "rrf", graph: false },
  "hybrid score": { hybrid: true, fusion: "score", graph: false },
  "score + graph": { hybrid: true, fusion: "score", graph: true },
  "score + auto": { hybrid: true, fusion: "score", graph: "auto" }
}

/** Passages to fetch, enough to cover the 100 documents for recall@100. */
const depth = 400

/** The percentile of the values by nearest rank; 0 if there are none. */
export const percentile = (values: ReadonlyArray<number>, share: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
}

/** Milliseconds of a search. */
export const Latencies = Schema.Struct({ p50_ms: Schema.Finite, p95_ms: Schema.Finite, p99_ms: Schema.Finite })

export const latenciesOf = (searches: ReadonlyArray<{ readonly ms: number }>): typeof Latencies.Type => {
  const times = searches.map(({ ms }) => ms)
  return { p50_ms: percentile(times, 0.5), p95_ms: percentile(times, 0.95), p99_ms: percentile(times, 0.99) }
}

/** The documents of a ranking of passages, each at the rank of its best passage, by record id. */
export const documentsOf = (hits: ReadonlyArray<Hit>, corpus: string): ReadonlyArray<string> => [
  ...new Set(
    hits.flatMap((hit) => [hit, ...(hit.similar ?? [])].map(({ document }) => document.source.slice(corpus.length + 1)))
  )
]

/** Measures quality and speed of search on the judged queries of a dataset. */
export class Benchmark extends Effect.Service<Benchmark>()("clew/Benchmark", {
  effect: Effect.gen(function* () {
    const files = yield* FileIndexer
    const search = yield* Search

    const index = Effect.fn("Benchmark.index")(function* ({ corpus }: Dataset) {
      const started = yield* Clock.currentTimeMillis
      const run = { paths: [corpus], collection: defaultCollection, prune: false, dryRun: false }
      const counted = yield* Stream.runFold(files.run(run), { documents: 0, passages: 0, failed: 0 }, (sum, event) => {
        if (event._tag === "Failed") sum.failed += 1
        if (event._tag === "Indexed") {
          sum.documents += 1
          sum.passages += event.document.passages
        }
        return sum
      })
      if (counted.documents === 0)
        return yield* new DatasetUnreadable({ path: corpus, reason: "it contains no document" })
      return { ...counted, indexMs: (yield* Clock.currentTimeMillis) - started }
    })

    const measure = Effect.fn("Benchmark.measure")(function* ({ corpus, queries }: Dataset, mode: BenchmarkMode) {
      const run = (query: string, topK: number) => search.run({ ...requests[mode], query, topK })
      // Warm up: the first queries load the model and fill SQLite's cache.
      for (const { text } of queries.slice(0, 5)) yield* run(text, 10)
      const times: Array<{ readonly ms: number }> = []
      const scores: Array<Quality> = []
      for (const { judgements, text } of queries) {
        const [time] = yield* Effect.timed(run(text, 10))
        times.push({ ms: Duration.toMillis(time) })
        const ranking = documentsOf((yield* run(text, depth)).hits, corpus)
        scores.push({
          ndcg_at_10: ndcgAt(10, ranking, judgements),
          recall_at_10: recallAt(10, ranking, judgements),
          all_evidence_at_10: allFoundAt(10, ranking, judgements),
          recall_at_100: recallAt(100, ranking, judgements),
          mrr_at_10: reciprocalRankAt(10, ranking, judgements),
          p50_ms: 0,
          p95_ms: 0
        })
      }
      const { p50_ms, p95_ms } = latenciesOf(times)
      return { ...meanQuality(scores), p50_ms, p95_ms }
    })

    return {
      /** Indexes the dataset's corpus into an empty index, and runs every judged query in every mode. */
      evaluate: Effect.fn("Benchmark.evaluate")(function* (dataset: Dataset) {
        const { indexMs, ...indexed } = yield* index(dataset)
        return {
          dataset: dataset.name,
          queries: dataset.queries.length,
          ...indexed,
          index_time_ms: indexMs,
          passages_per_second: Math.round((indexed.passages * 1000) / Math.max(1, indexMs)),
          modes: yield* Effect.all(Record.map(requests, (_, mode) => measure(dataset, mode)))
        } satisfies typeof Evaluation.Type
      })
    }
  })
}) {}
