import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SetKey } from "../../../codes/CodeStore.ts"
import { makeHidden } from "../sweep.ts"
import { codesOn } from "./store.ts"

/** Hands the codes of a generation over to a hidden collection, to be swept. */
export const move = (sql: SqlClient.SqlClient, { collection, generation }: SetKey, hidden: number) =>
  sql.unsafe("UPDATE code_sets SET collection_id = ? WHERE collection_id = ? AND generation = ?", [
    hidden,
    collection,
    generation
  ])

/** The same, to a hidden collection of their own, if there are any. */
export const retire = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, from: SetKey) {
  if (Option.isSome(yield* codesOn(sql).find(from))) yield* move(sql, from, yield* makeHidden(sql))
})

/** Puts the next codes in the place of the current ones, which are gone by now. */
export const switchOver = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number) {
  yield* retire(sql, { collection, generation: "rebuilt" })
  yield* sql.unsafe("DELETE FROM rebuilds WHERE collection_id = ? AND kind = 'codes'", [collection])
  yield* sql.unsafe("UPDATE code_sets SET generation = 'current' WHERE collection_id = ? AND generation = 'next'", [
    collection
  ])
})
