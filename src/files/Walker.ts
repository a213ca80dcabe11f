import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Path from "node:path"
import { isBelow } from "./below.ts"
import type { FileStamp } from "../model/File.ts"
import type { SkipReason, WalkEvent, WalkOptions } from "./WalkEvent.ts"
import { Disk, DiskFailure, type Entry, inWords, isAbsent, leadingOut, type FileTree } from "./Disk.ts"
import {
  emptyScope,
  enter,
  type Folder,
  join,
  open,
  type Opened,
  type Scope,
  scopeAbove,
  scopeIn,
  unreadable,
  verdictOn
} from "./Walker/folder.ts"
import { type Glob, patterns } from "./globs.ts"
import { generated } from "./Walker/names.ts"

interface Root {
  readonly path: string
  readonly real: string
}

/** The given paths, by what stands there. */
interface Roots {
  readonly files: ReadonlyArray<Root & { readonly stamp: FileStamp }>
  readonly folders: ReadonlyArray<Root>
  readonly problems: ReadonlyArray<WalkEvent>
}

const problem = (path: string, failure: DiskFailure): WalkEvent =>
  isAbsent(failure) ? { _tag: "Unreadable", path, reason: "no such file or folder" } : unreadable(path, failure)

const outside = (path: string): WalkEvent => ({ _tag: "Unreadable", path, reason: leadingOut })

const look = Effect.fnUntraced(
  function* (disk: FileTree, path: string, within: WalkOptions["within"]) {
    const { stamp, type } = yield* disk.follow(path)
    const root = { path, real: yield* disk.real(path) }
    if (within !== undefined && !isBelow(root.real, within)) return { problems: [outside(path)] }
    return type === "file"
      ? { files: [{ ...root, stamp }] }
      : type === "folder"
        ? { folders: [root] }
        : { problems: [{ _tag: "Skipped", path, reason: "special" } satisfies WalkEvent] }
  },
  (effect, _, path) => Effect.catchAll(effect, (failure) => Effect.succeed({ problems: [problem(path, failure)] }))
)

/** Looks at the given paths; relative ones start at the working directory. */
const resolve = (disk: FileTree, { paths, within }: WalkOptions): Effect.Effect<Roots> =>
  Effect.map(
    Effect.forEach(paths, (path) => look(disk, Path.resolve(path), within), { concurrency: 16 }),
    (each: ReadonlyArray<Partial<Roots>>) => ({
      files: each.flatMap(({ files = [] }) => files),
      folders: each.flatMap(({ folders = [] }) => folders),
      problems: each.flatMap(({ problems = [] }) => problems)
    })
  )

/** Adds to a set; false if it was there. */
const isNew = (set: Set<string>, one: string): boolean => set.size < set.add(one).size

/** Where a walk has been, by paths without links, so that it goes nowhere twice. It stores only the exceptions. */
class Seen {
  /** Folders at which the walk of a root, or behind a link, has started. */
  readonly started = new Set<string>()
  readonly passedOver = new Set<string>()
  /** Files that were reached by their own path or by a link. */
  readonly files = new Set<string>()

  constructor(private readonly roots: ReadonlyArray<string>) {}

  /** Whether the walk of a folder above has passed, or will pass, through this one. */
  covers(folder: string): boolean {
    for (let at = folder; ; at = Path.dirname(at)) {
      if (this.passedOver.has(at)) return false
      if (this.started.has(at)) return true
      if (at === Path.dirname(at)) return false
    }
  }

  /** Whether a folder contains a root, so that following a link to it would lead back up. */
  holdsRoot(folder: string): boolean {
    return this.roots.some((root) => isBelow(root, [folder]))
  }
}

/** A symbolic link, to be followed after everything at its own place has been walked. */
interface Link {
  readonly folder: Folder
  readonly name: string
}

/** What a name is: something to report, or a folder to enter. */
type Found = WalkEvent | { readonly _tag: "Folder"; readonly folder: Folder }

/** Decides on each entry of a folder. */
class Sorter {
  readonly #include: Glob | undefined
  readonly #exclude: Glob

  constructor(
    private readonly disk: FileTree,
    private readonly seen: Seen,
    private readonly links: Array<Link>,
    private readonly options: WalkOptions
  ) {
    const { exclude = [], include = [] } = options
    this.#include = include.some((pattern) => pattern.trim() !== "") ? patterns(include) : undefined
    this.#exclude = patterns(exclude)
  }

  /** Decides on a folder's names, in order; links are deferred. */
  sort(folder: Folder, names: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<Found>> {
    return Effect.map(this.disk.look(names.map((name) => join(folder.path, name))), (entries) =>
      entries.flatMap((entry, i) => {
        const found = this.#decide(folder, names[i]!, entry)
        return found === undefined ? [] : [found]
      })
    )
  }

  /** A given file is read whatever hides it elsewhere; only the given globs apply. */
  given({ path, real, stamp }: Root & { readonly stamp: FileStamp }): Array<WalkEvent> {
    const name = Path.basename(path)
    if (this.#exclude(name, name, false) || this.#include?.(name, name, false) === false) {
      return [{ _tag: "Skipped", path, reason: "excluded" }]
    }
    return isNew(this.seen.files, real) ? [{ _tag: "File", path, stamp, isNamed: true }] : []
  }

  /** Decides on a link's target. */
  follow({ folder, name }: Link): Effect.Effect<Found> {
    const path = join(folder.path, name)
    return Effect.all([this.disk.follow(path), this.disk.real(path)]).pipe(
      Effect.map(([entry, real]) => this.#followed(folder, name, entry, real)),
      Effect.catchAll((failure) =>
        Effect.succeed<WalkEvent>({
          _tag: "Unreadable",
          path,
          reason: failure.code === "ENOENT" ? "a link to nothing" : inWords(failure)
        })
      )
    )
  }

  #decide(folder: Folder, name: string, entry: Entry | DiskFailure): Found | undefined {
    const path = join(folder.path, name)
    if (entry instanceof DiskFailure) {
      if (entry.code !== "ENOENT") return unreadable(path, entry)
      // Names come as text, and one that is not UTF-8 does not lead back to its file. Others have gone meanwhile.
      return name.includes("\ufffd") ? { _tag: "Unreadable", path, reason: "its name is not UTF-8" } : undefined
    }
    const isFolder = entry.type === "folder"
    const real = join(folder.real, name)
    const reason = this.#whyNot(folder, name, isFolder) ?? (entry.type === "special" ? "special" : undefined)
    if (reason !== undefined) {
      if (isFolder) this.seen.passedOver.add(real)
      return { _tag: "Skipped", path, reason }
    }
    if (entry.type === "link") {
      this.links.push({ folder, name })
      return undefined
    }
    if (isFolder) {
      return this.seen.started.has(real) ? undefined : { _tag: "Folder", folder: this.#within(folder, name, real) }
    }
    const byName = this.#byName(folder, name)
    if (byName !== undefined) return { _tag: "Skipped", path, reason: byName }
    if (this.seen.files.has(real)) return undefined
    return { _tag: "File", path, stamp: entry.stamp, isNamed: this.#isNamed(folder, name) }
  }

  #followed(folder: Folder, name: string, { stamp, type }: Entry, real: string): Found {
    const path = join(folder.path, name)
    const skipped = (reason: SkipReason): WalkEvent => ({ _tag: "Skipped", path, reason })
    if (this.options.within !== undefined && !isBelow(real, this.options.within)) return outside(path)
    if (type === "folder") {
      const reason = this.#whyNot(folder, name, true)
      if (reason !== undefined) return skipped(reason)
      const leadsUp = this.seen.holdsRoot(real) || isBelow(folder.real, [real])
      if (leadsUp || this.seen.covers(real) || !isNew(this.seen.started, real)) return skipped("link")
      return { _tag: "Folder", folder: this.#within(folder, name, real) }
    }
    if (type !== "file") return skipped("special")
    const byName = this.#byName(folder, name)
    if (byName !== undefined) return skipped(byName)
    if (this.seen.covers(Path.dirname(real)) || !isNew(this.seen.files, real)) return skipped("link")
    return { _tag: "File", path, stamp, isNamed: this.#isNamed(folder, name) }
  }

  #whyNot(folder: Folder, name: string, isFolder: boolean): SkipReason | undefined {
    const verdict = verdictOn(folder.scope, name, isFolder)
    const isIncluded = verdict === "generated" && this.#include?.(folder.below + name, name, true) === true
    const reason = isIncluded ? undefined : verdict
    return reason ?? (this.#exclude(folder.below + name, name, isFolder) ? "excluded" : undefined)
  }

  /** A file whose own name is included is read, even if a program wrote it. */
  #byName(folder: Folder, name: string): SkipReason | undefined {
    if (this.#isNamed(folder, name)) return undefined
    return folder.included || this.#include === undefined ? generated(name, folder.scope.builder) : "excluded"
  }

  #isNamed(folder: Folder, name: string): boolean {
    return this.#include?.(folder.below + name, name, false) === true
  }

  #within(folder: Folder, name: string, real: string): Folder {
    const below = folder.below + name
    return {
      path: join(folder.path, name),
      real,
      below: `${below}/`,
      scope: enter(folder.scope, name),
      included: folder.included || this.#include?.(below, name, true) === true
    }
  }
}

/** Entries checked together. */
const batch = 128
/** Folders opened ahead: enough to keep the disk busy, few enough to hold. */
const ahead = 8
/** Events emitted together. */
const handful = 256

/** A folder on the way down, with the results of its last batch of names. */
interface Frame extends Opened {
  next: number
  found: ReadonlyArray<Found>
  turn: number
  readonly opened: Map<Found, Opened>
}

/**
 * The files below the given paths, each once: first the files among the paths, then each folder's entries by code point,
 * then the targets of symbolic links. Memory does not grow with the number of files. docs/loading.md has the rules.
 */
export const walk = (options: WalkOptions): Stream.Stream<WalkEvent> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const disk = yield* Disk
      const roots = yield* resolve(disk, options)
      const seen = new Seen(roots.folders.map(({ real }) => real))
      const links: Array<Link> = []
      const sorter = new Sorter(disk, seen, links, options)
      const stack: Array<Frame> = []
      let root = 0
      let link = 0

      const push = (opened: Opened, out: Array<WalkEvent>) => {
        out.push(...opened.events)
        stack.push({ ...opened, next: 0, found: [], turn: 0, opened: new Map() })
      }

      const openNext = Effect.fnUntraced(function* (top: Frame) {
        const next: Array<Found & { readonly _tag: "Folder" }> = []
        for (let i = top.turn; i < top.found.length && next.length < ahead; i++) {
          const found = top.found[i]!
          if (found._tag === "Folder") next.push(found)
        }
        const opened = yield* Effect.forEach(next, ({ folder }) => open(disk, folder), { concurrency: ahead })
        for (const [i, found] of next.entries()) top.opened.set(found, opened[i]!)
      })

      /** Advances one step in the deepest folder. */
      const advance = Effect.fnUntraced(function* (top: Frame, out: Array<WalkEvent>) {
        const found = top.found[top.turn]
        if (found === undefined) {
          if (top.next >= top.names.length) return void stack.pop()
          top.found = yield* sorter.sort(top.folder, top.names.slice(top.next, top.next + batch))
          top.next += batch
          top.turn = 0
        } else if (found._tag === "Folder") {
          if (!top.opened.has(found)) yield* openNext(top)
          const opened = top.opened.get(found)!
          top.opened.delete(found)
          top.turn++
          push(opened, out)
        } else {
          top.turn++
          out.push(found)
        }
      })

      const startRoot = Effect.fnUntraced(function* (path: string, real: string, out: Array<WalkEvent>) {
        if (seen.covers(real) || !isNew(seen.started, real)) return
        const { events: problems, scope } = yield* scopeAbove(disk, real)
        out.push(...problems)
        const folder: Folder = { path, real, below: "", scope, included: false }
        push(yield* open(disk, folder), out)
      })

      const followLink = Effect.fnUntraced(function* (each: Link, out: Array<WalkEvent>) {
        const found = yield* sorter.follow(each)
        if (found._tag === "Folder") push(yield* open(disk, found.folder), out)
        else out.push(found)
      })

      const step = Effect.gen(function* () {
        const out: Array<WalkEvent> = []
        while (out.length < handful) {
          const top = stack.at(-1)
          if (top !== undefined) yield* advance(top, out)
          else if (root < roots.folders.length) {
            const { path, real } = roots.folders[root++]!
            yield* startRoot(path, real, out)
          } else if (link < links.length) yield* followLink(links[link++]!, out)
          else break
        }
        return out.length === 0 ? yield* Effect.fail(Option.none()) : Chunk.unsafeFromArray(out)
      })

      const given = roots.files.flatMap((file): Array<WalkEvent> => sorter.given(file))
      return Stream.concat(Stream.fromIterable([...roots.problems, ...given]), Stream.repeatEffectChunkOption(step))
    })
  )

interface Judged {
  readonly scope: Scope
  readonly reason: SkipReason | undefined
  /** Whether all rules down to here could be read. */
  readonly isKnown: boolean
}

const judgeFolder = Effect.fnUntraced(function* (disk: FileTree, scope: Scope, folder: string) {
  const own = yield* scopeIn(disk, folder, scope)
  return { scope: own.scope, reason: undefined, isKnown: own.events.length === 0 } satisfies Judged
})

/** Why a walk from the root skips a file below it, by names and ignore files alone; reads each ignore file once. */
export const whyPassedOver = (
  root: string,
  include: ReadonlyArray<string>
): ((path: string) => Effect.Effect<SkipReason | undefined>) => {
  const folders = new Map<string, Judged>()
  const included = patterns(include)

  const judged = Effect.fnUntraced(function* (disk: FileTree, folder: string) {
    const real = yield* Effect.orElseSucceed(disk.real(root), () => root)
    let at = root
    let current = folders.get(root)
    if (current === undefined) {
      const { events, scope } = yield* scopeAbove(disk, real)
      const own = yield* judgeFolder(disk, scope, root)
      current = { ...own, isKnown: own.isKnown && events.length === 0 }
      folders.set(root, current)
    }
    for (const name of Path.relative(root, folder).split(Path.sep)) {
      if (name === "" || name === "..") break
      at = Path.join(at, name)
      let next = folders.get(at)
      if (next === undefined) {
        const reason: SkipReason | undefined = current.reason ?? verdictOn(current.scope, name, true)
        next = !current.isKnown
          ? current
          : reason === undefined
            ? yield* judgeFolder(disk, enter(current.scope, name), at)
            : { scope: emptyScope, reason, isKnown: true }
        folders.set(at, next)
      }
      current = next
    }
    return current
  })

  return Effect.fnUntraced(function* (path: string) {
    if (path === root) return undefined
    const name = Path.basename(path)
    const { isKnown, reason, scope } = yield* judged(yield* Disk, Path.dirname(path))
    // Rules that cannot be read might bring it back.
    if (!isKnown) return undefined
    if (reason !== undefined) return reason
    return (
      verdictOn(scope, name, false) ??
      (included(Path.relative(root, path).replaceAll(Path.sep, "/"), name, false)
        ? undefined
        : generated(name, scope.builder))
    )
  })
}
