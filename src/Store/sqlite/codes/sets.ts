import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { damaged } from "../../../model/Damaged.ts"
import { makeHidden } from "../sweep.ts"

/** The version of how codes are made and stored. Those of a lower one are made anew from the vectors. */
export const codesFormat = 1

/** Codes of one generation of a collection's vectors. */
export interface CodeSet {
  readonly id: number
  readonly width: number
  readonly seed: number
  readonly rows: number
  /** Goes up with every change. */
  readonly sequence: number
}

/** Whose vectors: a collection's, and the table they are in. */
export interface Vectors {
  readonly collection: number
  /** `rebuilt`: of the vectors in use, to take the place of `current` when all are there. */
  readonly generation: "current" | "next" | "rebuilt"
  readonly table: string
}

export const toVector = (blob: Uint8Array): Float32Array =>
  new Float32Array(blob.buffer.slice(blob.byteOffset, blob.byteOffset + blob.byteLength))

/** A stored vector of a known width. */
export const vectorOf = (blob: Uint8Array, width: number): Float32Array =>
  blob.byteLength === 4 * width ? toVector(blob) : damaged(`a vector has ${blob.byteLength} bytes, not ${4 * width}`)

/** The codes of a collection's vectors, if there are any yet. */
export const find = (sql: SqlClient.SqlClient, { collection, generation }: Omit<Vectors, "table">) =>
  Effect.map(
    sql.unsafe<CodeSet>(
      "SELECT id, width, seed, rows, sequence FROM code_sets WHERE collection_id = ? AND generation = ?",
      [collection, generation]
    ),
    ([set]) => Option.fromNullable(set)
  )

/** Notes a change, and how many rows more or fewer there are. */
export const changed = (sql: SqlClient.SqlClient, set: CodeSet, rows: number) =>
  sql.unsafe("UPDATE code_sets SET rows = rows + ?, sequence = sequence + 1 WHERE id = ?", [rows, set.id])

/** Hands the codes of a generation over to a hidden collection, to be swept. */
export const move = (sql: SqlClient.SqlClient, { collection, generation }: Omit<Vectors, "table">, hidden: number) =>
  sql.unsafe("UPDATE code_sets SET collection_id = ? WHERE collection_id = ? AND generation = ?", [
    hidden,
    collection,
    generation
  ])

/** The same, to a hidden collection of their own, if there are any. */
export const retire = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, from: Omit<Vectors, "table">) {
  if (Option.isSome(yield* find(sql, from))) yield* move(sql, from, yield* makeHidden(sql))
})

/** Puts the next codes in the place of the current ones, which are gone by now. */
export const switchOver = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number) {
  yield* retire(sql, { collection, generation: "rebuilt" })
  yield* sql.unsafe("DELETE FROM rebuilds WHERE collection_id = ? AND kind = 'codes'", [collection])
  yield* sql.unsafe("UPDATE code_sets SET generation = 'current' WHERE collection_id = ? AND generation = 'next'", [
    collection
  ])
})
