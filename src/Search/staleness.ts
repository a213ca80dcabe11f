import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { dirname } from "node:path"
import type { Dated, ReadFile } from "../model/SearchResult.ts"
import { Kept } from "../runtime/Kept.ts"
import { Store } from "../Store.ts"

/** Milliseconds that a search waits for the file system; a network drive may never answer. */
const patienceMs = 250

/** Milliseconds that the event loop may wait for a disk that answers. */
const longestMs = 2

/** File systems of a machine's own disks and memory, as statfs(2) of Linux numbers them: they answer without a network. */
const ownDisks = new Set([
  0xef53, // ext2 to ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0x2fc12fc1, // ZFS
  0x01021994, // tmpfs
  0x794c7630 // overlayfs, in containers
])

/** Folders of which is known whether they are on such a disk. */
const mostFolders = 10_000

/** What stands at a path; undefined if the system does not tell. */
type Found = NodeFs.BigIntStats | "nothing" | undefined

const outcomeOf = (error: unknown): Found =>
  ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "") ? "nothing" : undefined

const statNow = (path: string): Found => {
  try {
    return NodeFs.statSync(path, { bigint: true, throwIfNoEntry: false }) ?? "nothing"
  } catch (error) {
    return outcomeOf(error)
  }
}

/** Whether a file differs, by size or time, from the one that was read. Without a stamp only a later time shows it. */
const differs = ({ at, stamp }: ReadFile, found: NodeFs.BigIntStats, now: number): boolean => {
  if (stamp !== undefined) return Number(found.size) !== stamp.size || String(found.mtimeNs) !== stamp.modified
  const modified = Number(found.mtimeMs)
  return modified > at && modified <= now
}

/**
 * Says of each hit, or other document, whether its file has changed since it was indexed, or is gone; looks at each file once.
 * A file is gone only if the folder of the path that was indexed exists: an index may come from another machine.
 */
export const makeStaleness = Effect.map(Store, (store) => {
  /** Questions that the file system has not answered in time; while there are any, it is not asked again. */
  let overdue = 0
  const isOwn = new Kept<string, boolean>(mostFolders)

  /** Asks on what disk the folders of some files are that were found. */
  const learn = (paths: ReadonlyArray<string>): void => {
    for (const folder of new Set(paths.map(dirname))) {
      if (isOwn.get(folder) !== undefined) continue
      NodeFs.statfs(folder, (error, found) => isOwn.add(folder, error === null && ownDisks.has(found.type)))
    }
  }

  /** What stands at each path, one after another; of none if the file system does not answer in time. */
  const look = (paths: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<Found>> =>
    overdue > 0
      ? Effect.succeed([])
      : Effect.async<ReadonlyArray<Found>>((resume) => {
          const areOwn = paths.every((path) => isOwn.get(dirname(path)) === true)
          const found: Array<Found> = []
          let isLeft = false
          const leave = () => {
            isLeft = true
            overdue++
          }
          const lookOn = (): void => {
            const until = performance.now() + longestMs
            while (found.length < paths.length && performance.now() < until) found.push(statNow(paths[found.length]!))
            if (found.length < paths.length) return ask()
            clearTimeout(timer)
            if (!areOwn) learn(paths.filter((_, at) => typeof found[at] === "object"))
            resume(Effect.succeed(found))
          }
          const answered = (error: NodeJS.ErrnoException | null, stats: NodeFs.BigIntStats): void => {
            if (isLeft) {
              overdue--
              return
            }
            found.push(error === null ? stats : outcomeOf(error))
            lookOn()
          }
          // A thread asks first. If it gets an answer, others are probably cached, and cost a tenth without a thread.
          const ask = () => {
            try {
              NodeFs.stat(paths[found.length]!, { bigint: true }, answered)
            } catch (error) {
              // It is no path that any system has.
              answered(error as NodeJS.ErrnoException, undefined as never)
            }
          }
          const giveUp = () => {
            if (found.length === paths.length) return
            leave()
            resume(Effect.succeed([]))
          }
          // If the event loop was busy for long, timers come before what has been answered meanwhile.
          const timer = setTimeout(() => setImmediate(giveUp), patienceMs)
          if (areOwn) lookOn()
          else ask()
          return Effect.sync(() => {
            clearTimeout(timer)
            leave()
          })
        })

  /** Those of the missing files that were here: the folder of the path that was indexed still exists. */
  const gone = Effect.fnUntraced(function* (missing: ReadonlyArray<Dated>) {
    const collections = [...new Set(missing.map(({ collection }) => collection))]
    const roots = yield* Effect.forEach(collections, (collection) =>
      Effect.orElseSucceed(store.roots(collection), () => [])
    )
    const given = roots.flat().map(({ path }) => path)
    const folderOf = ({ document: { file } }: Dated) =>
      dirname(given.find((root) => file!.path.startsWith(root)) ?? file!.path)
    const folders = [...new Set(missing.map(folderOf))]
    const found = yield* look(folders)
    return new Set(missing.filter((hit) => typeof found[folders.indexOf(folderOf(hit))] === "object"))
  })

  return Effect.fnUntraced(function* <Each extends Dated>(hits: ReadonlyArray<Each>) {
    const paths = [...new Set(hits.flatMap(({ document: { file } }) => (file === undefined ? [] : [file.path])))]
    if (paths.length === 0) return hits
    const all = yield* look(paths)
    const foundOf = ({ document: { file } }: Dated) => (file === undefined ? undefined : all[paths.indexOf(file.path)])
    const missing = hits.filter((hit) => foundOf(hit) === "nothing")
    const absent: ReadonlySet<Dated> = missing.length === 0 ? new Set() : yield* gone(missing)
    const now = yield* Clock.currentTimeMillis
    return hits.map((hit): Each => {
      const found = foundOf(hit)
      if (absent.has(hit)) return { ...hit, stale: "gone" }
      return typeof found === "object" && differs(hit.document.file!, found, now) ? { ...hit, stale: "changed" } : hit
    })
  })
})
