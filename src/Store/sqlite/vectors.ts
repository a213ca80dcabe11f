import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { Vector } from "../../model/Passage.ts"
import type { Mask } from "./filter.ts"
import type { Scored } from "./rank.ts"
import { inList, insertRows, list } from "./rows.ts"

/** A collection's vectors; `next` are those of the embedder it is changing over to. */
export type Generation = "current" | "next"

const table = (collection: number, generation: Generation = "current") =>
  generation === "current" ? `vectors_${collection}` : `vectors_${collection}_next`

/** Float32 vectors as little-endian BLOBs, apart from the texts, so that a scan reads nothing else. */
export const create = (
  sql: SqlClient.SqlClient,
  collection: number,
  generation?: Generation
): Effect.Effect<unknown, SqlError> =>
  sql.unsafe(
    `CREATE TABLE ${table(collection, generation)} (passage_id INTEGER PRIMARY KEY, vector BLOB NOT NULL) STRICT`
  )

export const drop = (
  sql: SqlClient.SqlClient,
  collection: number,
  generation?: Generation
): Effect.Effect<unknown, SqlError> => sql.unsafe(`DROP TABLE IF EXISTS ${table(collection, generation)}`)

/** Puts the next vectors in the place of the current ones, without those of passages that are gone. */
export const switchOver = (sql: SqlClient.SqlClient, collection: number): Effect.Effect<unknown, SqlError> =>
  Effect.all(
    [
      sql.unsafe(`DELETE FROM ${table(collection, "next")} WHERE passage_id NOT IN (SELECT id FROM passages)`),
      drop(sql, collection),
      sql.unsafe(`ALTER TABLE ${table(collection, "next")} RENAME TO ${table(collection)}`)
    ],
    { discard: true }
  )

const blob = (vector: Vector) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)

export const insert = (
  sql: SqlClient.SqlClient,
  collection: number,
  rows: ReadonlyArray<{ readonly id: number; readonly vector: Vector }>,
  generation?: Generation
): Effect.Effect<void, SqlError> =>
  insertRows(
    sql,
    table(collection, generation),
    ["passage_id", "vector"],
    rows.map((row) => [row.id, blob(row.vector)])
  )

export const remove = (
  sql: SqlClient.SqlClient,
  collection: number,
  ids: ReadonlyArray<number>,
  generation?: Generation
): Effect.Effect<unknown, SqlError> =>
  sql.unsafe(`DELETE FROM ${table(collection, generation)} WHERE passage_id ${inList}`, [list(ids)])

const similarity = "1 - vec_distance_cosine(vector, ?) AS score"

/** The nearest passages by cosine similarity, exact, best first. */
export const search = (
  sql: SqlClient.SqlClient,
  collection: number,
  query: Vector,
  options: { readonly depth: number; readonly mask: Mask | undefined }
): Effect.Effect<ReadonlyArray<Scored>, SqlError> => {
  const { depth, mask } = options
  const where = mask === undefined ? "" : ` WHERE passage_id IN (${mask.sql})`
  return sql.unsafe<Scored>(
    `SELECT passage_id AS id, ${similarity} FROM ${table(collection)}${where} ORDER BY score DESC, id LIMIT ?`,
    [blob(query), ...(mask?.params ?? []), depth]
  )
}

/** The similarity of given passages, as far as they have a vector. */
export const score = (
  sql: SqlClient.SqlClient,
  collection: number,
  query: Vector,
  ids: ReadonlyArray<number>
): Effect.Effect<ReadonlyArray<Scored>, SqlError> =>
  sql.unsafe<Scored>(`SELECT passage_id AS id, ${similarity} FROM ${table(collection)} WHERE passage_id ${inList}`, [
    blob(query),
    list(ids)
  ])
