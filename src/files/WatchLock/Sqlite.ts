import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { dirname } from "node:path"
import { StoreUnavailable } from "../../Store.ts"
import { WatchLock, WatchTaken } from "../WatchLock.ts"
import { attempt } from "../../model/attempt.ts"

interface Row {
  readonly pid: number
  readonly paths: string
}

const holder = (database: Sqlite.Database): WatchTaken => {
  const row = attempt(() => database.prepare<[], Row>("SELECT pid, paths FROM holder").get())
  return new WatchTaken({ pid: row?.pid, paths: attempt(() => row && (JSON.parse(row.paths) as Array<string>)) ?? [] })
}

/** Creates the file for those who may write to the index: root may be the first to watch for somebody else's. */
const create = (file: string, index: string): void => {
  try {
    // Where the index is on a server, nothing has made the folder.
    fs.mkdirSync(dirname(file), { recursive: true })
    const descriptor = fs.openSync(file, "wx", 0o600)
    try {
      const { gid, mode, uid } = fs.statSync(index)
      fs.fchmodSync(descriptor, mode & 0o666)
      fs.fchownSync(descriptor, uid, gid)
    } finally {
      fs.closeSync(descriptor)
    }
  } catch {
    // It is there, or SQLite says why it cannot be.
  }
}

const inWords = (error: Error): string =>
  "code" in error && error.code === "SQLITE_READONLY"
    ? "belongs to another user; delete it, if no process follows files for this index"
    : error.message

/** Takes the write lock of a small database beside the index. The system releases it however the process ends. */
const open = (file: string, index: string, paths: ReadonlyArray<string>): Sqlite.Database | WatchTaken => {
  create(file, index)
  const database = new Sqlite(file, { timeout: 0 })
  try {
    database.exec("BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS holder (pid INTEGER NOT NULL, paths TEXT NOT NULL)")
    database.exec("DELETE FROM holder")
    database.prepare("INSERT INTO holder VALUES (?, ?)").run(process.pid, JSON.stringify(paths))
    // The holder's row must be committed before others can read it; whoever takes the lock in between holds it.
    database.exec("COMMIT; BEGIN IMMEDIATE")
    return database
  } catch (error) {
    const taken = (error as { readonly code?: string }).code?.startsWith("SQLITE_BUSY") === true
    const found = taken ? holder(database) : undefined
    database.close()
    if (found === undefined) throw error
    return found
  }
}

const fileOf = (index: string, root: string): string =>
  `${index}-watch-${createHash("sha256").update(root).digest("hex").slice(0, 8)}`

/** A lock is a file beside the index for each path, so that processes that follow other paths need not wait. */
export const layer = (index: string) => {
  const takeOne = (file: string, paths: ReadonlyArray<string>) =>
    Effect.acquireRelease(
      Effect.flatMap(
        Effect.try({
          try: () => open(file, index, paths),
          catch: (error) => new StoreUnavailable({ reason: `${file}: ${inWords(error as Error)}` })
        }),
        (opened) => (opened instanceof WatchTaken ? opened : Effect.succeed(opened))
      ),
      (database) => Effect.sync(() => database.close())
    )
  return Layer.succeed(WatchLock, {
    take: (paths) =>
      Effect.gen(function* () {
        const scope = yield* Effect.scope
        // Those that were taken before one that is not free must not keep others, or the next attempt, waiting.
        const own = yield* Scope.fork(scope, ExecutionStrategy.sequential)
        const files = new Set(paths.map((root) => fileOf(index, root)))
        yield* Effect.forEach([...files].sort(), (file) => takeOne(file, paths), { discard: true }).pipe(
          Scope.extend(own),
          Effect.onError((cause) => Scope.close(own, Exit.failCause(cause)))
        )
      })
  })
}

/** For an index that no other process can see. */
export const layerFree = Layer.succeed(WatchLock, { take: () => Effect.void })
