import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { mayEnd } from "../../runtime/EventLoop.ts"
import { isBusy, retryBusy } from "./errors.ts"

/** The first statement of a read; it waits while another process is opening or closing the file. */
const snapshot = "SELECT 1 FROM sqlite_schema LIMIT 1"

type Execute = Connection["executeUnprepared"]

/** Prepares a statement for one use; the client throws if that fails. */
const unprepared =
  (connection: Connection): Execute =>
  (...args) =>
    Effect.flatten(
      Effect.try({
        try: () => connection.executeUnprepared(...args),
        catch: (cause) => new SqlError({ cause, message: "Failed to prepare statement" })
      })
    )

/**
 * The client caches a failure to prepare a statement like a prepared one: for ten minutes. A statement that met another
 * process's lock would be refused for that long, so it bypasses the cache.
 */
const lasting =
  (connection: Connection, execute: Execute): Execute =>
  (...args) =>
    Effect.catchIf(
      execute(...args),
      (error) => isBusy(error) && error.message.startsWith("Failed to prepare"),
      () => unprepared(connection)(...args)
    )

/** May be interrupted before each statement. */
const inSteps = (connection: Connection): Connection => ({
  ...connection,
  execute: (...args) => Effect.zipRight(mayEnd, lasting(connection, connection.execute)(...args)),
  executeRaw: (...args) => Effect.zipRight(mayEnd, connection.executeRaw(...args)),
  executeValues: (...args) => Effect.zipRight(mayEnd, connection.executeValues(...args)),
  executeUnprepared: (...args) => Effect.zipRight(mayEnd, unprepared(connection)(...args))
})

/**
 * Reads the database's schema, which preparing any statement needs. Do this first; it retries while another process is
 * opening or closing the file: see `lasting`.
 */
export const loadSchema = (sql: SqlClient.SqlClient): Effect.Effect<void, SqlError> =>
  Effect.scoped(
    Effect.flatMap(sql.reserve, (connection) =>
      Effect.asVoid(retryBusy(unprepared(connection)(snapshot, [], undefined)))
    )
  )

/**
 * Runs an effect in one transaction. `BEGIN IMMEDIATE` takes the write lock at the start, since a read that becomes a
 * write fails at once if another process wrote in between. It can be interrupted only before each statement and while
 * it waits for the lock: an interruption at the wrong step would lose the client's semaphore or its cache of statements
 * for good.
 */
export const transaction =
  (sql: SqlClient.SqlClient, begin: "BEGIN" | "BEGIN IMMEDIATE") =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.uninterruptible(
      Effect.scoped(
        Effect.flatMap(sql.reserve, (connection) => {
          const run = (statement: string) => unprepared(connection)(statement, [], undefined)
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
