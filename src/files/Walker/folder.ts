import * as Effect from "effect/Effect"
import * as Path from "node:path"
import { byCodePoint } from "../../model/units.ts"
import type { WalkEvent } from "../WalkEvent.ts"
import { IgnoreRules } from "../globs.ts"
import { addedFolders, type Builder, builders } from "./names.ts"
import { Disk, DiskFailure, inWords, isAbsent, type FileTree } from "../Disk.ts"

interface Placed {
  readonly rules: IgnoreRules
  /** Names from the rules' folder to the judged one. */
  readonly below: ReadonlyArray<string>
}

/** The rules for the entries of a folder, nearest first. */
export interface Scope {
  readonly clew: ReadonlyArray<Placed>
  readonly git: ReadonlyArray<Placed>
  /** What wrote the folder's pages, and put its own files beside them. */
  readonly builder: Builder | undefined
}

export const emptyScope: Scope = { clew: [], git: [], builder: undefined }

const descend = (above: ReadonlyArray<Placed>, name: string): ReadonlyArray<Placed> =>
  above.map(({ below, rules }) => ({ rules, below: [...below, name] }))

/** The scope of a folder inside the folder of `above`. */
export const enter = (above: Scope, name: string): Scope => ({
  clew: descend(above.clew, name),
  git: descend(above.git, name),
  builder: undefined
})

/** A folder that is entered although rules ignore it does not hide what is in it: each entry is judged by itself. */
const ask = (placed: ReadonlyArray<Placed>, name: string, isFolder: boolean) => {
  for (const { below, rules } of placed) {
    const verdict = rules.test([...below, name], isFolder)
    if (verdict !== "none") return verdict
  }
  return "none"
}

/**
 * Why an entry is skipped, if it is. .clewignore always wins over .gitignore, and only it can bring back hidden entries;
 * either can bring back node_modules, and the sources beside pages that Sphinx built from them.
 */
export const verdictOn = (
  scope: Scope,
  name: string,
  isFolder: boolean
): "hidden" | "ignored" | "generated" | undefined => {
  const own = ask(scope.clew, name, isFolder)
  if (own === "ignored") return "ignored"
  if (name === ".git") return "hidden"
  if (own === "included") return undefined
  if (name.startsWith(".")) return "hidden"
  const git = ask(scope.git, name, isFolder)
  if (git !== "none") return git === "ignored" ? "ignored" : undefined
  if (isFolder && name === "node_modules") return "ignored"
  return isFolder && scope.builder !== undefined && addedFolders[scope.builder].has(name) ? "generated" : undefined
}

/** A folder to walk. */
export interface Folder {
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

const leavingOut = (event: WalkEvent): WalkEvent =>
  event._tag === "Unreadable" ? { ...event, reason: `${event.reason}, so the rest of its folder is left out` } : event

interface Read {
  /** None, or those of the one file. */
  readonly rules: ReadonlyArray<Placed>
  readonly events: ReadonlyArray<WalkEvent>
}

const nothing: Read = { rules: [], events: [] }

/** Each entry is compared with each pattern. Projects have hundreds, in a few KiB. */
const mostPatterns = 10_000
const mostBytes = 256 * 1024

// Only regular files: reading a pipe of that name would never end.
const readRules = Effect.fnUntraced(
  function* (disk: FileTree, path: string): Effect.fn.Return<Read, DiskFailure> {
    const { stamp, type } = yield* disk.follow(path)
    if (type !== "file") return nothing
    if (stamp.size > mostBytes) return yield* new DiskFailure({ code: "", detail: "it has more than 256 KiB" })
    const rules = new IgnoreRules(yield* disk.text(path))
    if (rules.size > mostPatterns) {
      return yield* new DiskFailure({ code: "", detail: `it has more than ${mostPatterns} patterns` })
    }
    return { rules: [{ rules, below: [] }], events: [] }
  },
  (effect, _, path) =>
    Effect.catchAll(effect, (failure) =>
      Effect.succeed(isAbsent(failure) ? nothing : { rules: [], events: [unreadable(path, failure)] })
    )
)

/** The file that a line of a small file names, as git writes it. */
const named = Effect.fnUntraced(function* (disk: FileTree, file: string, label: string) {
  const { stamp, type } = yield* disk.follow(file)
  const text = type === "file" && stamp.size <= 64 * 1024 ? (yield* disk.text(file)).trimEnd() : ""
  return text.length > label.length && text.startsWith(label)
    ? Path.resolve(Path.dirname(file), text.slice(label.length))
    : undefined
})

/** A repository's `info/exclude`. Of a linked worktree, or a submodule, `.git` is a file that names the repository's folder. */
const excludeOf = Effect.fnUntraced(
  function* (disk: FileTree, folder: string) {
    const git = join(folder, ".git")
    const own = (yield* named(disk, git, "gitdir: ")) ?? git
    const common = yield* Effect.orElseSucceed(named(disk, join(own, "commondir"), ""), () => undefined)
    return join(common ?? own, "info/exclude")
  },
  (effect, _, folder) => Effect.orElseSucceed(effect, () => join(folder, ".git/info/exclude"))
)

/** Whether a folder has an entry of this name. */
type Has = (name: string) => boolean

/** The same for the names that `inside` asks for. */
const has = Effect.fnUntraced(function* (disk: FileTree, folder: string): Effect.fn.Return<Has> {
  const names = [".git", ".gitignore", ".clewignore", ...Object.values(builders).flat()]
  const entries = yield* disk.look(names.map((each) => join(folder, each)))
  // What cannot be looked at may be there; reading it says why it cannot.
  const there = new Set(names.filter((_, i) => !("code" in entries[i]! && isAbsent(entries[i]))))
  return (name) => there.has(name)
})

/** The scope of a folder's entries, and what of its rules could not be read. Git's rules end at their repository. */
const inside = Effect.fnUntraced(function* (disk: FileTree, folder: string, scope: Scope, has: Has) {
  const read = (name: string) => (has(name) ? readRules(disk, join(folder, name)) : Effect.succeed(nothing))
  const clewignore = yield* read(".clewignore")
  const gitignore = yield* read(".gitignore")
  const isRepository = has(".git")
  const exclude = isRepository ? yield* readRules(disk, yield* excludeOf(disk, folder)) : nothing
  const within: Scope = {
    clew: [...clewignore.rules, ...scope.clew],
    git: [...gitignore.rules, ...exclude.rules, ...(isRepository ? [] : scope.git)],
    builder: (Object.keys(builders) as ReadonlyArray<Builder>).find((builder) => builders[builder].some(has))
  }
  const hidden = [...clewignore.events, ...gitignore.events]
  return { scope: within, events: [...hidden, ...exclude.events], isClosed: hidden.length > 0 }
})

/** The same for a folder whose names are not known. */
export const scopeIn = Effect.fnUntraced(function* (disk: FileTree, folder: string, scope: Scope) {
  return yield* inside(disk, folder, scope, yield* has(disk, folder))
})

/** The scope around a folder: .clewignore of every folder above it, .gitignore of those in its repository. */
export const scopeAbove = Effect.fnUntraced(function* (disk: FileTree, folder: string) {
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
    const there = yield* has(disk, above)
    inRepository ||= there(".git")
    const counts: Has = (file) => there(file) && (inRepository || file !== ".gitignore")
    const own = yield* inside(disk, above, scope, counts)
    events.push(...own.events)
    scope = enter(own.scope, name)
    above = join(above, name)
  }
  return { scope, events }
})

/**
 * Files that are not below a root, and whose rules hold there: the ignore files of the folders above it in its repository,
 * which may not exist, those that exist further up, and the repository's `info/exclude`.
 */
export const rulesAround = Effect.fnUntraced(function* (root: string) {
  const disk = yield* Disk
  const above: Array<string> = []
  const existing: Array<string> = []
  let own: ReadonlyArray<string> = []
  let folder = yield* Effect.orElseSucceed(disk.real(root), () => root)
  for (let below = ""; folder !== below;) {
    const there = yield* has(disk, folder)
    if (below !== "") above.push(join(folder, ".gitignore"), join(folder, ".clewignore"))
    if (below !== "" && there(".clewignore")) existing.push(join(folder, ".clewignore"))
    if (there(".git") && own.length === 0) own = [...above, yield* excludeOf(disk, folder)]
    below = folder
    folder = Path.dirname(folder)
  }
  return [...new Set([...own, ...existing])]
})

/**
 * Reads a folder's names and ignore files. An unreadable folder has no names, nor one whose ignore files cannot be read:
 * they may say what nobody should find.
 */
export const open = Effect.fnUntraced(
  function* (disk: FileTree, folder: Folder) {
    const names = yield* disk.names(folder.path)
    const { events, isClosed, scope } = yield* inside(disk, folder.path, folder.scope, (name) => names.includes(name))
    const opened: Opened = {
      folder: { ...folder, scope },
      names: isClosed ? [] : names.sort(byCodePoint),
      events: isClosed ? events.map(leavingOut) : events
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
