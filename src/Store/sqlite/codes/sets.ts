import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SetKey } from "../../../codes/CodeStore.ts"
import { makeHidden } from "../sweep.ts"
import { codesOn } from "../codes.ts"

/** Hands the codes of a generation over to a hidden collection, to be swept. */
export const move = (sql: SqlClient.SqlClient, { collection, generation }: SetKey, hidden: number) =>
  sql.unsafe("UPDATE code_sets SET collection_id = ? WHERE collection_id = ? AND generation = ?", [
    hidden,
    collection,
    generation
  ])

/** Codes that are deleted at once: a few blocks. */
const few = 16_384

/** Deletes the codes of a generation: a few at once, more through a hidden collection of their own. */
export const retire = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, from: SetKey) {
  const found = Option.getOrUndefined(yield* codesOn(sql).find(from))
  if (found === undefined) return
  if (found.rows > few) yield* move(sql, from, yield* makeHidden(sql))
  else yield* sql.unsafe("DELETE FROM code_sets WHERE id = ?", [found.id])
})

/** Replaces the current codes, which are gone by now, with the next ones. */
export const switchOver = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number) {
  yield* retire(sql, { collection, generation: "rebuilt" })
  yield* sql.unsafe("DELETE FROM rebuilds WHERE collection_id = ? AND kind = 'codes'", [collection])
  yield* sql.unsafe("UPDATE code_sets SET generation = 'current' WHERE collection_id = ? AND generation = 'next'", [
    collection
  ])
})
