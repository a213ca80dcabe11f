import * as Reactivity from "@effect/experimental/Reactivity"
import * as Sqlite from "@effect/sql-sqlite-node/SqliteClient"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Statement from "@effect/sql/Statement"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
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
const atOnce = ({ unsafe: plain }: SqlClient.SqlClient): SqlClient.SqlClient["unsafe"] =>
  function unsafe<A extends object>(text: string, params?: ReadonlyArray<unknown>): Statement.Statement<A> {
    const statement = plain<A>(text, params)
    const whole = (statement as unknown as { commit: () => Effect.Effect<ReadonlyArray<A>, SqlError> }).commit
    const commit = () =>
      Effect.withFiberRuntime<ReadonlyArray<A>, SqlError>((fiber) => {
        const held = Context.getOption(fiber.currentContext, SqlClient.TransactionConnection)
        return held._tag === "None" || isTraced(fiber, "sql.execute")
          ? whole.call(statement)
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
    return Object.assign(client, { backup, loadExtension, unsafe: atOnce(client) })
  }).pipe(Effect.provide(Reactivity.layer))
