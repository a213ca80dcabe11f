import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import { mayEnd } from "../../runtime/EventLoop.ts"
import { retryBusy } from "./errors.ts"

/** The first statement of a read; it waits while another process is opening or closing the file. */
const snapshot = "SELECT 1 FROM sqlite_schema LIMIT 1"

/** Before a statement: ends the fiber if it was interrupted meanwhile, also in an uninterruptible region. */
const stepping = <A>(statement: Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
  Effect.withFiberRuntime<A, SqlError>((fiber) =>
    Cause.isEmpty(fiber.getFiberRef(FiberRef.interruptedCause)) ? statement : Effect.zipRight(mayEnd, statement)
  )

/** May be interrupted before each statement. */
const inSteps = (connection: Connection): Connection => ({
  ...connection,
  execute: (...args) => stepping(connection.execute(...args)),
  executeRaw: (...args) => stepping(connection.executeRaw(...args)),
  executeValues: (...args) => stepping(connection.executeValues(...args)),
  executeUnprepared: (...args) => stepping(connection.executeUnprepared(...args))
})

/**
 * Reads the database's schema, which preparing any statement needs. Do this first; it retries while another process is
 * opening or closing the file.
 */
export const loadSchema = (sql: SqlClient.SqlClient): Effect.Effect<void, SqlError> =>
  Effect.scoped(
    Effect.flatMap(sql.reserve, (connection) => Effect.asVoid(retryBusy(connection.execute(snapshot, [], undefined))))
  )

/**
 * Runs one statement, and what is checked before it; it retries while another process holds the lock. It can be
 * interrupted where `transaction` can.
 */
export const single =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.uninterruptible(
      Effect.scoped(
        Effect.flatMap(sql.reserve, (connection) =>
          retryBusy(Effect.provideService(effect, SqlClient.TransactionConnection, [inSteps(connection), 0]))
        )
      )
    ) as Effect.Effect<A, E | SqlError, R>

/**
 * Runs an effect in one transaction. `BEGIN IMMEDIATE` takes the write lock at the start, since a read that becomes a
 * write fails at once if another process wrote in between. It can be interrupted only before each statement and while
 * it waits for the lock: an interruption at the wrong step would lose the client's semaphore for good.
 */
export const transaction =
  (sql: SqlClient.SqlClient, begin: "BEGIN" | "BEGIN IMMEDIATE") =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.uninterruptible(
      Effect.scoped(
        Effect.flatMap(sql.reserve, (connection) => {
          const run = (statement: string) => connection.execute(statement, [], undefined)
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
              // The rollback only fails if SQLite has already rolled back.
              Exit.isSuccess(exit) ? Effect.void : Effect.ignore(run("ROLLBACK"))
          )
        })
      )
    ) as Effect.Effect<A, E | SqlError, R>
