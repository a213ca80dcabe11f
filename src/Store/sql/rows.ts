import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { rising } from "../../model/Damaged.ts"

/** A connection to a database. */
export type Sql = SqlClient.SqlClient

/**
 * Rows per INSERT: few sizes, so that few statements are compiled, and large ones, since a call costs more than a row.
 */
const sizes = [64, 8, 1]

/** Inserts rows, which have the same columns, in order, many per statement; on a conflict it fails unless told else. */
export const insertRows = (
  sql: Sql,
  table: string,
  rows: ReadonlyArray<object>,
  otherwise = ""
): Effect.Effect<void, SqlError> => {
  const columns = Object.keys(rows[0] ?? {})
  const row = `(${columns.map(() => "?").join(",")})`
  const into = `INSERT INTO ${table} (${columns.map((name) => `"${name}"`).join(",")}) VALUES `
  return Effect.gen(function* () {
    let at = 0
    for (const size of sizes) {
      if (rows.length - at < size) continue
      const statement = into + Array.from({ length: size }, () => row).join(",") + otherwise
      for (; rows.length - at >= size; at += size) {
        const params: Array<unknown> = []
        for (let each = at; each < at + size; each++) {
          const one = rows[each] as Readonly<Record<string, unknown>>
          for (const column of columns) params.push(one[column])
        }
        yield* sql.unsafe(statement, params)
      }
    }
  })
}

/** Inserts a row, and gives it with what the database adds. */
export const insertOne = <Row extends object>(sql: Sql, table: string, row: object) => {
  const columns = Object.keys(row)
  const params = columns.map(() => "?").join(", ")
  return Effect.map(
    sql.unsafe<Row>(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${params}) RETURNING *`, Object.values(row)),
    ([made]) => made!
  )
}

/** Inserts a row, or writes it over the one with the same key, an expression of columns. */
export const replaceRow = (sql: Sql, table: string, key: string, row: object) => {
  const names = Object.keys(row).filter((name) => !key.split(/\W+/).includes(name))
  const changes = names.map((name) => `${name} = excluded.${name}`)
  return insertRows(sql, table, [row], ` ON CONFLICT (${key}) DO UPDATE SET ${changes.join(", ")}`)
}

/** A list as one bound parameter: `IN (SELECT value FROM json_each(?))`. */
export const inList = "IN (SELECT value FROM json_each(?))"
export const list = (values: ReadonlyArray<string | number>): string => JSON.stringify(values)

/** The first column of all rows that a statement gives. */
export const column = <A>(
  sql: Sql,
  statement: string,
  params: ReadonlyArray<unknown> = []
): Effect.Effect<ReadonlyArray<A>, SqlError> =>
  Effect.map(sql.unsafe<Record<string, A>>(statement, params), (rows) => rows.map((row) => Object.values(row)[0]!))

/** The same of the first row; undefined if there is none. */
export const first = <A>(sql: Sql, statement: string, params: ReadonlyArray<unknown> = []) =>
  Effect.map(column<A>(sql, statement, params), ([value]) => value)

/** The same of a statement that always gives a row. */
export const only = <A>(sql: Sql, statement: string, params: ReadonlyArray<unknown> = []) =>
  Effect.map(column<A>(sql, statement, params), ([value]) => value!)

const comma = 44
const zero = 48

/** How many rows a statement changes. */
export const changedRows = (sql: Sql, statement: string, params: ReadonlyArray<unknown>) =>
  Effect.map(sql.unsafe(`${statement} RETURNING 1`, params), (rows) => rows.length)

/** Calls `use` with each whole number in a text of digits and commas; null is a text of none. */
export const forEachNumber = (text: Uint8Array | null, use: (value: number) => void): void => {
  if (text === null) return
  let value = 0
  for (let i = 0; i < text.length; i++) {
    const byte = text[i]!
    if (byte === comma) {
      use(value)
      value = 0
    } else value = value * 10 + byte - zero
  }
  if (text.length > 0) use(value)
}

/** What is embedded of a passage, by its columns of `passages AS p` and `documents AS d`. */
export const textColumns = "p.id, d.title, p.heading, p.table_header, p.text"

/**
 * The next passages of a collection after one, up to another, in order, with columns of `passages AS p` and `documents AS
 * d`. They are found through their documents, whose passages have consecutive ids, so that other collections' passages
 * between them cost nothing.
 */
export const passagesAfter = <Row extends { readonly id: number }>(
  sql: Sql,
  columns: string,
  collection: number,
  after: number,
  limit: number,
  until = Number.MAX_SAFE_INTEGER
) =>
  Effect.map(
    sql.unsafe<Row>(
      `SELECT ${columns} FROM documents AS d INDEXED BY documents_passages
       CROSS JOIN passages AS p ON p.id >= d.first_passage AND p.id > ? AND p.id < d.first_passage + d.passages
       WHERE d.collection_id = ? AND d.first_passage <= ? AND d.first_passage >= coalesce((
         SELECT first_passage FROM documents INDEXED BY documents_passages
         WHERE collection_id = ? AND first_passage <= ? ORDER BY first_passage DESC LIMIT 1), 0)
         AND p.document_id = d.id AND p.id <= ?
       ORDER BY d.first_passage, p.id LIMIT ?`,
      [after, collection, until, collection, after, until, limit]
    ),
    (rows) => rising(rows, after, "passages")
  )
