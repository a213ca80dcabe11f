import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as NodeFs from "node:fs"
import type { FileStamp } from "../model/File.ts"

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
  /** Opens a file to be read, until the scope closes. */
  readonly open: (path: string) => Effect.Effect<OpenFile, DiskFailure, Scope.Scope>
}

/** An open file; another may stand at its path by now. */
export interface OpenFile {
  readonly entry: Entry
  /** Its path without links. */
  readonly real: Effect.Effect<string, DiskFailure>
  /** Reads from a position on; how many bytes, 0 at the end. */
  readonly read: (into: Uint8Array, position: number) => Effect.Effect<number, DiskFailure>
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

const real = (path: string) => call<string>((done) => NodeFs.realpath.native(path, done))

const statOf = (file: string | number) =>
  call<NodeFs.BigIntStats>((done) =>
    typeof file === "number" ? NodeFs.fstat(file, { bigint: true }, done) : NodeFs.stat(file, { bigint: true }, done)
  )

/** Waits for no writer of a pipe that has come to stand at the path. */
const waitless = NodeFs.constants.O_RDONLY | (NodeFs.constants.O_NONBLOCK ?? 0)

/** Ends with its caller although a dead drive never answers; what is opened nevertheless is closed with the scope. */
const descriptorOf = Effect.fnUntraced(function* (path: string) {
  let descriptor: number | undefined
  let isClosed = false
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isClosed = true
      // Not waited for: reads that are never answered may hold all threads.
      if (descriptor !== undefined) NodeFs.close(descriptor)
    })
  )
  return yield* call<number>((done) => {
    const opened = (error: NodeJS.ErrnoException | null, found: number) => {
      // Whoever holds a lease on the file must be waited for, as Samba.
      if (error?.code === "EAGAIN") NodeFs.open(path, "r", kept)
      else kept(error, found)
    }
    const kept = (error: NodeJS.ErrnoException | null, found: number) => {
      if (error === null && isClosed) return NodeFs.close(found)
      descriptor = error === null ? found : undefined
      done(error, found)
    }
    NodeFs.open(path, waitless, opened)
  })
})

const open = Effect.fnUntraced(function* (path: string) {
  const descriptor = yield* descriptorOf(path)
  const stats = yield* statOf(descriptor)
  // Linux tells it of the open file. Elsewhere the path is followed again, and must lead to the same file.
  const followed = Effect.gen(function* () {
    const found = yield* real(path)
    const now = yield* statOf(found)
    return stats.ino === now.ino ? found : ""
  })
  return {
    entry: entry(stats),
    real: Effect.orElse(
      call<string>((done) => NodeFs.readlink(`/proc/self/fd/${descriptor}`, done)),
      () => followed
    ),
    read: (into, position) => call((done) => NodeFs.read(descriptor, into, 0, into.length, position, done))
  } satisfies OpenFile
})

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
  follow: (path) => Effect.map(statOf(path), entry),
  real,
  text: (file) => call((done) => NodeFs.readFile(file, { encoding: "utf8", flag: waitless as never }, done)),
  open
}

/** The file system to walk: the machine's own, unless a test replaces it. */
export class Disk extends Context.Reference<Disk>()("clew/files/Disk", { defaultValue: () => node }) {}

/** Whether nothing has this path. */
export const isAbsent = ({ code }: DiskFailure): boolean => code === "ENOENT" || code === "ENOTDIR"

/** The reason in words. */
export const inWords = ({ code, detail }: Pick<DiskFailure, "code" | "detail">): string =>
  code === "EACCES" || code === "EPERM"
    ? "permission denied"
    : code === "ENOENT"
      ? "no such file or folder"
      : code === "ELOOP"
        ? "links that lead back to themselves"
        : detail

/** Why what a path leads to is not read. */
export const leadingOut = "it leads out of the folders that may be read"
