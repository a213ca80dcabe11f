import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import type { FileStamp } from "../../model/File.ts"

/** What stands at a path. */
export interface Entry {
  readonly type: "file" | "folder" | "link" | "special"
  readonly stamp: FileStamp
}

/** The operating system refused; `code` is its error code (`EACCES`). */
export class DiskFailure extends Data.TaggedError("DiskFailure")<{ readonly code: string; readonly detail: string }> {}

/** The file system, as a walk needs it. */
export interface FileTree {
  /** Names in a folder, unordered. */
  readonly names: (folder: string) => Effect.Effect<Array<string>, DiskFailure>
  /** What stands at each path, in the order of the paths; links are not followed. */
  readonly look: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Entry | DiskFailure>>
  /** What a path leads to, with links followed. */
  readonly follow: (path: string) => Effect.Effect<Entry, DiskFailure>
  /** The path without links. */
  readonly real: (path: string) => Effect.Effect<string, DiskFailure>
  readonly text: (file: string) => Effect.Effect<string, DiskFailure>
}

const failure = (error: NodeJS.ErrnoException) =>
  new DiskFailure({ code: error.code ?? "UNKNOWN", detail: error.message })

const entry = (stats: NodeFs.BigIntStats): Entry => ({
  type: stats.isFile() ? "file" : stats.isDirectory() ? "folder" : stats.isSymbolicLink() ? "link" : "special",
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

/** Milliseconds that the event loop may wait for a disk; then a thread does the rest. */
const lookMs = 3

const lookAt = (path: string): Entry | DiskFailure => {
  try {
    return entry(NodeFs.lstatSync(path, { bigint: true }))
  } catch (error) {
    return failure(error as NodeJS.ErrnoException)
  }
}

// node:fs instead of the platform's FileSystem, which cannot look at a link and takes an effect for each file.
const node: FileTree = {
  names: (folder) => call((done) => NodeFs.readdir(folder, done)),
  look: (paths) =>
    Effect.async((resume) => {
      const found = new Array<Entry | DiskFailure>(paths.length)
      // A synchronous call is faster than a thread if the system has the answer cached.
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

/** The file system to walk: the machine's own, unless a test replaces it. */
export class Disk extends Context.Reference<Disk>()("clew/Walker/Disk", { defaultValue: () => node }) {}

/** The reason in words. */
export const inWords = ({ code, detail }: DiskFailure): string =>
  code === "EACCES" || code === "EPERM"
    ? "permission denied"
    : code === "ENOENT"
      ? "no such file or folder"
      : code === "ELOOP"
        ? "links that lead back to themselves"
        : detail
