import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import { Benchmark, hybridMode, readDataset } from "../Benchmark.ts"
import { SearchConfig } from "../Config.ts"
import { benchmarkReport, BenchmarkReport, renderBenchmark } from "./benchmarkReport.ts"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import * as options from "./options.ts"
import { printResult } from "./output.ts"
import { Terminal } from "./terminal.ts"
import { UsageError } from "./UsageError.ts"

export const benchmark = define(
  {
    name: "benchmark",
    summary: "Measure how well and how fast searches are answered",
    flags: { dataset: options.datasets, minNdcg: options.minNdcg },
    examples: [
      "clew benchmark --dataset scifact",
      "clew benchmark --dataset scifact --dataset cisi --min-ndcg 0.4 --json"
    ],
    details: [
      "A dataset is a folder in BEIR's layout: corpus.jsonl, queries.jsonl and qrels/test.tsv. Its corpus is indexed with your configuration into a temporary index; your own is not touched."
    ]
  },
  (flags) =>
    Effect.gen(function* () {
      if (flags.dataset.length === 0) {
        return yield* new UsageError({
          command: "clew benchmark",
          detail: "--dataset DIR is missing: measuring the speed of your own index is not there yet"
        })
      }
      const engine = yield* Engine
      const { note } = yield* Terminal
      // All of them are looked at first, so that a mistyped one is not noticed after minutes.
      const datasets = yield* Effect.forEach(flags.dataset, readDataset).pipe(
        Effect.provide([NodeFileSystem.layer, NodePath.layer])
      )
      const evaluate = (dataset: (typeof datasets)[number]) =>
        Effect.gen(function* () {
          yield* note(`clew: ${dataset.name}: indexing, then ${dataset.queries.length} queries in four modes`)
          const evaluation = yield* Effect.flatMap(Benchmark, (each) => each.evaluate(dataset))
          return { evaluation, fusion: (yield* SearchConfig).fusion }
        }).pipe(Effect.provide(engine.open("temporary")))
      const evaluated = yield* Effect.forEach(datasets, evaluate)

      const mode = hybridMode(evaluated[0]?.fusion ?? "rrf")
      const report = benchmarkReport(
        evaluated.map(({ evaluation }) => evaluation),
        mode,
        process.resourceUsage().maxRSS * 1024
      )
      yield* printResult(BenchmarkReport, report, renderBenchmark(report))
      const reached = (report.mean ?? report.datasets[0])?.modes[mode].ndcg_at_10 ?? 0
      if (flags.minNdcg !== undefined && reached < flags.minNdcg) {
        yield* note(`clew: nDCG@10 of ${mode} search is ${reached.toFixed(4)}, below ${flags.minNdcg}`)
        yield* stop(exitCode.below)
      }
    })
)
