import * as Reactivity from "@effect/experimental/Reactivity"
import * as Sqlite from "@effect/sql-sqlite-node/SqliteClient"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Statement from "@effect/sql/Statement"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import type * as Scope from "effect/Scope"
import { retryBusy } from "./errors.ts"
import { inSteps } from "../sql/steps.ts"
import { beginRead, changing, endRead } from "../sql/unchanged.ts"
import { mayEnd } from "../../runtime/EventLoop.ts"
import * as Turn from "../../runtime/Turn.ts"
import { afterwards, meanwhile } from "../../runtime/afterwards.ts"
import { isTraced } from "../../runtime/tracing.ts"

/** SQLite's client: statements, and what only SQLite has. */
export interface SqliteClient extends SqlClient.SqlClient {
  readonly backup: (destination: string) => Effect.Effect<unknown, SqlError>
  readonly loadExtension: (path: string) => Effect.Effect<void, SqlError>
  /** Has the connection for itself while it runs. */
  readonly holding: <A, E, R>(use: (connection: Connection) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

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
    const inner = yield* Sqlite.make({ filename, readonly, disableWAL: true })
    const connection = preparingAgain(yield* Effect.orDie(Effect.scoped(inner.reserve)))
    const turn = Turn.make()
    const client = yield* SqlClient.make({
      acquirer: turn(Effect.succeed(connection)),
      compiler: Statement.makeCompilerSqlite(),
      spanAttributes: [["db.system.name", "sqlite"]]
    })
    // The client is a function; its template tag stays as it is.
    return Object.assign(client, {
      backup: (destination: string) => Effect.zipRight(turn(Effect.void), inner.backup(destination)),
      loadExtension: (path: string) => turn(inner.loadExtension(path)),
      holding: ((use) => turn(Effect.suspend(() => use(connection)))) satisfies SqliteClient["holding"],
      unsafe: direct(client)
    })
  }).pipe(Effect.provide(Reactivity.layer))

/**
 * Begins a snapshot, for `unchanged` with its version; it waits while another process is opening or closing the file.
 */
const snapshot = (sql: SqlClient.SqlClient, connection: Connection): Effect.Effect<void, SqlError> =>
  Effect.map(retryBusy(connection.execute("PRAGMA data_version", [], undefined)), ([row]) =>
    beginRead(sql, (row as { readonly data_version: number }).data_version)
  )

/** Runs an effect with the connection for its statements; in an uninterruptible region. */
const using = <A, E, R>(connection: Connection, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  meanwhile(effect, FiberRef.currentContext, (around) =>
    Context.add(around, SqlClient.TransactionConnection, [inSteps(connection), 0])
  )

/**
 * Runs one statement, and what is checked before it; it retries while another process holds the lock. It can be
 * interrupted where `transaction` can.
 */
export const single =
  (sql: SqliteClient) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.uninterruptible(
      sql.holding((connection) =>
        afterwards(Effect.zipRight(snapshot(sql, connection), retryBusy(using(connection, effect))), () => endRead(sql))
      )
    )

/**
 * Runs an effect in one transaction. `BEGIN IMMEDIATE` takes the write lock at the start, since a read that becomes a
 * write fails at once if another process wrote in between. It can be interrupted only before each statement and while
 * it waits for the lock or for the connection.
 */
export const transaction =
  (sql: SqliteClient, begin: "BEGIN" | "BEGIN IMMEDIATE") =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.uninterruptible(
      sql.holding((connection) => {
        const run = (statement: string) => connection.execute(statement, [], undefined)
        const begun = Effect.suspend((): Effect.Effect<void, SqlError> => {
          if (begin === "BEGIN") return snapshot(sql, connection)
          changing(sql)
          return Effect.void
        })
        const used = Effect.zipRight(begun, using(connection, effect))
        // The rollback only fails if SQLite has already rolled back.
        const ended = Effect.tapErrorCause(Effect.zipLeft(used, retryBusy(run("COMMIT"))), () =>
          Effect.ignore(run("ROLLBACK"))
        )
        return Effect.zipRight(
          Effect.zipRight(mayEnd, retryBusy(run(begin))),
          afterwards(ended, () => endRead(sql))
        )
      })
    )
