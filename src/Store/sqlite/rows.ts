import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"

/**
 * Rows per INSERT: few sizes, so that few statements are compiled, and large ones, since a call costs more than a row.
 */
const sizes = [64, 8, 1]

/** Inserts rows in order, many per statement. */
export const insertRows = (
  sql: SqlClient.SqlClient,
  table: string,
  columns: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<unknown>>
): Effect.Effect<void, SqlError> => {
  const row = `(${columns.map(() => "?").join(",")})`
  const into = `INSERT INTO ${table} (${columns.join(",")}) VALUES `
  return Effect.gen(function* () {
    let at = 0
    for (const size of sizes) {
      const statement = into + Array.from({ length: size }, () => row).join(",")
      for (; rows.length - at >= size; at += size) yield* sql.unsafe(statement, rows.slice(at, at + size).flat())
    }
  })
}

/** A list as one bound parameter: `IN (SELECT value FROM json_each(?))`. */
export const inList = "IN (SELECT value FROM json_each(?))"
export const list = (values: ReadonlyArray<string | number>): string => JSON.stringify(values)
