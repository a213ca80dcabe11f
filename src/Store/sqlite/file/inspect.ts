import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import * as path from "node:path"
import {
  acquire,
  besides,
  type Header,
  headerOf,
  isSamePlace,
  kindOf,
  type Place,
  type RawFile,
  release,
  statOf
} from "./place.ts"
import { StoreUnavailable } from "../../../Store.ts"
import { replaced } from "../../../runtime/installation.ts"
import { belongs, markSql, walSalt, wasOverwritten } from "./marks.ts"
import { retryBusy } from "../errors.ts"
import { schemaVersion } from "../schema.ts"
import { type Sql, first, only } from "../../sql/rows.ts"

/** "Clew" in ASCII, the application's mark in SQLite's header. */
export const applicationId = 0x436c6577

/**
 * `create` creates the file if there is none; `existing` fails; `readonly` fails and never writes. `shrink` is like
 * `existing`, but needs no space of its own: the disk is full. `unchanged` is like `existing`, but accepts any schema
 * version and leaves it as it is.
 */
export type Mode = "create" | "existing" | "readonly" | "shrink" | "unchanged"

/** What the inspection found before SQLite opens the file. */
interface Inspected {
  readonly raw: RawFile
  /** Undefined: the file is empty as yet. */
  readonly header: Header | undefined
}

export const fail = (reason: string) => Effect.fail(new StoreUnavailable({ reason }))

export const notOurs = (filename: string) =>
  fail(`${filename} is not a Clew index and was left untouched; name another file with --db`)

export const tooNew = (filename: string, version: number) =>
  fail(
    `${filename} was made by a newer Clew (schema ${version}, this one knows ${schemaVersion}) and was left untouched; ` +
      `update Clew, or name another file with --db`
  )

const noIndex = (filename: string) => fail(`There is no index at ${filename} yet; create one with \`clew index PATH\``)

/** What to do if SQLite's addon was not built, or for another version of Node, or for another machine. */
const notLoaded = (error: unknown): string | undefined => {
  const { code, message } = error as NodeJS.ErrnoException
  const isMissing = code === "MODULE_NOT_FOUND" && message.includes("better-sqlite3")
  const isUnbuilt = isMissing || message.startsWith("Could not locate the bindings file")
  if (!isUnbuilt && code !== "ERR_DLOPEN_FAILED" && !message.includes("did not self-register")) return undefined
  const gone = replaced()
  if (gone !== undefined) return gone
  const at = message.search(/[/\\]node_modules[/\\]better-sqlite3[/\\]/)
  const folder = at === -1 ? undefined : message.slice(0, at).split(/'|→ /).at(-1)
  if (Number(process.versions.napi) >= 10) {
    return "SQLite is missing: better-sqlite3-napi, an optional dependency, is not installed (an older Node leaves it out), or does not run here (glibc is older than 2.34: then first install Python 3, make and g++). With this Node, install Clew again as you did (with npm: add --include=optional)"
  }
  // What could not be built is left out of the installation, where npm would install what Clew is developed with.
  const rebuild =
    folder === undefined
      ? "install Clew again as you did (with npm: add --include=optional)"
      : `run \`npm rebuild better-sqlite3\` in ${folder}`
  return isUnbuilt
    ? `SQLite was not built: the install script of better-sqlite3 did not run (pnpm, Bun and --ignore-scripts hold such scripts back), or found no C++ compiler. Node 22.14 and later need neither. Else allow it (\`pnpm approve-builds\`, \`bun pm trust better-sqlite3\`), install Python 3, make and g++, and ${rebuild}`
    : `SQLite does not load in Node ${process.versions.node}: it was built for another Node. To mend it, ${rebuild}, or start Clew with the Node that installed it`
}

/** The error for a WAL that does not belong to its file. */
const strangeWal = (filename: string): string =>
  `${filename}-wal does not belong to ${filename}, which was replaced or copied over without it; nothing was written. ` +
  `To use the file as it is, stop every process that has it open and delete ${filename}-wal and ${filename}-shm; ` +
  `\`clew restore\` avoids this`

const reasons: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EROFS: "the file system is read-only",
  EISDIR: "it is a directory",
  ENOTDIR: "part of its path is a file",
  EEXIST: "part of its path is a file",
  ELOOP: "its links form a circle",
  ENAMETOOLONG: "its path is too long",
  EMFILE: "this process has too many files open (see ulimit -n)",
  ENFILE: "the system has too many files open",
  EIO: "the disk failed to read or write it (I/O error); see the system's log"
}

export const ioReason = (filename: string, error: unknown): StoreUnavailable => {
  const unloaded = notLoaded(error)
  if (unloaded !== undefined) return new StoreUnavailable({ reason: unloaded })
  const why = reasons[(error as NodeJS.ErrnoException).code ?? ""] ?? String((error as Error).message)
  return new StoreUnavailable({ reason: `The index ${filename} cannot be opened: ${why}` })
}

/** One by one from the first missing one: Node's own `recursive` may loop forever if a part cannot be created. */
const makeFolder = (folder: string): void => {
  if (fs.existsSync(folder)) return
  makeFolder(path.dirname(folder))
  try {
    fs.mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process may have created it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  }
}

/** Turns Node's file errors into the store's. */
export const trying = <A>(filename: string, use: () => A) =>
  Effect.try({ try: use, catch: (error) => ioReason(filename, error) })

/** The stat of a path; undefined: nothing is there. */
export const stated = (filename: string) => trying(filename, () => statOf(filename))

/** A file's raw descriptor, until the scope ends: open SQLite's connection in the same one. */
export const descriptor = (filename: string, place: Place) =>
  Effect.acquireRelease(
    trying(filename, () => acquire(filename, place)),
    (raw) => Effect.sync(() => release(raw))
  )

const createFile = (filename: string) =>
  trying(filename, () => {
    makeFolder(path.dirname(filename))
    fs.closeSync(fs.openSync(filename, "a", 0o600))
  })

/**
 * Whether the index can be read as it is, without files beside it: it has this schema, and its last writer closed it.
 * Call this before the process opens it.
 */
export const isSettled = (filename: string): boolean => {
  const stat = statOf(filename)
  if (stat === undefined || !stat.isFile()) return false
  const raw = acquire(filename, stat)
  try {
    const header = headerOf(raw.fd)
    return header !== undefined && !header.isWal && header.userVersion === schemaVersion
  } finally {
    release(raw)
  }
}

/**
 * Refuses a file by its header if it is foreign, newer, no regular file, or has another file's WAL, before SQLite could
 * write to it. Holds the file's raw descriptor until the scope ends.
 */
export const inspect = (filename: string, mode: Mode): Effect.Effect<Inspected, StoreUnavailable, Scope.Scope> =>
  Effect.gen(function* () {
    if ((yield* stated(filename)) === undefined) {
      if (mode !== "create") return yield* noIndex(filename)
      yield* createFile(filename)
    }
    const stat = yield* stated(filename)
    if (stat === undefined) return yield* noIndex(filename)
    for (const file of [filename, ...besides(filename)]) {
      const there = yield* stated(file)
      const kind = there && kindOf(there)
      if (kind === undefined) continue
      const which = file === filename ? "it is" : `${file} is`
      return yield* fail(`The index ${filename} cannot be opened: ${which} ${kind}; name a file with --db`)
    }
    const raw = yield* descriptor(filename, stat)
    if (stat.size === 0n) {
      const wal = yield* stated(`${filename}-wal`)
      if (wal !== undefined && wal.size > 0n) {
        return yield* fail(
          `${filename} is empty but ${filename}-wal is not: its content was lost, and nothing was written; ` +
            `restore a backup with \`clew restore\`, or delete both and index again`
        )
      }
      if (mode === "readonly") return yield* fail(`${filename} is empty; make an index with \`clew index PATH\``)
      return { raw, header: undefined }
    }
    const header = yield* trying(filename, () => headerOf(raw.fd))
    if (header === undefined || header.applicationId !== applicationId) return yield* notOurs(filename)
    if (header.userVersion > schemaVersion) return yield* tooNew(filename, header.userVersion)
    if (!(yield* trying(filename, () => belongs(filename, raw.fd)))) return yield* fail(strangeWal(filename))
    return { raw, header }
  })

/** Refuses triggers and views, of which Clew makes none: SQLite would run what somebody else wrote into the file. */
export const withoutPrograms = (sql: Sql, filename: string) =>
  Effect.flatMap(
    retryBusy(first<string>(sql, "SELECT type FROM sqlite_schema WHERE type IN ('trigger', 'view')")),
    (type) =>
      type === undefined
        ? Effect.void
        : fail(
            `${filename} has a ${type}, which no Clew makes and which could falsify what is found, and was left ` +
              `untouched; do not use it unless you know who wrote that, and why`
          )
  )

type Checked<E = never> = Effect.Effect<void, E | SqlError | StoreUnavailable>

/** Checks around each transaction, so that no write to a lost file is acknowledged. */
interface Guard {
  /** Runs first in each transaction. */
  readonly reading: Checked
  /** The same, while the write lock is held. */
  readonly writing: Checked
  /** Runs after a commit; `again` runs a follow-up transaction. */
  readonly written: (again: (effect: Checked) => Checked) => Checked
}

export const unguarded: Guard = { reading: Effect.void, writing: Effect.void, written: () => Effect.void }

const moved = (filename: string): string =>
  `The index ${filename} was removed or replaced while it was open, and the write was not stored; try again`

const logGone = (filename: string): string =>
  `${filename}-wal was removed or replaced while ${filename} was open, and the write was not stored: it belongs to the ` +
  `index. Stop whatever has the index open, and run \`clew doctor\` before you go on`

const overwritten = (filename: string): string =>
  `The index ${filename} was overwritten in place while it was open. Stop whatever has it open, ` +
  `delete ${filename}-wal and ${filename}-shm, and restore a backup with \`clew restore\``

const newer = (filename: string, version: number): string =>
  `A newer Clew has migrated ${filename} to schema ${version}, but this one supports ${schemaVersion}: restart with the newer version`

/** The guard of a connection's transactions; each connection has its own state. */
export const guarding = (sql: Sql, filename: string, file: RawFile): Guard => {
  let [modified, size] = [-1n, 0n]
  let marked: string | undefined
  /** The WAL that this connection writes to; SQLite keeps it as long as it is open. */
  let log: Place | undefined

  const attempt = <A>(use: () => A) => trying(filename, use)

  const atItsPlace = Effect.flatMap(stated(filename), (stat) =>
    stat === undefined || !isSamePlace(stat, file) ? fail(moved(filename)) : Effect.succeed(stat)
  )

  // The file only changes when a WAL is copied back, so this check is rare.
  const asItWas = Effect.flatMap(atItsPlace, (stat) =>
    stat.mtimeNs === modified && stat.size === size
      ? Effect.void
      : Effect.gen(function* () {
          const mark = yield* first<string>(sql, "SELECT lower(hex(now)) AS now FROM file_mark")
          const shrunk = stat.size < size ? stat.size : undefined
          if (yield* attempt(() => wasOverwritten(filename, file.fd, { mark, shrunk }))) {
            return yield* fail(overwritten(filename))
          }
          modified = stat.mtimeNs
          size = stat.size
        })
  )

  const sameLog = Effect.flatMap(
    attempt(() => statOf(`${filename}-wal`)),
    (stat) => {
      if (log !== undefined && (stat === undefined || !isSamePlace(stat, log))) return fail(logGone(filename))
      log = stat
      return Effect.void
    }
  )

  const sameSchema = Effect.flatMap(only<number>(sql, "PRAGMA user_version"), (version) =>
    version === schemaVersion ? Effect.void : fail(newer(filename, version))
  )

  const mark = Effect.asVoid(sql.unsafe(markSql.next))
  const salt = attempt(() => walSalt(filename))
  let markedNow = false

  return {
    reading: asItWas,
    writing: Effect.gen(function* () {
      yield* asItWas
      yield* sameLog
      yield* sameSchema
      const before = yield* salt
      markedNow = before === undefined || before !== marked
      if (markedNow) yield* mark
    }),
    written: (again) =>
      Effect.gen(function* () {
        yield* atItsPlace
        const after = yield* salt
        // The commit began a new WAL.
        if (after !== marked && !markedNow) yield* again(mark)
        marked = after
      })
  }
}
