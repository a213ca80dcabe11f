import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"

/**
 * Rows per INSERT: few sizes, so that few statements are compiled, and large ones, since a call costs more than a row.
 */
const sizes = [64, 8, 1]

/** Inserts rows, which have the same columns, in order, many per statement; on a conflict it fails unless told else. */
export const insertRows = (
  sql: SqlClient.SqlClient,
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

/** A list as one bound parameter: `IN (SELECT value FROM json_each(?))`. */
export const inList = "IN (SELECT value FROM json_each(?))"
export const list = (values: ReadonlyArray<string | number>): string => JSON.stringify(values)

const comma = 44
const zero = 48

/** How many rows a statement changes. */
export const count = (sql: SqlClient.SqlClient, statement: string, params: ReadonlyArray<unknown>) =>
  Effect.map(sql.unsafe(`${statement} RETURNING 1`, params), (rows) => rows.length)

/** Calls `use` with each whole number in a text of digits and commas. */
export const forEachNumber = (text: Uint8Array, use: (value: number) => void): void => {
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
