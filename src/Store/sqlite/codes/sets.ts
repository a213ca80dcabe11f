import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

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
  readonly generation: "current" | "next"
  readonly table: string
}

export const toVector = (blob: Uint8Array): Float32Array =>
  new Float32Array(blob.buffer.slice(blob.byteOffset, blob.byteOffset + blob.byteLength))

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

export const drop = (sql: SqlClient.SqlClient, { collection, generation }: Omit<Vectors, "table">) =>
  sql.unsafe("DELETE FROM code_sets WHERE collection_id = ? AND generation = ?", [collection, generation])

/** Puts the next codes in the place of the current ones. */
export const switchOver = (sql: SqlClient.SqlClient, collection: number) =>
  Effect.zipRight(
    drop(sql, { collection, generation: "current" }),
    sql.unsafe("UPDATE code_sets SET generation = 'current' WHERE collection_id = ?", [collection])
  )
