import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as path from "node:path"
import { Benchmark, hybridMode, readDataset } from "../measuring/Benchmark.ts"
import { SearchConfig } from "../Config.ts"
import { type CollectionName, defaultCollection } from "../model/Collection.ts"
import { meanRecall, Speed } from "../measuring/Speed.ts"
import { benchmarkReport, BenchmarkReport, renderBenchmark } from "./benchmarkReport.ts"
import { define } from "./command.ts"
import { gate } from "./gate.ts"
import { Engine } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import * as options from "./options.ts"
import { count, printResult } from "./output.ts"
import { Place } from "./place.ts"
import { renderSpeed, speedReport, SpeedReport } from "./speedReport.ts"
import { Terminal } from "./terminal.ts"
import { UsageError } from "./UsageError.ts"

const peakMemory = () => process.resourceUsage().maxRSS * 1024

/** Measures the quality and speed of searches with the judged queries of datasets. */
const quality = Effect.fnUntraced(function* (folders: ReadonlyArray<string>, minNdcg: number | undefined) {
  const engine = yield* Engine
  const { cwd } = yield* Place
  const { note } = yield* Terminal
  // Read all datasets first, so that a mistyped name fails at once and not after minutes.
  const datasets = yield* Effect.forEach(folders, (folder) => readDataset(path.resolve(cwd, folder))).pipe(
    Effect.provide([NodeFileSystem.layer, NodePath.layer])
  )
  const evaluate = (dataset: (typeof datasets)[number]) =>
    Effect.gen(function* () {
      yield* note(`clew: ${dataset.name}: indexing, then ${dataset.queries.length} queries in six modes`)
      const evaluation = yield* Effect.flatMap(Benchmark, (each) => each.evaluate(dataset))
      return { evaluation, fusion: (yield* SearchConfig).fusion }
    }).pipe(Effect.provide(engine.open("temporary")))
  const evaluated = yield* Effect.forEach(datasets, evaluate)

  const mode = hybridMode(evaluated[0]?.fusion ?? "score")
  const report = benchmarkReport(
    evaluated.map(({ evaluation }) => evaluation),
    mode,
    peakMemory()
  )
  yield* printResult(BenchmarkReport, report, renderBenchmark(report))
  const reached = (report.mean ?? report.datasets[0])?.modes[mode].ndcg_at_10 ?? 0
  if (minNdcg !== undefined && reached < minNdcg) {
    yield* note(`clew: nDCG@10 of ${mode} search is ${reached.toFixed(4)}, below ${minNdcg}`)
    yield* stop(exitCode.below)
  }
})

/** Measures the speed of the user's own index. */
const speed = Effect.fnUntraced(function* (collection: CollectionName, queries: number, seed: number) {
  const engine = yield* Engine
  const { note } = yield* Terminal
  const measured = yield* Effect.gen(function* () {
    const each = yield* Speed
    const sample = yield* each.sample(collection, queries, seed)
    yield* note(
      `clew: ${count(sample.queries.length, "query", "queries")} in three modes, then indexing ${count(sample.inputs.length, "document")} into a temporary index`
    )
    const latencies = {
      keyword: yield* each.latencies(collection, sample.queries, "keyword"),
      vector: yield* each.latencies(collection, sample.queries, "vector"),
      hybrid: yield* each.latencies(collection, sample.queries, "hybrid")
    }
    return { collection, sample, latencies, found: yield* each.nearest(collection, sample.queries) }
  }).pipe(Effect.provide(engine.open("read")))
  const exact = yield* Effect.flatMap(Speed, (each) => each.nearest(collection, measured.sample.queries)).pipe(
    Effect.provide(engine.open("read", { exact: true }))
  )
  const rate = yield* Effect.flatMap(Speed, (each) => each.indexing(measured.sample.inputs)).pipe(
    Effect.provide(engine.open("temporary"))
  )
  const report = speedReport({
    ...measured,
    recall: meanRecall(exact, measured.found),
    rate,
    peakMemoryBytes: peakMemory()
  })
  yield* printResult(SpeedReport, report, renderSpeed(report))
})

/** Reports a flag that does not belong to the chosen kind of benchmark. */
const misplaced = (flags: { readonly dataset: ReadonlyArray<string> } & Readonly<Record<string, unknown>>) => {
  const wrong = (detail: string) => new UsageError({ command: "clew benchmark", detail })
  const isGiven = (name: string) => flags[name] !== undefined && flags[name] !== false
  const judged = ["against", "baseline", "save", "tolerance"].find(isGiven)
  if (flags["judgements"] === undefined && judged !== undefined) {
    return wrong(`--${judged} requires --judgements`)
  }
  if (isGiven("save") && !isGiven("baseline")) return wrong("--save requires --baseline FILE")
  if (isGiven("save") && isGiven("tolerance"))
    return wrong("--save saves and --tolerance compares: give only one of them")
  if (isGiven("tolerance") && !isGiven("baseline")) return wrong("--tolerance requires --baseline FILE")
  if (flags["judgements"] !== undefined) {
    if (flags.dataset.length > 0) return wrong("--dataset cannot be combined with --judgements")
    const other = (["queries", "minNdcg"] as const).find(isGiven)
    return other === undefined
      ? Effect.void
      : wrong(`--${other === "minNdcg" ? "min-ndcg" : other} cannot be combined with --judgements`)
  }
  if (flags.dataset.length === 0) {
    return isGiven("minNdcg") ? wrong("--min-ndcg requires --dataset") : Effect.void
  }
  const own = (["queries", "seed", "collection"] as const).find(isGiven)
  return own === undefined ? Effect.void : wrong(`--${own} cannot be combined with --dataset`)
}

export const benchmark = define(
  {
    name: "benchmark",
    summary: "Measure the speed of your index, or quality on datasets or judgements",
    flags: {
      collection: options.collection,
      queries: options.queries,
      seed: options.seed,
      dataset: options.datasets,
      minNdcg: options.minNdcg,
      judgements: options.gate,
      against: options.against,
      baseline: options.baseline,
      save: options.save,
      tolerance: options.tolerance
    },
    examples: [
      "clew benchmark",
      "clew benchmark --collection papers --queries 1000 --json",
      "clew benchmark --dataset scifact --dataset cisi --min-ndcg 0.4",
      "clew benchmark --judgements judgements.jsonl --against other.toml",
      "clew benchmark --judgements judgements.jsonl --baseline quality.json --tolerance 0.02"
    ],
    details: [
      "Without --dataset it measures your own index with queries sampled from it: the latency of searches, the recall of vector search against exact scoring, and the speed of indexing a sample of the documents into a temporary index.",
      "A dataset is a folder in BEIR's layout: corpus.jsonl, queries.jsonl and qrels/test.tsv. Its corpus is indexed with your configuration into a temporary index; your own index stays as it is.",
      "With --judgements it measures your own index against the grades of clew judge: nDCG@10, recall@10 and MRR@10 of each mode, with bootstrap intervals. --baseline compares with a run saved by --save, names the questions that changed, and exits with 1 if the mean nDCG@10 has fallen by more than --tolerance."
    ]
  },
  (flags) =>
    Effect.gen(function* () {
      yield* misplaced(flags)
      if (flags.judgements !== undefined) {
        const { judgements, save, seed = 1, tolerance = 0.01 } = flags
        yield* gate({ ...flags, judgements, save, seed, tolerance })
      } else if (flags.dataset.length > 0) yield* quality(flags.dataset, flags.minNdcg)
      else yield* speed(flags.collection ?? defaultCollection, flags.queries ?? 200, flags.seed ?? 1)
    })
)
