import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Statement from "@effect/sql/Statement"
import Sqlite from "better-sqlite3"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { isTraced } from "../../runtime/tracing.ts"

/** SQLite's client: statements, and what only SQLite has. */
export interface SqliteClient extends SqlClient.SqlClient {
  /** Copies the database to a file. */
  readonly backup: (target: string) => Effect.Effect<void, SqlError>
  readonly loadExtension: (path: string) => Effect.Effect<void, SqlError>
}

/** Most statements kept prepared; the oldest goes first. */
const mostPrepared = 200

/** Prepares each statement once. One that cannot be prepared, for example while the file is locked, is tried again. */
const preparing = (database: Sqlite.Database) => {
  const known = new Map<string, Sqlite.Statement<Array<unknown>>>()
  return {
    forget: () => known.clear(),
    prepare: (sql: string): Sqlite.Statement<Array<unknown>> => {
      const found = known.get(sql)
      if (found !== undefined) return found
      const made = database.prepare<Array<unknown>>(sql)
      if (known.size >= mostPrepared) for (const first of known.keys()) if (known.delete(first)) break
      known.set(sql, made)
      return made
    }
  }
}

const attempt = <A>(message: string, run: () => A): Effect.Effect<A, SqlError> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(run())
    } catch (cause) {
      return Effect.fail(new SqlError({ cause, message }))
    }
  })

const failed = "Failed to execute statement"

const connect = (prepare: (sql: string) => Sqlite.Statement<Array<unknown>>): Connection => {
  const all = (sql: string, params: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
    const statement = prepare(sql)
    if (statement.reader) return statement.all(...params)
    statement.run(...params)
    return []
  }
  const execute: Connection["execute"] = (sql, params, transform) =>
    attempt(failed, () => {
      const rows = all(sql, params)
      return transform === undefined ? rows : transform(rows as ReadonlyArray<object>)
    })
  return {
    execute,
    executeUnprepared: execute,
    executeRaw: (sql, params) =>
      attempt(failed, () => {
        const statement = prepare(sql)
        return statement.reader ? statement.all(...params) : statement.run(...params)
      }),
    executeValues: (sql, params) =>
      attempt(failed, () => {
        const statement = prepare(sql)
        if (!statement.reader) return all(sql, params) as ReadonlyArray<ReadonlyArray<unknown>>
        try {
          return statement.raw(true).all(...params) as ReadonlyArray<ReadonlyArray<unknown>>
        } finally {
          statement.raw(false)
        }
      }),
    executeStream: () => Stream.dieMessage("SQLite's client reads all rows at once")
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
    const database = yield* Effect.acquireRelease(
      Effect.sync(() => new Sqlite(filename, { readonly })),
      (opened) => Effect.sync(() => opened.close())
    )
    const { forget, prepare } = preparing(database)
    const connection = connect(prepare)
    const one = yield* Effect.makeSemaphore(1)
    const acquirer = one.withPermits(1)(Effect.succeed(connection))
    const transactionAcquirer = Effect.uninterruptibleMask((restore) =>
      Effect.zipRight(
        restore(one.take(1)),
        Effect.as(
          Effect.flatMap(Effect.scope, (scope) => Scope.addFinalizer(scope, one.release(1))),
          connection
        )
      )
    )
    const client = yield* SqlClient.make({
      acquirer,
      transactionAcquirer,
      compiler: Statement.makeCompilerSqlite(),
      spanAttributes: [["db.system.name", "sqlite"]]
    })
    const own: Pick<SqliteClient, "backup" | "loadExtension"> = {
      backup: (target) =>
        Effect.zipRight(
          acquirer,
          Effect.tryPromise({
            try: () => database.backup(target),
            catch: (cause) => new SqlError({ cause, message: "Failed to back up the database" })
          })
        ),
      loadExtension: (path) =>
        Effect.zipRight(
          acquirer,
          attempt("Failed to load the extension", () => {
            database.loadExtension(path)
            forget()
          })
        )
    }
    // The client is a function; its template tag stays as it is.
    return Object.assign(client, { ...own, unsafe: atOnce(client) })
  }).pipe(Effect.provide(Reactivity.layer))
