import * as Effect from "effect/Effect"
import * as Path from "node:path"
import type { FileStamp } from "../../model/File.ts"
import type { WalkEvent } from "../WalkEvent.ts"
import type { DiskFailure, Reading } from "./Disk.ts"
import { unreadable } from "./folder.ts"

export interface Root {
  readonly path: string
  readonly real: string
}

/** The given paths, by what stands there. */
export interface Roots {
  readonly files: ReadonlyArray<Root & { readonly stamp: FileStamp }>
  readonly folders: ReadonlyArray<Root>
  readonly problems: ReadonlyArray<WalkEvent>
}

const problem = (path: string, failure: DiskFailure): WalkEvent =>
  failure.code === "ENOENT" || failure.code === "ENOTDIR"
    ? { _tag: "RootMissing", path, reason: "no such file or folder" }
    : unreadable(path, failure)

const look = Effect.fnUntraced(
  function* (disk: Reading, path: string) {
    const { stamp, type } = yield* disk.follow(path)
    const root = { path, real: yield* disk.real(path) }
    return type === "file"
      ? { files: [{ ...root, stamp }] }
      : type === "folder"
        ? { folders: [root] }
        : { problems: [{ _tag: "Skipped", path, reason: "special" } satisfies WalkEvent] }
  },
  (effect, _, path) => Effect.catchAll(effect, (failure) => Effect.succeed({ problems: [problem(path, failure)] }))
)

/** Looks at the given paths; relative ones start at the working directory. */
export const resolve = (disk: Reading, paths: ReadonlyArray<string>): Effect.Effect<Roots> =>
  Effect.map(
    Effect.forEach(paths, (path) => look(disk, Path.resolve(path)), { concurrency: 16 }),
    (each: ReadonlyArray<Partial<Roots>>) => ({
      files: each.flatMap(({ files = [] }) => files),
      folders: each.flatMap(({ folders = [] }) => folders),
      problems: each.flatMap(({ problems = [] }) => problems)
    })
  )
