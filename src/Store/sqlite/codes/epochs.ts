import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { checked, crcOf } from "../../crc.ts"
import { list } from "../rows.ts"
import { meanOf } from "../../../codes/encoder.ts"
import { type CodeSet, vectorOf } from "./sets.ts"

/** A new centroid is taken whenever there are so many times the vectors that there were at the last one. */
const growth = 16

/** Vectors whose mean is a centroid: fewer where they are wide, since all are read at once. */
const sampledOf = (width: number): number => Math.max(64, Math.min(4096, Math.floor(4_194_304 / width)))

interface Row {
  readonly epoch: number
  readonly rows: number
  readonly centroid: Uint8Array
  readonly crc: number | null
}

const centroidOf = ({ id, width }: Pick<CodeSet, "id" | "width">, { centroid, crc, epoch }: Row): Float32Array =>
  vectorOf(
    checked(centroid, crc, () => `centroid ${epoch} of set ${id}`, id, epoch),
    width
  )

/** The centroids of a set by epoch. */
export const centroidsOf = (sql: SqlClient.SqlClient, set: Pick<CodeSet, "id" | "width">) =>
  Effect.map(
    sql.unsafe<Row>("SELECT epoch, rows, centroid, crc FROM code_epochs WHERE set_id = ?", [set.id]),
    (rows) => new Map(rows.map((row) => [row.epoch, centroidOf(set, row)]))
  )

/** The mean of vectors picked evenly out of the table by their ids. */
const sampleMean = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, table: string, width: number) {
  const [range] = yield* sql.unsafe<{ readonly first: number; readonly last: number }>(
    `SELECT min(passage_id) AS first, max(passage_id) AS last FROM ${table}`
  )
  const { first, last } = range!
  const sampled = sampledOf(width)
  const step = Math.max(1, (last - first + 1) / sampled)
  const ids = Array.from({ length: Math.min(sampled, last - first + 1) }, (_, i) => Math.floor(first + i * step))
  const rows = yield* sql.unsafe<{ readonly vector: Uint8Array }>(
    `SELECT (SELECT vector FROM ${table} WHERE passage_id >= j.value ORDER BY passage_id LIMIT 1) AS vector
     FROM json_each(?) AS j`,
    [list(ids)]
  )
  return meanOf(
    rows.map(({ vector }) => vectorOf(vector, width)),
    width
  )
})

interface Epoch {
  readonly epoch: number
  readonly centroid: Float32Array
}

/** Takes the vectors' mean as the centroid from now on. */
export const beginEpoch = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  set: Pick<CodeSet, "id" | "width">,
  table: string,
  made: { readonly epoch: number; readonly rows: number }
) {
  const centroid = yield* sampleMean(sql, table, set.width)
  const bytes = Buffer.from(centroid.buffer)
  yield* sql.unsafe("INSERT INTO code_epochs (set_id, epoch, rows, centroid, crc) VALUES (?, ?, ?, ?, ?)", [
    set.id,
    made.epoch,
    made.rows,
    bytes,
    crcOf(bytes, set.id, made.epoch)
  ])
  return { epoch: made.epoch, centroid } satisfies Epoch
})

/** The epoch for vectors that come in now: the latest, or a new one where the set has outgrown it. */
export const currentEpoch = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  set: CodeSet,
  table: string,
  more: number
) {
  const [latest] = yield* sql.unsafe<Row>(
    "SELECT epoch, rows, centroid, crc FROM code_epochs WHERE set_id = ? ORDER BY epoch DESC LIMIT 1",
    [set.id]
  )
  const rows = set.rows + more
  return latest !== undefined && rows < latest.rows * growth
    ? ({ epoch: latest.epoch, centroid: centroidOf(set, latest) } satisfies Epoch)
    : yield* beginEpoch(sql, set, table, { epoch: (latest?.epoch ?? 0) + 1, rows })
})
