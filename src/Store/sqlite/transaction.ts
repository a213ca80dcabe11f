import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { retryBusy } from "./errors.ts"

/** Where an effect that may not be interrupted elsewhere may be. */
export const mayEnd: Effect.Effect<void> = Effect.interruptible(Effect.void)

/** May be interrupted before each statement. */
const inSteps = (connection: Connection): Connection => ({
  ...connection,
  execute: (...args) => Effect.zipRight(mayEnd, connection.execute(...args)),
  executeRaw: (...args) => Effect.zipRight(mayEnd, connection.executeRaw(...args)),
  executeValues: (...args) => Effect.zipRight(mayEnd, connection.executeValues(...args)),
  executeUnprepared: (...args) => Effect.zipRight(mayEnd, connection.executeUnprepared(...args))
})

/** The first statement of a read; where another process is just opening or closing the file, it has to wait. */
const snapshot = "SELECT 1 FROM sqlite_schema LIMIT 1"

/**
 * Runs an effect in one transaction. `BEGIN IMMEDIATE` takes the write lock at the start, since a read that turns into
 * a write fails at once when another process wrote in between.
 *
 * It can be interrupted before each statement and while it waits for the lock, and nowhere else: what the client keeps
 * (its semaphore, its cache of statements) is lost for good to who is interrupted at the wrong step of taking it.
 */
export const transaction =
  (sql: SqlClient.SqlClient, begin: "BEGIN" | "BEGIN IMMEDIATE") =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.uninterruptible(
      Effect.scoped(
        Effect.flatMap(sql.reserve, (connection) => {
          const run = (statement: string) => connection.executeUnprepared(statement, [], undefined)
          return Effect.acquireUseRelease(
            Effect.zipRight(mayEnd, retryBusy(run(begin))),
            () =>
              (begin === "BEGIN" ? retryBusy(run(snapshot)) : Effect.void).pipe(
                Effect.zipRight(
                  Effect.provideService(effect, SqlClient.TransactionConnection, [inSteps(connection), 0])
                ),
                Effect.zipLeft(retryBusy(run("COMMIT")))
              ),
            (_, exit) =>
              // The rollback itself fails only where SQLite has rolled back already.
              Exit.isSuccess(exit) ? Effect.void : Effect.ignore(run("ROLLBACK"))
          )
        })
      )
    ) as Effect.Effect<A, E | SqlError, R>
