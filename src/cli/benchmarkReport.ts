import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type BenchmarkMode, type Evaluation, modes, type Quality } from "../measuring/Benchmark.ts"
import { mean } from "../measuring/evaluation.ts"
import { bytesText, numberText } from "./output.ts"
import { type Column, drawn } from "./table.ts"
import { Terminal } from "./terminal.ts"

const Scores = Schema.Struct({
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
type Scores = typeof Scores.Type

const Modes = Schema.Record({ key: Schema.Literal(...modes), value: Scores })

/** What `benchmark --json` prints. */
export const BenchmarkReport = Schema.Struct({
  datasets: Schema.Array(
    Schema.Struct({
      dataset: Schema.String,
      documents: Schema.Int,
      passages: Schema.Int,
      queries: Schema.Int,
      failed: Schema.Int.annotations({ description: "Records of the corpus that could not be read" }),
      index_time_ms: Schema.Int,
      passages_per_second: Schema.Int,
      modes: Modes
    })
  ),
  mean: Schema.optional(Schema.Struct({ modes: Modes })),
  configured: Schema.Literal(...modes).annotations({ description: "The configured mode of hybrid search" }),
  peak_memory_bytes: Schema.Int
}).annotations({ identifier: "BenchmarkReport" })
export type BenchmarkReport = typeof BenchmarkReport.Type

const toScores = ({ allEvidence10, mrr10, ndcg10, p50Ms, p95Ms, recall10, recall100 }: Quality): Scores => ({
  ndcg_at_10: ndcg10,
  recall_at_10: recall10,
  all_evidence_at_10: allEvidence10,
  recall_at_100: recall100,
  mrr_at_10: mrr10,
  p50_ms: p50Ms,
  p95_ms: p95Ms
})

const everyMode = (scores: (mode: BenchmarkMode) => Scores): Readonly<Record<BenchmarkMode, Scores>> => ({
  keyword: scores("keyword"),
  vector: scores("vector"),
  "hybrid rrf": scores("hybrid rrf"),
  "hybrid score": scores("hybrid score"),
  "score + graph": scores("score + graph"),
  "score + auto": scores("score + auto")
})

export const benchmarkReport = (
  evaluations: ReadonlyArray<Evaluation>,
  configured: BenchmarkMode,
  peakMemoryBytes: number
): BenchmarkReport => {
  const datasets = evaluations.map(({ dataset, documents, failed, indexMs, passages, quality, queries }) => ({
    dataset,
    documents,
    passages,
    queries,
    failed,
    index_time_ms: indexMs,
    passages_per_second: Math.round((passages * 1000) / Math.max(1, indexMs)),
    modes: everyMode((mode) => toScores(quality[mode]))
  }))
  const average = (mode: BenchmarkMode, key: keyof Scores) => mean(datasets.map(({ modes }) => modes[mode][key]))
  const means = everyMode((mode) => ({
    ndcg_at_10: average(mode, "ndcg_at_10"),
    recall_at_10: average(mode, "recall_at_10"),
    all_evidence_at_10: average(mode, "all_evidence_at_10"),
    recall_at_100: average(mode, "recall_at_100"),
    mrr_at_10: average(mode, "mrr_at_10"),
    p50_ms: average(mode, "p50_ms"),
    p95_ms: average(mode, "p95_ms")
  }))
  return {
    datasets,
    ...(datasets.length > 1 ? { mean: { modes: means } } : {}),
    configured,
    peak_memory_bytes: peakMemoryBytes
  }
}

const columns: ReadonlyArray<Column> = [
  ["dataset", "left"],
  ["mode", "left"],
  ["nDCG@10", "right"],
  ["recall@10", "right"],
  ["all@10", "right"],
  ["recall@100", "right"],
  ["MRR@10", "right"],
  ["p50 ms", "right"],
  ["p95 ms", "right"]
]

/** A table of every dataset and mode, and the speed of indexing. */
export const renderBenchmark = (report: BenchmarkReport) =>
  Effect.gen(function* () {
    const { colors } = (yield* Terminal).out
    const rows: Array<ReadonlyArray<string>> = []
    const all = [...report.datasets, ...(report.mean === undefined ? [] : [{ dataset: "mean", ...report.mean }])]
    for (const { dataset, modes: scores } of all) {
      for (const mode of modes) {
        const { all_evidence_at_10, mrr_at_10, ndcg_at_10, p50_ms, p95_ms, recall_at_10, recall_at_100 } = scores[mode]
        const ndcg = ndcg_at_10.toFixed(4)
        rows.push([
          dataset,
          mode,
          mode === report.configured ? colors.bold(ndcg) : ndcg,
          recall_at_10.toFixed(4),
          all_evidence_at_10.toFixed(4),
          recall_at_100.toFixed(4),
          mrr_at_10.toFixed(4),
          p50_ms.toFixed(1),
          p95_ms.toFixed(1)
        ])
      }
    }
    const indexed = report.datasets.map(
      ({ dataset, documents, failed, passages, passages_per_second }) =>
        `${dataset}: ${numberText(documents)} documents, ${numberText(passages)} passages, indexed at ` +
        `${numberText(passages_per_second)} passages/s${failed === 0 ? "" : `, ${numberText(failed)} records could not be read`}`
    )
    return [yield* drawn(columns, rows), "", ...indexed, `Peak memory ${bytesText(report.peak_memory_bytes)}`].join(
      "\n"
    )
  })
