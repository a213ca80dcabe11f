import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import type { FileStamp } from "../../model/File.ts"

export type EntryType = "file" | "folder" | "link" | "special"

/** What stands at a path. */
export interface Entry {
  readonly type: EntryType
  readonly size: number
  readonly stamp: FileStamp
}

/** The operating system refused; `code` is its name for why (`EACCES`). */
export class DiskFailure extends Data.TaggedError("DiskFailure")<{ readonly code: string; readonly detail: string }> {}

/** What a walk asks of the file system. */
export interface Reading {
  /** Names in a folder, in no order. */
  readonly names: (folder: string) => Effect.Effect<Array<string>, DiskFailure>
  /** What stands at each path, links themselves, in the order of the paths. */
  readonly look: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Entry | DiskFailure>>
  /** What a path leads to, through links. */
  readonly follow: (path: string) => Effect.Effect<Entry, DiskFailure>
  /** The path without links. */
  readonly real: (path: string) => Effect.Effect<string, DiskFailure>
  readonly text: (file: string) => Effect.Effect<string, DiskFailure>
}

const failure = (error: NodeJS.ErrnoException) =>
  new DiskFailure({ code: error.code ?? "UNKNOWN", detail: error.message })

const entry = (stats: NodeFs.BigIntStats): Entry => ({
  type: stats.isFile() ? "file" : stats.isDirectory() ? "folder" : stats.isSymbolicLink() ? "link" : "special",
  size: Number(stats.size),
  stamp: {
    size: Number(stats.size),
    modified: String(stats.mtimeNs),
    changed: String(stats.ctimeNs),
    inode: String(stats.ino)
  }
})

const call = <A>(run: (done: (error: NodeJS.ErrnoException | null, value: A) => void) => void) =>
  Effect.async<A, DiskFailure>((resume) =>
    run((error, value) => resume(error === null ? Effect.succeed(value) : failure(error)))
  )

/** Milliseconds that the event loop may wait for a disk; what is not told by then is asked of a thread. */
const lookMs = 3

const lookAt = (path: string): Entry | DiskFailure => {
  try {
    return entry(NodeFs.lstatSync(path, { bigint: true }))
  } catch (error) {
    return failure(error as NodeJS.ErrnoException)
  }
}

// node:fs rather than the platform's FileSystem, which cannot look at a link and takes an effect for each file.
const node: Reading = {
  names: (folder) => call((done) => NodeFs.readdir(folder, done)),
  look: (paths) =>
    Effect.async((resume) => {
      const found = new Array<Entry | DiskFailure>(paths.length)
      // What the system has in memory it tells sooner than a thread that is asked for it.
      const until = performance.now() + lookMs
      let next = 0
      for (; next < paths.length && performance.now() < until; next++) found[next] = lookAt(paths[next]!)
      let left = paths.length - next
      if (left === 0) return resume(Effect.succeed(found))
      for (; next < paths.length; next++) {
        const index = next
        NodeFs.lstat(paths[index]!, { bigint: true }, (error, stats) => {
          found[index] = error === null ? entry(stats) : failure(error)
          if (--left === 0) resume(Effect.succeed(found))
        })
      }
    }),
  follow: (path) =>
    Effect.map(
      call<NodeFs.BigIntStats>((done) => NodeFs.stat(path, { bigint: true }, done)),
      entry
    ),
  real: (path) => call((done) => NodeFs.realpath.native(path, done)),
  text: (file) => call((done) => NodeFs.readFile(file, "utf8", done))
}

/** The file system that is walked: the machine's own, unless a test says otherwise. */
export class Disk extends Context.Reference<Disk>()("clew/Walker/Disk", { defaultValue: () => node }) {}

/** Why the system refused, in words. */
export const inWords = ({ code, detail }: DiskFailure): string =>
  code === "EACCES" || code === "EPERM"
    ? "permission denied"
    : code === "ENOENT"
      ? "no such file or folder"
      : code === "ELOOP"
        ? "links that lead back to themselves"
        : detail
