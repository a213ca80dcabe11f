import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type Latencies, legs, type Sample } from "../measuring/Speed.ts"
import { bytesText, count, numberText } from "./output.ts"
import { type Column, drawn } from "./table.ts"
import { Terminal } from "./terminal.ts"

const Milliseconds = Schema.Struct({ p50_ms: Schema.Finite, p95_ms: Schema.Finite, p99_ms: Schema.Finite })

/** What `benchmark --json` prints when it measures the index itself. */
export const SpeedReport = Schema.Struct({
  collection: Schema.String,
  documents: Schema.Int,
  passages: Schema.Int,
  queries: Schema.Int,
  legs: Schema.Struct({ keyword: Milliseconds, vector: Milliseconds, hybrid: Milliseconds }).annotations({
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

interface Measured {
  readonly collection: string
  readonly sample: Sample
  readonly latencies: Readonly<Record<(typeof legs)[number], Latencies>>
  readonly recall: number
  readonly rate: number | undefined
  readonly peakMemoryBytes: number
}

const milliseconds = ({ p50Ms, p95Ms, p99Ms }: Latencies) => ({ p50_ms: p50Ms, p95_ms: p95Ms, p99_ms: p99Ms })

export const speedReport = ({
  collection,
  latencies,
  peakMemoryBytes,
  rate,
  recall,
  sample
}: Measured): SpeedReport => ({
  collection,
  documents: sample.documents,
  passages: sample.passages,
  queries: sample.queries.length,
  legs: {
    keyword: milliseconds(latencies.keyword),
    vector: milliseconds(latencies.vector),
    hybrid: milliseconds(latencies.hybrid)
  },
  recall_at_10: recall,
  passages_per_second: rate === undefined ? null : Math.round(rate),
  bytes_per_passage: Math.round(sample.databaseBytes / sample.allPassages),
  peak_memory_bytes: peakMemoryBytes
})

const columns: ReadonlyArray<Column> = [
  ["search", "left"],
  ["p50 ms", "right"],
  ["p95 ms", "right"],
  ["p99 ms", "right"]
]

/** A table of the legs, and the other figures. */
export const renderSpeed = (report: SpeedReport) =>
  Effect.gen(function* () {
    const { colors } = (yield* Terminal).out
    const rows: Array<ReadonlyArray<string>> = []
    for (const leg of legs) {
      const { p50_ms, p95_ms, p99_ms } = report.legs[leg]
      rows.push([leg, colors.bold(p50_ms.toFixed(1)), p95_ms.toFixed(1), p99_ms.toFixed(1)])
    }
    const { bytes_per_passage, passages_per_second, recall_at_10 } = report
    return [
      `${report.collection}: ${count(report.documents, "document")}, ${count(report.passages, "passage")}, ${count(report.queries, "query", "queries")} sampled from them`,
      "",
      yield* drawn(columns, rows),
      "",
      `Vector search finds ${(recall_at_10 * 100).toFixed(1)} % of the ten nearest`,
      ...(passages_per_second === null
        ? []
        : [`Indexing ${numberText(passages_per_second)} passages/s, without reading files`]),
      `${numberText(bytes_per_passage)} bytes a passage in the database`,
      `Peak memory ${bytesText(report.peak_memory_bytes)}`
    ].join("\n")
  })
