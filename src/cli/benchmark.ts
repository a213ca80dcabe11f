import * as Cli from "./command.ts"
import * as Effect from "effect/Effect"
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"
import * as path from "node:path"
import {
  Benchmark,
  Evaluation,
  hybridMode,
  Latencies,
  latenciesOf,
  meanQuality,
  modes,
  QualityByMode,
  readDataset
} from "../measuring/Benchmark.ts"
import { bytesText, numberText, drawn, count, printResult } from "./output.ts"
import { Terminal } from "./terminal.ts"
import { legs, meanRecall, Speed, type SpeedLeg } from "../measuring/Speed.ts"
import { SearchConfig } from "../Config.ts"
import { type CollectionName, defaultCollection } from "../model/Collection.ts"
import { gate } from "./gate.ts"
import { inIndex, Place } from "./engine.ts"
import { exitCode, stop, usage } from "./exit.ts"
import * as options from "./flags.ts"

/** What `benchmark --dataset --json` prints. */
export const BenchmarkReport = Schema.Struct({
  datasets: Schema.Array(Evaluation),
  mean: Schema.optional(Schema.Struct({ modes: QualityByMode })),
  configured: Schema.Literal(...modes).annotations({ description: "The configured mode of hybrid search" }),
  peak_memory_bytes: Schema.Int
}).annotations({ identifier: "BenchmarkReport" })
export type BenchmarkReport = typeof BenchmarkReport.Type

/** A table of every dataset and mode, and the speed of indexing. */
const renderBenchmark = Effect.fnUntraced(function* (report: BenchmarkReport) {
  const { colors } = (yield* Terminal).out
  const all = [...report.datasets, ...(report.mean === undefined ? [] : [{ dataset: "mean", ...report.mean }])]
  const rows = all.flatMap(({ dataset, modes: measured }) =>
    modes.map((mode) => {
      const { ndcg_at_10: ndcg, p50_ms, p95_ms, ...others } = measured[mode]
      const { all_evidence_at_10, mrr_at_10, recall_at_10, recall_at_100 } = others
      const shares = [recall_at_10, all_evidence_at_10, recall_at_100, mrr_at_10].map((share) => share.toFixed(4))
      const best = mode === report.configured ? colors.bold(ndcg.toFixed(4)) : ndcg.toFixed(4)
      return [dataset, mode, best, ...shares, p50_ms.toFixed(1), p95_ms.toFixed(1)]
    })
  )
  const columns = ["dataset", "mode", "nDCG@10", "recall@10", "all@10", "recall@100", "MRR@10", "p50 ms", "p95 ms"]
  const indexed = report.datasets.map(
    ({ dataset, documents, failed, passages, passages_per_second }) =>
      `${dataset}: ${numberText(documents)} documents, ${numberText(passages)} passages, indexed at ` +
      `${numberText(passages_per_second)} passages/s${failed === 0 ? "" : `, ${numberText(failed)} records could not be read`}`
  )
  const peak = `Peak memory ${bytesText(report.peak_memory_bytes)}`
  return [yield* drawn(columns, rows), "", ...indexed, peak].join("\n")
})

/** What `benchmark --json` prints when it measures the index itself. */
export const SpeedReport = Schema.Struct({
  collection: Schema.String,
  documents: Schema.Int,
  passages: Schema.Int,
  queries: Schema.Int,
  legs: Schema.Struct({ keyword: Latencies, vector: Latencies, hybrid: Latencies }).annotations({
    description: "Times of a search for 10 results"
  }),
  recall_at_10: Schema.Finite.annotations({
    description: "Recall of the vector leg, against scoring every vector exactly"
  }),
  passages_per_second: Schema.NullOr(Schema.Int).annotations({
    description: "Indexing a sample of the documents again; null if there are too few"
  }),
  bytes_per_passage: Schema.Int.annotations({ description: "Size of the database divided by the number of passages" }),
  peak_memory_bytes: Schema.Int
}).annotations({ identifier: "SpeedReport" })
export type SpeedReport = typeof SpeedReport.Type

/** A table of the legs, and the other figures. */
const renderSpeed = Effect.fnUntraced(function* (report: SpeedReport) {
  const { colors } = (yield* Terminal).out
  const rows = legs.map((leg) => {
    const { p50_ms, p95_ms, p99_ms } = report.legs[leg]
    return [leg, colors.bold(p50_ms.toFixed(1)), p95_ms.toFixed(1), p99_ms.toFixed(1)]
  })
  const { bytes_per_passage, passages_per_second, recall_at_10 } = report
  return [
    `${report.collection}: ${count(report.documents, "document")}, ${count(report.passages, "passage")}, ${count(report.queries, "query", "queries")} sampled from them`,
    "",
    yield* drawn(["search", "p50 ms", "p95 ms", "p99 ms"], rows),
    "",
    `Vector search finds ${(recall_at_10 * 100).toFixed(1)} % of the ten nearest`,
    ...(passages_per_second === null
      ? []
      : [`Indexing ${numberText(passages_per_second)} passages/s, without reading files`]),
    `${numberText(bytes_per_passage)} bytes a passage in the database`,
    `Peak memory ${bytesText(report.peak_memory_bytes)}`
  ].join("\n")
})

const peakMemory = () => process.resourceUsage().maxRSS * 1024

/** Measures the quality and speed of searches with the judged queries of datasets. */
const measureQuality = Effect.fnUntraced(function* (folders: ReadonlyArray<string>, minNdcg: number | undefined) {
  const { cwd } = yield* Place
  const { note } = yield* Terminal
  // Read all datasets first, so that a mistyped name fails at once and not after minutes.
  const datasets = yield* Effect.forEach(folders, (folder) => readDataset(path.resolve(cwd, folder)))
  const evaluated = yield* Effect.forEach(datasets, (dataset) =>
    inIndex("temporary", function* () {
      yield* note(`clew: ${dataset.name}: indexing, then ${dataset.queries.length} queries in six modes`)
      const evaluation = yield* (yield* Benchmark).evaluate(dataset)
      return { evaluation, fusion: (yield* SearchConfig).fusion }
    })
  )

  const mode = hybridMode(evaluated[0]?.fusion ?? "score")
  const measured = evaluated.map(({ evaluation }) => evaluation)
  const report: BenchmarkReport = {
    datasets: measured,
    ...(measured.length > 1
      ? {
          mean: {
            modes: Record.map(measured[0]!.modes, (_, each) => meanQuality(measured.map(({ modes }) => modes[each])))
          }
        }
      : {}),
    configured: mode,
    peak_memory_bytes: peakMemory()
  }
  yield* printResult(BenchmarkReport, report, renderBenchmark(report))
  const reached = (report.mean ?? report.datasets[0])?.modes[mode].ndcg_at_10 ?? 0
  if (minNdcg !== undefined && reached < minNdcg) {
    yield* note(`clew: nDCG@10 of ${mode} search is ${reached.toFixed(4)}, below ${minNdcg}`)
    yield* stop(exitCode.below)
  }
})

/** Measures the speed of the user's own index. */
const measureSpeed = Effect.fnUntraced(function* (collection: CollectionName, queries: number, seed: number) {
  const { note } = yield* Terminal
  const { latencies, nearest, sample } = yield* inIndex("read", function* () {
    const each = yield* Speed
    const sample = yield* each.sample(collection, queries, seed)
    yield* note(
      `clew: ${count(sample.queries.length, "query", "queries")} in three modes, then indexing ${count(sample.inputs.length, "document")} into a temporary index`
    )
    const answers = (leg: SpeedLeg) => each.answers(collection, sample.queries, leg)
    const keyword = latenciesOf(yield* answers("keyword"))
    const nearest = yield* answers("vector")
    const latencies = { keyword, vector: latenciesOf(nearest), hybrid: latenciesOf(yield* answers("hybrid")) }
    return { sample, latencies, nearest }
  })
  const exact = yield* inIndex(
    "read",
    function* () {
      return yield* (yield* Speed).answers(collection, sample.queries, "vector")
    },
    { exact: true }
  )
  const rate = yield* inIndex("temporary", function* () {
    return yield* (yield* Speed).indexing(sample.inputs)
  })
  const report: SpeedReport = {
    collection,
    documents: sample.documents,
    passages: sample.passages,
    queries: sample.queries.length,
    legs: latencies,
    recall_at_10: meanRecall(exact, nearest),
    passages_per_second: rate === undefined ? null : Math.round(rate),
    bytes_per_passage: Math.round(sample.databaseBytes / sample.allPassages),
    peak_memory_bytes: peakMemory()
  }
  yield* printResult(SpeedReport, report, renderSpeed(report))
})

/** Reports a flag that does not belong to the chosen kind of benchmark. */
const misplaced = (flags: { readonly dataset: ReadonlyArray<string> } & Readonly<Record<string, unknown>>) => {
  const isGiven = (name: string) => flags[name] !== undefined && flags[name] !== false
  const judged = ["against", "embedder", "baseline", "save", "tolerance"].find(isGiven)
  if (flags["judgements"] === undefined && judged !== undefined) {
    return usage(`--${judged} requires --judgements`)
  }
  if (isGiven("against") && isGiven("embedder"))
    return usage("--against and --embedder both name the other side: give only one of them")
  if (isGiven("save") && !isGiven("baseline")) return usage("--save requires --baseline FILE")
  if (isGiven("save") && isGiven("tolerance"))
    return usage("--save saves and --tolerance compares: give only one of them")
  if (isGiven("tolerance") && !isGiven("baseline")) return usage("--tolerance requires --baseline FILE")
  if (flags["judgements"] !== undefined) {
    if (flags.dataset.length > 0) return usage("--dataset cannot be combined with --judgements")
    const other = (["queries", "minNdcg"] as const).find(isGiven)
    return other === undefined
      ? Effect.void
      : usage(`--${other === "minNdcg" ? "min-ndcg" : other} cannot be combined with --judgements`)
  }
  if (flags.dataset.length === 0) {
    return isGiven("minNdcg") ? usage("--min-ndcg requires --dataset") : Effect.void
  }
  const own = (["queries", "seed", "collection"] as const).find(isGiven)
  return own === undefined ? Effect.void : usage(`--${own} cannot be combined with --dataset`)
}

export const benchmark = Cli.define(
  {
    name: "benchmark",
    summary: "Measure the speed of your index, or quality on datasets or judgements",
    flags: {
      collection: options.collection,
      queries: Cli.integer("queries", {
        value: "N",
        summary: "Queries to measure your own index with (default: 200)",
        min: 1,
        max: 100_000
      }),
      seed: options.seed("Seed that selects queries of the index, or samples of the judged ones"),
      dataset: Cli.repeated("dataset", {
        value: "DIR",
        summary: "Folder in BEIR layout to measure quality with"
      }),
      minNdcg: Cli.number("min-ndcg", {
        value: "X",
        summary: "Exit with 4 if the nDCG@10 of the configured hybrid search is lower",
        min: 0,
        max: 1
      }),
      judgements: Cli.file("judgements", {
        value: "FILE",
        summary: "Measure your own index by these judgements"
      }),
      against: Cli.file("against", {
        value: "FILE",
        summary: "Also measure with another configuration file, side by side"
      }),
      embedder: Cli.text("embedder", {
        value: "BACKEND:MODEL",
        summary: "Also measure a temporary copy of the index with this embedder, side by side"
      }),
      baseline: Cli.file("baseline", {
        value: "FILE",
        summary: "Compare with the figures saved in FILE; exit with 1 if they got worse"
      }),
      save: Cli.toggle("save", { summary: "Save the figures as --baseline" }),
      tolerance: Cli.number("tolerance", {
        value: "X",
        summary: "How far the mean nDCG@10 may fall below the baseline (default: 0.01)",
        min: 0,
        max: 1
      })
    },
    examples: [
      "clew benchmark",
      "clew benchmark --collection papers --queries 1000 --json",
      "clew benchmark --dataset scifact --dataset cisi --min-ndcg 0.4",
      "clew benchmark --judgements judgements.jsonl --against other.toml",
      "clew benchmark --judgements judgements.jsonl --embedder onnx:models/multilingual-e5-small",
      "clew benchmark --judgements judgements.jsonl --baseline quality.json --tolerance 0.02"
    ],
    details: [
      "Without --dataset it measures your own index with queries sampled from it: the latency of searches, the recall of vector search against exact scoring, and the speed of indexing a sample of the documents into a temporary index.",
      "A dataset is a folder in BEIR's layout: corpus.jsonl, queries.jsonl and qrels/test.tsv. Its corpus is indexed with your configuration into a temporary index; your own index stays as it is.",
      "With --judgements it measures your own index against the grades of clew judge: nDCG@10, recall@10 and MRR@10 of each mode, with bootstrap intervals. --baseline compares with a run saved by --save, names the questions that changed, and exits with 1 if the mean nDCG@10 has fallen by more than --tolerance."
    ]
  },
  function* (flags) {
    yield* misplaced(flags)
    if (flags.judgements !== undefined) {
      const { judgements, save, seed = 1, tolerance = 0.01 } = flags
      yield* gate({ ...flags, judgements, save, seed, tolerance })
    } else if (flags.dataset.length > 0) yield* measureQuality(flags.dataset, flags.minNdcg)
    else yield* measureSpeed(flags.collection ?? defaultCollection, flags.queries ?? 200, flags.seed ?? 1)
  }
)
