import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import { Benchmark, hybridMode, readDataset } from "../measuring/Benchmark.ts"
import { SearchConfig } from "../Config.ts"
import { type CollectionName, defaultCollection } from "../model/Collection.ts"
import { meanRecall, Speed } from "../measuring/Speed.ts"
import { benchmarkReport, BenchmarkReport, renderBenchmark } from "./benchmarkReport.ts"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import * as options from "./options.ts"
import { count, printResult } from "./output.ts"
import { renderSpeed, speedReport, SpeedReport } from "./speedReport.ts"
import { Terminal } from "./terminal.ts"
import { UsageError } from "./UsageError.ts"

const peakMemory = () => process.resourceUsage().maxRSS * 1024

/** How well and how fast the judged queries of datasets are answered. */
const quality = Effect.fnUntraced(function* (folders: ReadonlyArray<string>, minNdcg: number | undefined) {
  const engine = yield* Engine
  const { note } = yield* Terminal
  // All of them are looked at first, so that a mistyped one is not noticed after minutes.
  const datasets = yield* Effect.forEach(folders, readDataset).pipe(
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

/** How fast the user's own index is. */
const speed = Effect.fnUntraced(function* (collection: CollectionName, queries: number, seed: number) {
  const engine = yield* Engine
  const { note } = yield* Terminal
  const measured = yield* Effect.gen(function* () {
    const each = yield* Speed
    const sample = yield* each.sample(collection, queries, seed)
    yield* note(
      `clew: ${count(sample.queries.length, "query", "queries")} in three ways, then ${count(sample.inputs.length, "document")} indexed into a temporary index`
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

/** Which flags belong to which of the two. */
const misplaced = (flags: { readonly dataset: ReadonlyArray<string> } & Readonly<Record<string, unknown>>) => {
  const ownIndex = flags.dataset.length === 0
  const given = (ownIndex ? (["minNdcg"] as const) : (["queries", "seed", "collection"] as const)).find(
    (name) => flags[name] !== undefined
  )
  if (given === undefined) return Effect.void
  return new UsageError({
    command: "clew benchmark",
    detail: ownIndex ? "--min-ndcg wants a --dataset to measure quality with" : `--${given} does not go with --dataset`
  })
}

export const benchmark = define(
  {
    name: "benchmark",
    summary: "Measure how fast your index is, or how well a dataset's queries are answered",
    flags: {
      collection: options.collection,
      queries: options.queries,
      seed: options.seed,
      dataset: options.datasets,
      minNdcg: options.minNdcg
    },
    examples: [
      "clew benchmark",
      "clew benchmark --collection papers --queries 1000 --json",
      "clew benchmark --dataset scifact --dataset cisi --min-ndcg 0.4"
    ],
    details: [
      "Without --dataset it measures your own index, with queries taken from what is in it: how long searches take, how much of the exact ranking the vector search finds, and how fast a sample of the documents is indexed again into a temporary index.",
      "A dataset is a folder in BEIR's layout: corpus.jsonl, queries.jsonl and qrels/test.tsv. Its corpus is indexed with your configuration into a temporary index; your own is not touched."
    ]
  },
  (flags) =>
    Effect.gen(function* () {
      yield* misplaced(flags)
      if (flags.dataset.length > 0) yield* quality(flags.dataset, flags.minNdcg)
      else yield* speed(flags.collection ?? defaultCollection, flags.queries ?? 200, flags.seed ?? 1)
    })
)
