import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type SqliteClient, transaction } from "../../src/Store/sqlite/client.ts"
import { vectorTable } from "../../src/Store/sql/vectorTable.ts"
import * as vectors from "../../src/Store/sql/vectors.ts"

type Row = { readonly id: number; readonly vector: Float32Array }

/** Vectors of passages that follow each other. */
export const rowsOf = (from: number, found: ReadonlyArray<Float32Array>): ReadonlyArray<Row> =>
  found.map((vector, i) => ({ id: from + i, vector }))

export const some = ({ id, vector }: Row) => ({ id, vector: Option.some(vector) })

export const put = (sql: SqliteClient, collection: number, rows: ReadonlyArray<Row>) =>
  transaction(sql, "BEGIN IMMEDIATE")(vectors.insert(sql, collection, rows.map(some)))

/** A collection of vectors without documents. */
export const prepare = Effect.fnUntraced(function* (
  sql: SqliteClient,
  collection: number,
  width: number,
  rows: ReadonlyArray<Row>
) {
  yield* sql.unsafe(
    `INSERT INTO collections (id, name, backend, model, dimensions, query_prefix, passage_prefix, created_at)
     VALUES (?, ?, 'test', 'test', ?, '', '', 0)`,
    [collection, `c${collection}`, width]
  )
  yield* vectorTable(sql).create(collection, "current")
  yield* put(sql, collection, rows)
})
