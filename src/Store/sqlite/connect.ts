import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { isMainThread } from "node:worker_threads"
import * as sqliteVec from "sqlite-vec"
import { StoreUnavailable } from "../../Store.ts"
import { migrate, schemaVersion } from "../migrations/index.ts"
import type { ArenaHandle } from "./codes/arena.ts"
import { retryBusy } from "./errors.ts"
import { applicationId, inspect, ioReason, notOurs, tooNew } from "./file/inspect.ts"
import { hasMoved, type Place } from "./file/place.ts"
import type { RawFile } from "./file/RawFile.ts"
import { transaction } from "./transaction.ts"
import type { VectorOptions } from "./vectors.ts"

export interface DatabaseOptions {
  readonly filename: string
  /** `create` makes the file where there is none, `existing` refuses, `readonly` refuses and never writes. */
  readonly mode: "create" | "existing" | "readonly"
  readonly vectors?: VectorOptions | undefined
  /** Where the codes of the vectors are kept in memory; unset: in an arena of this connection's own. */
  readonly arena?: ArenaHandle | undefined
}

/** A connection, and the file it is to; undefined for one in memory. */
export interface Connected {
  readonly sql: SqlClient.SqlClient
  readonly file: RawFile | undefined
}

export const memory = ":memory:"

const fail = (reason: string) => Effect.fail(new StoreUnavailable({ reason }))

const pragma = (sql: SqlClient.SqlClient, name: string) =>
  Effect.map(retryBusy(sql.unsafe<Record<string, number>>(`PRAGMA ${name}`)), (rows) =>
    Number(Object.values(rows[0] ?? {})[0])
  )

/** SQLite's connection, closed with the scope. */
const client = (filename: string, readonly: boolean) =>
  SqliteClient.make({ filename, readonly, disableWAL: true }).pipe(
    Effect.provide(Reactivity.layer),
    Effect.catchAllDefect((error) => Effect.fail(ioReason(filename, error)))
  )

/**
 * Leaves one file alone where this was the last connection: it can be read then where nobody can write. Whoever else
 * has it open keeps it as it is.
 */
const leaveOneFile = (sql: SqlClient.SqlClient, filename: string, place: Place) =>
  // At a path that names another file now, the WAL is that one's.
  Effect.ignore(Effect.unless(sql`PRAGMA journal_mode = DELETE`, () => hasMoved(filename, place)))

/** The schema's version, and whether its tables are there: somebody may have put our mark on another database. */
const schemaOf = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql.unsafe<{ readonly version: number; readonly tables: number; readonly ours: number }>(
      `SELECT (SELECT user_version FROM pragma_user_version) AS version, count(*) AS tables,
              count(*) FILTER (WHERE name IN ('collections', 'documents', 'passages')) AS ours
       FROM sqlite_schema WHERE type = 'table'`
    ),
    ([found]) => {
      const { ours, tables, version } = found!
      return { version, isOurs: version === 0 ? tables === 0 : ours === 3 }
    }
  )

/** Opens the file, marks it as ours and brings its schema up to date. */
export const open = ({
  filename,
  mode
}: DatabaseOptions): Effect.Effect<Connected, StoreUnavailable | SqlError, Scope.Scope> =>
  Effect.gen(function* () {
    const inspected = filename === memory ? undefined : yield* inspect(filename, mode)
    const file = inspected?.raw
    const sql = yield* client(filename, mode === "readonly")
    if (file !== undefined && hasMoved(filename, file)) {
      return yield* fail(`The index ${filename} was replaced while it was being opened; try again`)
    }
    // A wait for another process's lock is ours (`retryBusy`): SQLite's own would stop the thread.
    yield* sql`PRAGMA busy_timeout = 0`
    yield* sql.loadExtension(sqliteVec.getLoadablePath())
    yield* sql`PRAGMA foreign_keys = ON`
    // Never mapped into memory: a file that another program cuts short would end this one by a signal.
    yield* sql`PRAGMA mmap_size = 0`
    const { isOurs, version } = yield* retryBusy(schemaOf(sql))
    if (!isOurs) return yield* notOurs(filename)
    if (mode !== "readonly") {
      // Before WAL, so that the mark stands in the file itself even if the process dies before the first checkpoint.
      if ((yield* pragma(sql, "application_id")) === 0) {
        yield* retryBusy(sql.unsafe(`PRAGMA application_id = ${applicationId}`))
      }
      yield* retryBusy(sql`PRAGMA journal_mode = WAL`)
      yield* sql`PRAGMA synchronous = NORMAL`
      yield* sql`PRAGMA wal_autocheckpoint = 4000`
      yield* sql`PRAGMA journal_size_limit = 67108864`
      if (file !== undefined && isMainThread) {
        yield* Effect.addFinalizer(() => leaveOneFile(sql, filename, file))
      }
    }
    if (version > schemaVersion) return yield* tooNew(filename, version)
    if (version < schemaVersion) {
      if (mode === "readonly") return yield* fail(`${filename} is of an older Clew; open it once without --read-only`)
      yield* migrate.pipe(
        Effect.zipRight(sql.unsafe(`PRAGMA user_version = ${schemaVersion}`)),
        transaction(sql, "BEGIN IMMEDIATE"),
        Effect.provideService(SqlClient.SqlClient, sql),
        Effect.catchTag("MigrationError", Effect.die)
      )
    }
    return { sql, file }
  })

/** The connection alone. */
export const connect = (options: DatabaseOptions) => Effect.map(open(options), ({ sql }) => sql)
