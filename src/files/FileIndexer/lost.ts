import * as Clock from "effect/Clock"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import type { Store } from "../../Store.ts"
import type { CollectionName } from "../../model/Collection.ts"
import type { KnownFile } from "../../model/File.ts"
import type { FileEvent, LossReason } from "../FileEvent.ts"
import type { SkipReason } from "../WalkEvent.ts"
import { whyPassedOver } from "../Walker.ts"
import { isBelow, isWithinAnother } from "../below.ts"
import { attempt } from "../../model/attempt.ts"

/** Whether a file is certainly gone, or now a folder, a pipe or the like; a file that cannot be checked counts as present. */
const isAbsent = (file: string): boolean => {
  try {
    return fs.statSync(file, { throwIfNoEntry: false })?.isFile() !== true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOTDIR"
  }
}

/** A path without links; undefined where the system does not tell. */
const realOf = (file: string): string | undefined => attempt(() => fs.realpathSync(file))

/** Whether a folder around a file is one of these. */
const isWithin = (file: string, folders: ReadonlySet<string>): boolean => {
  if (folders.size === 0) return false
  for (let at = path.dirname(file); at !== path.dirname(at); at = path.dirname(at)) if (folders.has(at)) return true
  return false
}

/** Rules in files or by name. The caller's `include` and `exclude` apply to one run only. */
const lasting: ReadonlySet<SkipReason> = new Set(["ignored", "hidden", "generated", "lock file", "style sheet"])

export interface Lost {
  readonly path: string
  readonly reason: LossReason
  readonly documents: number
}

const pageSize = 2000

/**
 * Known files below the given paths that the run has not met and that are gone, now ignored, or links to what it has met. Leaves out files that
 * another run has met since this one began, and the files of a path that does not exist, unless another path has them.
 */
export const lost = (
  store: typeof Store.Service,
  run: {
    readonly collection: CollectionName
    readonly paths: ReadonlyArray<string>
    readonly include: ReadonlyArray<string>
    readonly number: number | undefined
    readonly met: ReadonlySet<number>
    readonly missing: ReadonlySet<string>
    /** Below the paths: what could not be read, such as a link to a folder on a disk that is away. */
    readonly unreadable: ReadonlySet<string>
    /** Called with the files known below each path, and those that this run, or a later one, met for the first time. */
    readonly count?: (root: string, known: number, fresh: number) => void
  }
) => {
  const there = [...new Set(run.paths)].filter((path) => !run.missing.has(path))
  const roots = there.filter((root) => !isWithinAnother(root, there))
  const away = [...run.missing].filter((path) => !isBelow(path, there))
  const isOurs = ({ run: last }: KnownFile) => run.number === undefined || last < run.number
  /** Whether this run met what a link at a path, or around it, leads to: the link itself is passed over. */
  const isLink = Effect.fnUntraced(function* (file: string, root: string, realRoot: string | undefined) {
    const real = realOf(file)
    if (real === undefined || realRoot === undefined) return false
    const target = isBelow(real, [realRoot]) ? root + real.slice(realRoot.length) : real
    if (target === file) return false
    const [known] = yield* store.knownFiles(run.collection, [target])
    return known !== undefined && (run.met.has(known.id) || !isOurs(known))
  })
  const below = (root: string) => {
    const why = whyPassedOver(root, run.include)
    const realRoot = realOf(root)
    const judge = Effect.fnUntraced(function* ({ documents, path }: KnownFile) {
      const lost = (reason: LossReason): Option.Option<Lost> => Option.some({ path, reason, documents })
      if (isBelow(path, away) || isWithin(path, run.unreadable)) return Option.none()
      if (isAbsent(path)) return lost("gone")
      const reason = yield* why(path)
      if (reason !== undefined && lasting.has(reason)) return lost(reason)
      return (yield* isLink(path, root, realRoot)) ? lost("link") : Option.none()
    })
    return Stream.paginateChunkEffect(
      undefined as string | undefined,
      Effect.fnUntraced(function* (after) {
        const page = yield* store.filesBelow(run.collection, root, { limit: pageSize, after })
        const unmet = page.flatMap(({ id, path }) => (run.met.has(id) ? [] : [path]))
        const known = unmet.length === 0 ? [] : yield* store.knownFiles(run.collection, unmet)
        const ours = known.filter(isOurs)
        run.count?.(root, page.length, known.length - ours.length)
        const judged = yield* Effect.forEach(ours, judge)
        const next = page.length < pageSize ? Option.none() : Option.fromNullable(page.at(-1)?.path)
        return [Chunk.unsafeFromArray(judged.flatMap(Option.toArray)), next] as const
      })
    )
  }
  return Stream.flatMap(Stream.fromIterable(roots), below).pipe(
    Stream.catchTag("CollectionNotFound", () => Stream.empty)
  )
}

/** How long after git has written its index what is gone counts as gone by it, in milliseconds. */
const recently = 600_000

/** Whether a folder is a repository in which git has just changed what is checked out, and is done. */
const isCheckedOut = (folder: string, now: number): boolean => {
  const index = path.join(folder, ".git", "index")
  const written = attempt(() => fs.statSync(index).mtimeMs)
  // Whatever takes files away locks the index meanwhile.
  return written !== undefined && now - written < recently && !fs.existsSync(`${index}.lock`)
}

/**
 * Forgets lost files and names them, except below a path with fewer than half of its files of the last run, unless git has
 * just taken them away: an empty mount point looks like a folder whose files were all deleted. Files moved within the path
 * do not count as missing, since as many new ones appear.
 */
export const holdingLosses = <E>(
  store: typeof Store.Service,
  run: Parameters<typeof lost>[1],
  forget: (files: Chunk.Chunk<Lost>) => Effect.Effect<FileEvent, E>
) =>
  Stream.unwrap(
    Effect.gen(function* () {
      const counts = new Map<string, { known: number; fresh: number }>()
      const count = (root: string, known: number, fresh: number) => {
        const sum = counts.get(root)
        counts.set(root, { known: known + (sum?.known ?? 0), fresh: fresh + (sum?.fresh ?? 0) })
      }
      const losses = Chunk.toReadonlyArray(yield* Stream.runCollect(lost(store, { ...run, count })))
      const held: Array<Extract<FileEvent, { readonly _tag: "Held" }>> = []
      const now = yield* Clock.currentTimeMillis
      for (const [path, { fresh, known }] of counts) {
        const gone = losses.filter((file) => file.reason === "gone" && isBelow(file.path, [path])).length
        const before = known - fresh
        if (gone > 0 && (known - gone) * 2 < before && !isCheckedOut(path, now))
          held.push({ _tag: "Held", path, files: before, gone })
      }
      const roots = held.map(({ path }) => path)
      const given = losses.filter(({ path }) => !isBelow(path, roots))
      return Stream.concat(
        Stream.fromIterable<FileEvent>(held),
        Stream.fromIterable(given).pipe(
          Stream.grouped(100),
          Stream.mapEffect((files) =>
            Effect.map(forget(files), (pruned) =>
              Chunk.append(
                Chunk.map(files, (file): FileEvent => ({ _tag: "Lost", ...file })),
                pruned
              )
            )
          ),
          Stream.flattenChunks
        )
      )
    })
  )
