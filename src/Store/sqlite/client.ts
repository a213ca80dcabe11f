import * as Reactivity from "@effect/experimental/Reactivity"
import * as Sqlite from "@effect/sql-sqlite-node/SqliteClient"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Statement from "@effect/sql/Statement"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { retryBusy } from "./errors.ts"
import { inSteps } from "../sql/steps.ts"
import { beginRead, changing, endRead } from "../sql/unchanged.ts"
import { mayEnd } from "../../runtime/EventLoop.ts"
import { isTraced } from "../../runtime/tracing.ts"

/** SQLite's client: statements, and what only SQLite has. */
export interface SqliteClient extends SqlClient.SqlClient, Pick<Sqlite.SqliteClient, "backup" | "loadExtension"> {}

/**
 * The package remembers for ten minutes that a statement could not be prepared, although the lock or the missing table
 * that was in its way may be gone: such a statement is prepared again each time.
 */
const preparingAgain = (connection: Connection): Connection => {
  const executeUnprepared: Connection["executeUnprepared"] = (...args) =>
    Effect.catchAllDefect(
      Effect.suspend(() => connection.executeUnprepared(...args)),
      (cause) => Effect.fail(new SqlError({ cause, message: "Failed to prepare statement" }))
    )
  return {
    ...connection,
    executeUnprepared,
    execute: (...args) =>
      Effect.catchAll(connection.execute(...args), (error) =>
        error.message.startsWith("Failed to prepare") ? executeUnprepared(...args) : Effect.fail(error)
      )
  }
}

/**
 * A statement in a transaction runs at once, on the transaction's connection: a query runs a dozen, and @effect/sql's
 * scope, span and lookups would cost more than most of them. Traced ones, and those outside of transactions, have them.
 */
const direct = ({ unsafe: plain }: SqlClient.SqlClient): SqlClient.SqlClient["unsafe"] =>
  function unsafe<A extends object>(text: string, params?: ReadonlyArray<unknown>): Statement.Statement<A> {
    const statement = plain<A>(text, params)
    const usual = (statement as unknown as { commit: () => Effect.Effect<ReadonlyArray<A>, SqlError> }).commit
    const commit = () =>
      Effect.withFiberRuntime<ReadonlyArray<A>, SqlError>((fiber) => {
        const held = Context.getOption(fiber.currentContext, SqlClient.TransactionConnection)
        return held._tag === "None" || isTraced(fiber, "sql.execute")
          ? usual.call(statement)
          : held.value[0].execute(text, params ?? [], undefined)
      })
    return Object.assign(statement, { commit })
  }

/** Opens a connection, closed with the scope; throws as a defect if that fails. It serves one user at a time. */
export const make = (filename: string, readonly: boolean): Effect.Effect<SqliteClient, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { backup, loadExtension, reserve } = yield* Sqlite.make({ filename, readonly, disableWAL: true })
    const connection = preparingAgain(yield* Effect.orDie(Effect.scoped(reserve)))
    const reserved = Effect.as(reserve, connection)
    const client = yield* SqlClient.make({
      acquirer: reserved,
      transactionAcquirer: reserved,
      compiler: Statement.makeCompilerSqlite(),
      spanAttributes: [["db.system.name", "sqlite"]]
    })
    // The client is a function; its template tag stays as it is.
    return Object.assign(client, { backup, loadExtension, unsafe: direct(client) })
  }).pipe(Effect.provide(Reactivity.layer))

/**
 * Begins a snapshot, for `unchanged` with its version; it waits while another process is opening or closing the file.
 */
const snapshot = (sql: SqlClient.SqlClient, connection: Connection): Effect.Effect<void, SqlError> =>
  Effect.map(retryBusy(connection.execute("PRAGMA data_version", [], undefined)), ([row]) =>
    beginRead(sql, (row as { readonly data_version: number }).data_version)
  )

/**
 * Reads the database's schema, which preparing any statement needs. Do this first; it retries while another process is
 * opening or closing the file.
 */
export const loadSchema = (sql: SqlClient.SqlClient): Effect.Effect<void, SqlError> =>
  Effect.scoped(
    Effect.flatMap(sql.reserve, (connection) =>
      Effect.asVoid(retryBusy(connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1", [], undefined)))
    )
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
          snapshot(sql, connection).pipe(
            Effect.zipRight(
              retryBusy(Effect.provideService(effect, SqlClient.TransactionConnection, [inSteps(connection), 0]))
            ),
            Effect.ensuring(Effect.sync(() => endRead(sql)))
          )
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
              (begin === "BEGIN" ? snapshot(sql, connection) : Effect.sync(() => changing(sql))).pipe(
                Effect.zipRight(
                  Effect.provideService(effect, SqlClient.TransactionConnection, [inSteps(connection), 0])
                ),
                Effect.zipLeft(retryBusy(run("COMMIT")))
              ),
            (_, exit) =>
              // The rollback only fails if SQLite has already rolled back.
              Effect.zipRight(
                Effect.sync(() => endRead(sql)),
                Exit.isSuccess(exit) ? Effect.void : Effect.ignore(run("ROLLBACK"))
              )
          )
        })
      )
    ) as Effect.Effect<A, E | SqlError, R>
