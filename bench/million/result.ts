import * as Schema from "effect/Schema"

/** The measurements of one way of searching. */
export const Row = Schema.Struct({
  name: Schema.String,
  p50: Schema.Finite,
  p99: Schema.Finite,
  recall: Schema.NullOr(Schema.Finite)
})
export type Row = typeof Row.Type

/** What a method's process reports at its end. */
export const Result = Schema.Struct({
  rows: Schema.Array(Row),
  buildSeconds: Schema.NullOr(Schema.Finite),
  /** Resident memory after the queries. */
  rss: Schema.Finite,
  /** Bytes on disk; null if it stores nothing. */
  bytes: Schema.NullOr(Schema.Finite),
  notes: Schema.Array(Schema.String)
})
export type Result = typeof Result.Type

/** The ten nearest passages of each query, best first, over all passages and under each filter. */
export const Truth = Schema.Record({ key: Schema.String, value: Schema.Array(Schema.Array(Schema.Int)) })
export type Truth = typeof Truth.Type
