import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import * as path from "node:path"
import * as sqliteVec from "sqlite-vec"
import { StoreUnavailable } from "../../Store.ts"
import { migrate, schemaVersion } from "../migrations/index.ts"
import type { ArenaHandle } from "./codes/arena.ts"
import { retryBusy } from "./errors.ts"
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

export const memory = ":memory:"

/** As much of the file as SQLite will map; the system gives back what others need. */
const mappedBytes = 2 ** 40

/** "Clew" in ASCII, where SQLite's header keeps an application's mark. */
const applicationId = 0x436c6577

const fail = (reason: string) => Effect.fail(new StoreUnavailable({ reason }))

const notOurs = (filename: string) =>
  fail(`${filename} is not a Clew index and was left untouched; name another file with --db`)

const tooNew = (filename: string, version: number) =>
  fail(
    `${filename} was made by a newer Clew (schema ${version}, this one knows ${schemaVersion}) and was left untouched; ` +
      `update Clew, or name another file with --db`
  )

const ioReason = (filename: string, error: unknown): StoreUnavailable => {
  const code = (error as NodeJS.ErrnoException).code
  const why =
    code === "EACCES" || code === "EPERM"
      ? "permission denied"
      : code === "ENOSPC"
        ? "the disk is full"
        : code === "EROFS"
          ? "the file system can only be read"
          : code === "EISDIR"
            ? "it is a directory"
            : code === "ENOTDIR" || code === "EEXIST"
              ? "part of its path is a file"
              : String((error as Error).message)
  return new StoreUnavailable({ reason: `The index ${filename} cannot be opened: ${why}` })
}

/** The first 100 bytes, as far as there are any: SQLite's header. */
const readHeader = (filename: string) =>
  Effect.try({
    try: () => {
      const file = fs.openSync(filename, "r")
      try {
        const header = Buffer.alloc(100)
        return header.subarray(0, fs.readSync(file, header, 0, 100, 0))
      } finally {
        fs.closeSync(file)
      }
    },
    catch: (error) => ioReason(filename, error)
  })

/** One by one from the first that is missing: where a part cannot be made, Node's own `recursive` may try for ever. */
const makeFolder = (folder: string): void => {
  if (fs.existsSync(folder)) return
  makeFolder(path.dirname(folder))
  try {
    fs.mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process may have made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  }
}

const createFile = (filename: string) =>
  Effect.try({
    try: () => {
      makeFolder(path.dirname(filename))
      fs.closeSync(fs.openSync(filename, "a", 0o600))
    },
    catch: (error) => ioReason(filename, error)
  })

/** Refuses a foreign or newer file by its header, before SQLite could write to it. */
const inspect = Effect.fn("Database.inspect")(function* ({ filename, mode }: DatabaseOptions) {
  if (!fs.existsSync(filename)) {
    if (mode !== "create") return yield* fail(`There is no index at ${filename} yet; make one with \`clew index PATH\``)
    return yield* createFile(filename)
  }
  const header = yield* readHeader(filename)
  if (header.length === 0) {
    return mode === "readonly" ? yield* fail(`${filename} is empty; make an index with \`clew index PATH\``) : undefined
  }
  if (header.length < 100 || header.toString("latin1", 0, 15) !== "SQLite format 3") return yield* notOurs(filename)
  if (header.readUInt32BE(68) !== applicationId) return yield* notOurs(filename)
  const version = header.readUInt32BE(60)
  if (version > schemaVersion) return yield* tooNew(filename, version)
})

const pragma = (sql: SqlClient.SqlClient, name: string) =>
  Effect.map(sql.unsafe<Record<string, number>>(`PRAGMA ${name}`), (rows) => Number(Object.values(rows[0] ?? {})[0]))

/** Opens the file, marks it as ours and brings its schema up to date. */
export const connect = (
  options: DatabaseOptions
): Effect.Effect<SqlClient.SqlClient, StoreUnavailable | SqlError, Scope.Scope> =>
  Effect.gen(function* () {
    const { filename, mode } = options
    if (filename !== memory) yield* inspect(options)
    const sql = yield* SqliteClient.make({ filename, readonly: mode === "readonly", disableWAL: true }).pipe(
      Effect.provide(Reactivity.layer),
      Effect.catchAllDefect((error) => Effect.fail(ioReason(filename, error)))
    )
    yield* sql.loadExtension(sqliteVec.getLoadablePath())
    yield* sql`PRAGMA foreign_keys = ON`
    // Vectors lie all over the file: mapped, a page of it costs no system call and no copy.
    yield* sql.unsafe(`PRAGMA mmap_size = ${mappedBytes}`)
    if (mode !== "readonly") {
      // Before WAL, so that the mark stands in the file itself even if the process dies before the first checkpoint.
      if ((yield* pragma(sql, "application_id")) === 0) {
        yield* retryBusy(sql.unsafe(`PRAGMA application_id = ${applicationId}`))
      }
      yield* retryBusy(sql`PRAGMA journal_mode = WAL`)
      yield* sql`PRAGMA synchronous = NORMAL`
      yield* sql`PRAGMA wal_autocheckpoint = 4000`
      yield* sql`PRAGMA journal_size_limit = 67108864`
    }
    const version = yield* pragma(sql, "user_version")
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
    return sql
  })
