import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { isMainThread } from "node:worker_threads"
import * as sqliteVec from "sqlite-vec"
import type { StoreUnavailable } from "../../Store.ts"
import type { CacheHandle } from "../../codes/BlockCache.ts"
import { isCannotOpen, isFull, orDamage, retryBusy } from "./errors.ts"
import { migrate, schemaVersion } from "./schema.ts"
import { type Place, type RawFile, hasMoved, statOf } from "./file/place.ts"
import { type Mode, applicationId, fail, inspect, ioReason, notOurs, tooNew, withoutPrograms } from "./file/inspect.ts"
import * as SqliteClient from "./client.ts"
import type { VectorOptions } from "../sql/vectors.ts"
import { type Sql, only } from "../sql/rows.ts"

export interface DatabaseOptions {
  readonly filename: string
  readonly mode: Mode
  /** `full`: acknowledged writes survive a power cut; `normal`, the default: only the death of the process. */
  readonly synchronous?: "normal" | "full" | undefined
  readonly vectors?: VectorOptions | undefined
  /** Whether passages are added to the graph when they are stored; default: they are. */
  readonly graph?: boolean | undefined
  /** Where the codes of the vectors are kept in memory; default: in this connection's own cache. */
  readonly cache?: CacheHandle | undefined
  /** Whether a connection of the process's main thread tells what happens to the file. */
  readonly inThread?: boolean | undefined
}

/** A connection and its file; undefined for a database in memory. */
interface Connected {
  readonly sql: SqliteClient.SqliteClient
  readonly file: RawFile | undefined
}

export const memory = ":memory:"

export const bytesOf = (sql: Sql) =>
  only<number>(sql, "SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size")

/** The size of a page: SQLite's default. */
export const pageBytes = 4096

/** The pages that a WAL has when SQLite copies it back into a small index. */
export const leastWalPages = 4000

/** The largest size of a WAL once all of it is in the database. */
export const walBytes = 192 * 1024 * 1024

/** Kibibytes of pages that the main thread caches: its searches, of small indexes, gain nothing from better-sqlite3's 16,000. */
const mainKibibytes = 2000

const pragma = (sql: Sql, name: string) => retryBusy(only<number>(sql, `PRAGMA ${name}`))

/** A program that was killed as it opened or closed the index leaves a journal, which only a connection that may write takes back. */
const takenBack = (filename: string) =>
  Effect.suspend(() =>
    statOf(`${filename}-journal`) === undefined
      ? Effect.void
      : SqliteClient.make(filename, false).pipe(
          // `retryBusy` waits, without blocking the thread.
          Effect.tap((sql) => sql`PRAGMA busy_timeout = 0`),
          Effect.flatMap((sql) => pragma(sql, "user_version")),
          Effect.scoped,
          Effect.ignore
        )
  )

/** SQLite's connection, closed with the scope. */
export const client = (filename: string, readonly: boolean) =>
  Effect.when(takenBack(filename), () => readonly).pipe(
    Effect.zipRight(SqliteClient.make(filename, readonly)),
    // What a file's schema calls must be harmless; better-sqlite3 keeps the schema itself from being written.
    Effect.tap((sql) => Effect.orDie(sql`PRAGMA trusted_schema = OFF`)),
    Effect.catchAllDefect((error) => Effect.fail(ioReason(filename, error)))
  )

/**
 * If this was the last connection, leaves a single file, which can be read where nobody can write. If others have it
 * open, nothing changes.
 */
const leaveOneFile = (sql: Sql, filename: string, place: Place) =>
  // If the path names another file now, the WAL belongs to that one.
  Effect.ignore(Effect.unless(sql`PRAGMA journal_mode = DELETE`, () => hasMoved(filename, place)))

/** The same after the last reader: deletes the files that it needed beside the index. */
const tidy = (filename: string, place: Place) =>
  Effect.suspend(() =>
    statOf(`${filename}-wal`) === undefined
      ? Effect.void
      : Effect.scoped(Effect.flatMap(client(filename, false), (sql) => leaveOneFile(sql, filename, place)))
  ).pipe(Effect.ignore)

/** What else is written meanwhile. */
const spareMebibytes = 4

/**
 * Keeps the rollback journal in memory, not on disk, and gives up the reserve. What the WAL has must fit into the file
 * first.
 */
const withoutRoom = (sql: Sql, filename: string) =>
  Effect.gen(function* () {
    const bytes = yield* retryBusy(bytesOf(sql))
    yield* Effect.catchIf(retryBusy(sql`PRAGMA journal_mode = MEMORY`), isFull, () =>
      fail(
        `The disk of ${filename} is full, and its last changes, in ${filename}-wal, must be copied into it before ` +
          `anything can be freed: make ${spareMebibytes + Math.ceil((bytes - Number(statOf(filename)?.size ?? 0n)) / 2 ** 20)} MB of room`
      )
    )
    if (isMainThread)
      yield* Effect.logWarning(
        `The disk of ${filename} is full, so Clew frees space without a journal. Do not kill this program, or the index may be damaged`
      )
    yield* sql`PRAGMA locking_mode = NORMAL`
    yield* sql`PRAGMA temp_store = MEMORY`
    const [known] = yield* sql`SELECT 1 FROM sqlite_schema WHERE name = 'reserve'`
    if (known !== undefined) yield* retryBusy(sql`DELETE FROM reserve`)
  })

const neverClosed = (filename: string): string =>
  `The index ${filename} was last written by a program that did not close it, or by an older Clew, and nothing can be ` +
  `written beside it, which reading it in this state needs; open it once where it is writable, for example with \`clew info\``

/** The schema's version, and whether its tables exist: another program may have used our mark. */
const schemaOf = (sql: Sql) =>
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

/** Opens the file, marks it as Clew's and migrates its schema. */
export const open = ({
  filename,
  mode,
  synchronous = "normal"
}: DatabaseOptions): Effect.Effect<Connected, StoreUnavailable | SqlError, Scope.Scope> =>
  Effect.gen(function* () {
    const inspected = filename === memory ? undefined : yield* inspect(filename, mode)
    const file = inspected?.raw
    if (file !== undefined && mode === "readonly" && isMainThread) {
      yield* Effect.addFinalizer(() => tidy(filename, file))
    }
    const sql = yield* client(filename, mode === "readonly")
    if (file !== undefined && hasMoved(filename, file)) {
      return yield* fail(`The index ${filename} was replaced while it was being opened; try again`)
    }
    // `retryBusy` waits for other processes' locks: SQLite's own wait would block the thread.
    yield* sql`PRAGMA busy_timeout = 0`
    // Without others, SQLite needs no file beside the WAL, for which there may be no room.
    if (mode === "shrink") yield* sql`PRAGMA locking_mode = EXCLUSIVE`
    yield* sql.loadExtension(sqliteVec.getLoadablePath())
    yield* sql`PRAGMA foreign_keys = ON`
    // Never memory-mapped: if another program truncated the file, a signal would end this process.
    yield* sql`PRAGMA mmap_size = 0`
    const { isOurs, version } = yield* retryBusy(schemaOf(sql)).pipe(
      Effect.catchAll((error): Effect.Effect<never, SqlError | StoreUnavailable> =>
        inspected?.header?.isWal === true && mode === "readonly" && isCannotOpen(error)
          ? fail(neverClosed(filename))
          : Effect.fail(error)
      )
    )
    if (!isOurs) return yield* notOurs(filename)
    yield* withoutPrograms(sql, filename)
    // Not earlier: this statement reads the schema.
    if (isMainThread) yield* sql.unsafe(`PRAGMA cache_size = -${mainKibibytes}`)
    if (mode !== "readonly") {
      // Before WAL, so that the mark is in the file itself even if the process dies before the first checkpoint.
      if ((yield* pragma(sql, "application_id")) === 0) {
        yield* retryBusy(sql.unsafe(`PRAGMA application_id = ${applicationId}`))
      }
      if (mode === "shrink") yield* withoutRoom(sql, filename)
      else yield* retryBusy(sql`PRAGMA journal_mode = WAL`)
      yield* sql.unsafe(`PRAGMA synchronous = ${synchronous.toUpperCase()}`)
      // Overwrites deleted content, not only frees it.
      yield* sql`PRAGMA secure_delete = ON`
      yield* sql.unsafe(`PRAGMA wal_autocheckpoint = ${leastWalPages}`)
      yield* sql.unsafe(`PRAGMA journal_size_limit = ${walBytes}`)
      if (file !== undefined && isMainThread) {
        yield* Effect.addFinalizer(() => leaveOneFile(sql, filename, file))
      }
    }
    if (version > schemaVersion) return yield* tooNew(filename, version)
    if (version < schemaVersion && mode !== "unchanged") {
      if (mode === "readonly")
        return yield* fail(`${filename} was made by an older Clew; open it once without --read-only`)
      yield* Effect.flatMap(pragma(sql, "user_version"), (from) =>
        from === 0 ? migrate(sql, from) : orDamage(migrate(sql, from))
      ).pipe(SqliteClient.transaction(sql, "BEGIN IMMEDIATE"))
    }
    // What a statement would have to take back, often a page for each row that it inserts, need not be on a disk.
    if (mode !== "readonly" && !isMainThread) yield* sql`PRAGMA temp_store = MEMORY`
    return { sql, file }
  })

/** Only the connection. */
export const connect = (options: DatabaseOptions) => Effect.map(open(options), ({ sql }) => sql)
