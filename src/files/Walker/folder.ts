import * as Effect from "effect/Effect"
import * as Path from "node:path"
import type { WalkEvent } from "../WalkEvent.ts"
import { type DiskFailure, inWords, type Reading } from "./Disk.ts"
import { byCodePoint } from "./order.ts"
import { Rules } from "./rules.ts"
import { emptyScope, enter, extend, type Found, type Scope } from "./scope.ts"

/** A folder to walk. */
export interface Folder {
  readonly root: string
  /** As events name it, through the links that led here. */
  readonly path: string
  /** Without links. */
  readonly real: string
  /** From the root: empty, or ending in `/`. */
  readonly below: string
  readonly scope: Scope
  /** Whether it, or a folder above it, matches `include`. */
  readonly included: boolean
}

/** A folder's names in order, and the problems on the way. */
export interface Opened {
  readonly folder: Folder
  readonly names: ReadonlyArray<string>
  readonly events: ReadonlyArray<WalkEvent>
}

export const join = (folder: string, name: string): string =>
  folder.endsWith(Path.sep) ? folder + name : folder + Path.sep + name

export const unreadable = (path: string, failure: DiskFailure): WalkEvent => ({
  _tag: "Unreadable",
  path,
  reason: inWords(failure)
})

const isAbsent = ({ code }: DiskFailure) => code === "ENOENT" || code === "ENOTDIR"

// Only regular files: reading a pipe of that name would never end.
const readRules = Effect.fnUntraced(
  function* (disk: Reading, path: string) {
    const { type } = yield* disk.follow(path)
    return { rules: type === "file" ? Rules.parse(yield* disk.text(path)) : undefined, events: [] }
  },
  (effect, _, path) =>
    Effect.catchAll(effect, (failure) =>
      Effect.succeed({ rules: undefined, events: isAbsent(failure) ? [] : [unreadable(path, failure)] })
    )
)

const readFound = Effect.fnUntraced(function* (
  disk: Reading,
  folder: string,
  has: { readonly git: boolean; readonly gitignore: boolean; readonly clewignore: boolean }
) {
  const none = { rules: undefined, events: [] }
  const clewignore = has.clewignore ? yield* readRules(disk, join(folder, ".clewignore")) : none
  const gitignore = has.gitignore ? yield* readRules(disk, join(folder, ".gitignore")) : none
  const exclude = has.git ? yield* readRules(disk, join(folder, ".git/info/exclude")) : none
  const brought: Found = {
    clewignore: clewignore.rules,
    gitignore: gitignore.rules,
    exclude: exclude.rules,
    isRepository: has.git
  }
  return { found: brought, events: [...clewignore.events, ...gitignore.events, ...exclude.events] }
})

/** The ignore files of a folder, and whether it is a repository. */
export const found = Effect.fnUntraced(function* (disk: Reading, folder: string) {
  const [git, gitignore, clewignore] = yield* disk.look(
    [".git", ".gitignore", ".clewignore"].map((each) => join(folder, each))
  )
  const isThere = (entry: typeof git) => entry !== undefined && !("code" in entry)
  const has = { git: isThere(git), gitignore: isThere(gitignore), clewignore: isThere(clewignore) }
  return (yield* readFound(disk, folder, has)).found
})

/**
 * The scope around a folder, without its own files: .clewignore of every folder above it, .gitignore of those above it in
 * its repository.
 */
export const scopeAbove = Effect.fnUntraced(function* (disk: Reading, folder: string) {
  const { root } = Path.parse(folder)
  const names = folder
    .slice(root.length)
    .split(Path.sep)
    .filter((name) => name !== "")
  const events: Array<WalkEvent> = []
  let scope = emptyScope
  let above = root
  let inRepository = false
  for (const name of names) {
    const [git, gitignore, clewignore] = yield* disk.look(
      [".git", ".gitignore", ".clewignore"].map((each) => join(above, each))
    )
    const isThere = (entry: typeof git) => entry !== undefined && !("code" in entry)
    inRepository ||= isThere(git)
    const { events: problems, found: brought } = yield* readFound(disk, above, {
      git: isThere(git),
      gitignore: inRepository && isThere(gitignore),
      clewignore: isThere(clewignore)
    })
    events.push(...problems)
    scope = enter(extend(scope, brought), name)
    above = join(above, name)
  }
  return { scope, events }
})

/** Reads a folder's names and ignore files; an unreadable folder has no names. */
export const open = Effect.fnUntraced(
  function* (disk: Reading, folder: Folder) {
    const names = yield* disk.names(folder.path)
    const { events, found: brought } = yield* readFound(disk, folder.path, {
      git: names.includes(".git"),
      gitignore: names.includes(".gitignore"),
      clewignore: names.includes(".clewignore")
    })
    const opened: Opened = {
      folder: { ...folder, scope: extend(folder.scope, brought) },
      names: names.sort(byCodePoint),
      events
    }
    return opened
  },
  (effect, _, folder) =>
    Effect.catchAll(effect, (failure) =>
      // Deleted since its name was read.
      Effect.succeed<Opened>({
        folder,
        names: [],
        events: isAbsent(failure) ? [] : [unreadable(folder.path, failure)]
      })
    )
)
