import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Position } from "../rebuild.ts"
import { blockRows } from "../../../codes/layout.ts"
import { append } from "../codes/blocks.ts"
import { encoder } from "../../../codes/encoder.ts"
import { beginEpoch, centroidsOf } from "../codes/epochs.ts"
import * as sets from "../codes/sets.ts"
import { codesFrom, countUpTo, createSet } from "../../../codes/write.ts"

/** Rows that a step makes codes of: a few full blocks. */
const rows = 4 * blockRows

const tableOf = (collection: number) => `vectors_${collection}`

/** Whether a collection has vectors enough for codes. */
export const isDue = (sql: SqlClient.SqlClient, collection: number) =>
  Effect.map(countUpTo(sql, tableOf(collection), codesFrom), (count) => count >= codesFrom)

/** Starts a set beside the one in use. */
export const begin = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number) {
  yield* sets.retire(sql, { collection, generation: "rebuilt" })
  const table = tableOf(collection)
  const [known] = yield* sql.unsafe<{ readonly dimensions: number; readonly passages: number }>(
    "SELECT dimensions, passages FROM collections WHERE id = ?",
    [collection]
  )
  const { dimensions, passages } = known!
  const set = yield* createSet(sql, { collection, generation: "rebuilt", table }, dimensions)
  yield* beginEpoch(sql, set, table, { epoch: 1, rows: passages })
})

export const advance = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { collection_id: collection, through }: Position
) {
  const set = Option.getOrUndefined(yield* sets.find(sql, { collection, generation: "rebuilt" }))
  if (set === undefined) return undefined
  const some = yield* sql.unsafe<{ readonly passage_id: number; readonly vector: Uint8Array }>(
    `SELECT passage_id, vector FROM ${tableOf(collection)} WHERE passage_id > ? ORDER BY passage_id LIMIT ?`,
    [through, rows]
  )
  if (some.length === 0) return undefined
  const centroid = (yield* centroidsOf(sql, set)).get(1)!
  const coded = encoder(set).encode(
    some.map((row) => ({ id: row.passage_id, vector: sets.vectorOf(row.vector, set.width) })),
    centroid
  )
  yield* append(sql, set, 1, coded)
  yield* sets.changed(sql, set, some.length)
  return { through: some.at(-1)!.passage_id, count: some.length }
})

export const finish = (sql: SqlClient.SqlClient, { collection_id: collection }: Position) =>
  Effect.zipRight(
    sets.retire(sql, { collection, generation: "current" }),
    sql.unsafe("UPDATE code_sets SET generation = 'current' WHERE collection_id = ? AND generation = 'rebuilt'", [
      collection
    ])
  )
