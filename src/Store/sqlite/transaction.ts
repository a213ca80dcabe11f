import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { retryBusy } from "./errors.ts"

/**
 * Runs an effect in one transaction. `BEGIN IMMEDIATE` takes the write lock at the start, since a read that turns into
 * a write fails at once when another process wrote in between.
 */
export const transaction =
  (sql: SqlClient.SqlClient, begin: "BEGIN" | "BEGIN IMMEDIATE") =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.scoped(
      Effect.flatMap(sql.reserve, (connection) => {
        const run = (statement: string) => connection.executeUnprepared(statement, [], undefined)
        return Effect.acquireUseRelease(
          retryBusy(run(begin)),
          () =>
            Effect.provideService(effect, SqlClient.TransactionConnection, [connection, 0]).pipe(
              Effect.zipLeft(retryBusy(run("COMMIT")))
            ),
          (_, exit) =>
            // The rollback itself fails only where SQLite has rolled back already.
            Exit.isSuccess(exit) ? Effect.void : Effect.ignore(run("ROLLBACK"))
        )
      })
    ) as Effect.Effect<A, E | SqlError, R>
