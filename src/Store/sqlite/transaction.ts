import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { mayEnd } from "../../runtime/EventLoop.ts"
import { isBusy, retryBusy } from "./errors.ts"

/** The first statement of a read; where another process is just opening or closing the file, it has to wait. */
const snapshot = "SELECT 1 FROM sqlite_schema LIMIT 1"

type Execute = Connection["executeUnprepared"]

/** A statement that is prepared for this one time; the client throws where that fails. */
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
 * The client keeps the failure to prepare a statement as it keeps prepared ones: for ten minutes. A statement that met
 * another process's lock there would be refused for that long, so it does without the cache.
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
 * Reads the database's schema, which every statement needs to be prepared. To be done first, and tried again here while
 * another process is opening or closing the file: see `lasting`.
 */
export const loadSchema = (sql: SqlClient.SqlClient): Effect.Effect<void, SqlError> =>
  Effect.scoped(
    Effect.flatMap(sql.reserve, (connection) =>
      Effect.asVoid(retryBusy(unprepared(connection)(snapshot, [], undefined)))
    )
  )

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
              // The rollback itself fails only where SQLite has rolled back already.
              Exit.isSuccess(exit) ? Effect.void : Effect.ignore(run("ROLLBACK"))
          )
        })
      )
    ) as Effect.Effect<A, E | SqlError, R>
