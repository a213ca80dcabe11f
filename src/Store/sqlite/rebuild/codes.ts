import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Position } from "./position.ts"
import { blockRows } from "../../../codes/layout.ts"
import { encoder } from "../../../codes/encoder.ts"
import { codesFrom } from "../../../codes/CodeStore.ts"
import { beginEpoch } from "../../../codes/epochs.ts"
import { append } from "../../../codes/write.ts"
import * as sets from "../codes/sets.ts"
import { codesOn, vectorsIn } from "../codes.ts"

/** Rows coded per step: a few full blocks. */
const rows = 4 * blockRows

const vectorsOf = (sql: SqlClient.SqlClient, collection: number) =>
  vectorsIn(sql, `vectors_${collection}`, { collection, generation: "rebuilt" })

/** Whether a collection has enough vectors for codes. */
export const isDue = (sql: SqlClient.SqlClient, collection: number) =>
  Effect.map(vectorsOf(sql, collection).countUpTo(codesFrom), (count) => count >= codesFrom)

/** Starts a set beside the one in use. */
export const begin = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number) {
  yield* sets.retire(sql, { collection, generation: "rebuilt" })
  const [known] = yield* sql.unsafe<{ readonly dimensions: number; readonly passages: number }>(
    "SELECT dimensions, passages FROM collections WHERE id = ?",
    [collection]
  )
  const { dimensions, passages } = known!
  const set = yield* codesOn(sql).create({ collection, generation: "rebuilt" }, dimensions)
  yield* beginEpoch(codesOn(sql), set, vectorsOf(sql, collection), { epoch: 1, rows: passages })
})

export const advance = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { collection_id: collection, through }: Position
) {
  const store = codesOn(sql)
  const set = Option.getOrUndefined(yield* store.find({ collection, generation: "rebuilt" }))
  if (set === undefined) return undefined
  const some = yield* vectorsOf(sql, collection).after(through, rows, set.width)
  if (some.length === 0) return undefined
  const { centroid } = (yield* store.centroids(set)).find(({ epoch }) => epoch === 1)!
  yield* append(store, set, 1, encoder(set).encode(some, centroid))
  yield* store.changed(set, some.length)
  return { through: some.at(-1)!.id, count: some.length }
})

export const finish = (sql: SqlClient.SqlClient, { collection_id: collection }: Position) =>
  Effect.zipRight(
    sets.retire(sql, { collection, generation: "current" }),
    sql.unsafe("UPDATE code_sets SET generation = 'current' WHERE collection_id = ? AND generation = 'rebuilt'", [
      collection
    ])
  )
