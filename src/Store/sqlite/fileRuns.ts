import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"

/** The next run's number. The caller holds the write lock, so nobody else gets it. */
export const begin = (sql: SqlClient.SqlClient): Effect.Effect<number, SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly last: number }>("UPDATE run_numbers SET last = last + 1 WHERE id = 1 RETURNING last"),
    ([row]) => row!.last
  )
