import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Scope } from "effect/Scope"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import { StoreConfig, WatchConfig } from "../Config.ts"
import { Store, UpkeepStore } from "../Store.ts"
import type { CollectionName } from "../model/Collection.ts"
import type { Watching } from "../model/Stats.ts"
import type { Deleted } from "../model/Stored.ts"
import type { Cause, FileEvent, WatchEvent } from "./FileEvent.ts"
import { FileEvents } from "./FileEvents.ts"
import { FileIndexer } from "./FileIndexer.ts"
import { add, none, pruneAll } from "./Pruner.ts"
import { WatchLock } from "./WatchLock.ts"
import { isBelow, isWithinAnother } from "./below.ts"

/** Paths that are tracked individually; with more, everything is scanned. */
const pathLimit = 10_000

const beside = /-(?:wal|shm|journal|watch-[0-9a-f]{8})$/

/**
 * Whether a file belongs to this index, or to any SQLite database that some process has open, whatever path leads to it:
 * those hold no text, and scans of several indexes in one folder would cause each other for ever. It is not looked into:
 * closing it would release the locks that this process has on it.
 */
const isOfDatabase = (path: string, index: string): boolean => {
  if (path === index || path.startsWith(`${index}-`)) return true
  const file = path.replace(beside, "")
  return fs.existsSync(`${file}-wal`) && fs.existsSync(`${file}-shm`)
}

/** What a scan is due for. */
interface Due {
  readonly cause: Cause
  readonly roots: ReadonlyArray<string>
  /** What is known to have changed. */
  readonly files: ReadonlyArray<string>
}

/** Changes reported since the last scan began. */
class Hints {
  readonly #wake = Effect.unsafeMakeLatch(false)
  #paths = new Set<string>()
  #before = new Set<string>()
  /** Places of both of the last two scans. */
  #again = new Set<string>()
  #cause: Cause | undefined
  #first: number | undefined
  #last = 0

  /** `isDatabase` recognises files whose changes do not count, most of them made by the program itself. */
  constructor(private readonly isDatabase: (path: string) => boolean) {}

  get waiting(): ReadonlySet<string> {
    return this.#paths
  }

  /** Waits for a hint. */
  get any(): Effect.Effect<void> {
    return this.#wake.await
  }

  get isQuiet(): boolean {
    return this.#first === undefined
  }

  /** Whether only what the last two scans were for has changed again, such as a log that grows all the time. */
  get isMoreOfTheSame(): boolean {
    if (this.#cause !== "events" || this.#paths.size >= pathLimit) return false
    return [...this.#paths].every((path) => this.#again.has(path))
  }

  /** When to scan: after a quiet period, but at most `maxWaitMs` after the first hint. */
  due({ maxWaitMs, quietMs }: { readonly quietMs: number; readonly maxWaitMs: number }): number {
    return Math.min(this.#last + quietMs, (this.#first ?? this.#last) + maxWaitMs)
  }

  /** Something changed at these places. */
  add(paths: ReadonlyArray<string>, now: number): void {
    const others = paths.filter((path) => !this.isDatabase(path))
    if (others.length === 0) return
    for (const path of others) if (this.#paths.size < pathLimit) this.#paths.add(path)
    this.#note(this.#cause ?? "events", now)
  }

  /** Changes anywhere may have been missed. */
  addAll(now: number): void {
    this.#note("lost", now)
  }

  #note(cause: Cause, now: number): void {
    this.#cause = cause
    this.#first ??= now
    this.#last = now
    this.#wake.unsafeOpen()
  }

  /** Clears the hints, so that later ones count as new, and returns the roots to scan. */
  take(roots: ReadonlyArray<string>): Due {
    const paths = [...this.#paths]
    const cause = this.#cause ?? "rescan"
    // Nested paths are scanned together: alone, the outer one might skip what the inner one includes.
    const isAll = cause !== "events" || paths.length >= pathLimit || roots.some((root) => isWithinAnother(root, roots))
    this.#again = new Set(paths.filter((path) => this.#before.has(path)))
    this.#before = this.#paths
    this.#paths = new Set()
    this.#cause = undefined
    this.#first = undefined
    this.#wake.unsafeClose()
    return {
      cause,
      roots: isAll ? roots : roots.filter((root) => paths.some((path) => isBelow(path, [root]))),
      files: paths
    }
  }
}

interface WatchOptions {
  /** Absolute. */
  readonly paths: ReadonlyArray<string>
  readonly collection: CollectionName
  readonly include?: ReadonlyArray<string> | undefined
  readonly exclude?: ReadonlyArray<string> | undefined
  /** The first scan also forgets files of paths that are missing or have lost most of their files. */
  readonly pruneAll?: boolean | undefined
  /** Fail if the first scan fails, instead of retrying, unless the index is not available for now. */
  readonly failEarly?: boolean | undefined
}

/** Milliseconds between attempts to take over from another watching process. */
const takeover = 5000

/** Scans that take so many milliseconds are not repeated at once for a file that grows all the time. */
const long = 1000

/** So many scans must be long, since one may be by chance. */
const longInARow = 3

/** Without notifications: the shortest pause between scans, in milliseconds, and the least pause as a multiple of a scan's time. */
const polling = { least: 2000, share: 20 }

/** Milliseconds before watching, or a failed scan, is retried. */
const retry = (times: number): number => Math.min(60_000, 1000 * 2 ** Math.min(times, 6))

const failuresKept = 10_000

/** Monotonic time in milliseconds. */
const ticks = Effect.map(Clock.currentTimeNanos, (nanos) => Number(nanos / 1_000_000n))

/**
 * Keeps an index in step with files. The system's notifications are hints; a scan of all files, which reads only the
 * changed ones, decides. It scans at the start, when changes have settled, after anything that may have hidden changes,
 * and at intervals.
 */
export class Watcher extends Effect.Service<Watcher>()("clew/Watcher", {
  effect: Effect.gen(function* () {
    const events = yield* FileEvents
    const files = yield* FileIndexer
    const lock = yield* WatchLock
    const store = yield* Store
    const upkeep = yield* UpkeepStore
    const config = yield* WatchConfig
    const { path: database } = yield* StoreConfig
    let status: (() => Watching) | undefined

    const run = <R>(options: WatchOptions, tell: (event: WatchEvent) => Effect.Effect<void, never, R>) =>
      Effect.gen(function* () {
        const roots = [...new Set(options.paths)]
        const within = roots.every((root) => config.paths.includes(root)) ? config.within : undefined
        const hints = new Hints((path) => isOfDatabase(path, database))
        const failures = new Map<string, string>()
        /** The last report for each path whose losses are held. */
        const held = new Map<string, string>()
        let state: Watching["state"] = "waiting"
        let last: { readonly at: number; readonly ended: number; readonly ms: number } | undefined
        /** Changed files that a scan is for, or was for when it failed. */
        const unseen = new Set<string>()
        /** Milliseconds of the last few scans. */
        let lately: ReadonlyArray<number> = []
        status = () => ({
          paths: roots,
          state,
          last_scan_at: last?.at,
          last_scan_ms: last?.ms,
          waiting: new Set([...hints.waiting, ...unseen]).size,
          failed: failures.size,
          held: [...held.keys()]
        })

        let other: string | undefined
        const take: Effect.Effect<void, Effect.Effect.Error<ReturnType<typeof lock.take>>, R | Scope> = Effect.catchTag(
          lock.take(roots),
          "WatchTaken",
          ({ paths, pid }) =>
            Effect.gen(function* () {
              const now = `${pid}`
              if (other !== now) yield* tell({ _tag: "Waiting", pid, paths })
              other = now
              yield* Effect.sleep(takeover)
              return yield* take
            })
        )
        yield* take
        state = "starting"

        const settled = yield* Deferred.make<void>()
        let said: string | undefined
        let tries = 0
        /** Listens for changes, and starts again after a failure. */
        const following = events.watch(roots).pipe(
          Stream.runForEach((paths) =>
            Effect.gen(function* () {
              const now = yield* ticks
              if (paths.length > 0) return hints.add(paths, now)
              const isFirst = !(yield* Deferred.isDone(settled))
              state = "events"
              said = undefined
              tries = 0
              yield* tell({ _tag: "Following", paths: roots })
              yield* Deferred.succeed(settled, undefined)
              // What happened before the watch was set is unknown.
              if (!isFirst) hints.addAll(now)
            })
          ),
          Effect.catchAll(({ advice, reason }) =>
            Effect.gen(function* () {
              state = "polling"
              if (said !== reason) yield* tell({ _tag: "Polling", reason, advice })
              said = reason
              yield* Deferred.succeed(settled, undefined)
              hints.addAll(yield* ticks)
              yield* Effect.sleep(retry(tries++))
            })
          ),
          Effect.forever
        )
        yield* Effect.forkScoped(following)
        yield* Deferred.await(settled)

        const hold = Effect.fnUntraced(function* (
          path: string,
          event: Extract<WatchEvent, { readonly _tag: "Held" | "Missing" }>
        ) {
          const text = JSON.stringify(event)
          if (held.get(path) !== text) yield* tell(event)
          held.set(path, text)
        })

        const scan = Effect.fnUntraced(function* (cause: Cause, paths: ReadonlyArray<string>) {
          const started = yield* ticks
          const sum = { files: 0, created: 0, updated: 0, failed: 0, deleted: none }
          const isForced = last === undefined && options.pruneAll === true
          const seen = new Set<string>()
          const stopped = new Set<string>()
          const forgot = (deleted: Deleted) => void (sum.deleted = add(sum.deleted, deleted))
          const meet = Effect.fnUntraced(function* (event: FileEvent) {
            switch (event._tag) {
              case "Indexed": {
                const { status } = event.document
                if (status === "unchanged") return
                sum[status]++
                break
              }
              case "FileDone":
              case "Unchanged":
                sum.files++
                return
              case "Skipped":
                return
              case "Pruned":
                return forgot(event)
              case "Held":
                stopped.add(event.path)
                return yield* hold(event.path, event)
              case "Failed": {
                if (roots.includes(event.path) && event.reason === "no such file or folder") {
                  stopped.add(event.path)
                  if (isForced) return forgot(yield* pruneAll(store, options.collection, [event.path]))
                  return yield* hold(event.path, { _tag: "Missing", path: event.path })
                }
                sum.failed++
                const key = `${event.path}:${event.line ?? ""}`
                seen.add(key)
                if (failures.get(key) === event.reason) return
                if (failures.size < failuresKept) failures.set(key, event.reason)
                break
              }
              case "Lost":
            }
            if (cause !== "start" || event._tag !== "Indexed") yield* tell({ _tag: "File", event })
          })
          yield* Stream.runForEach(
            files.run({
              paths,
              collection: options.collection,
              include: options.include,
              exclude: options.exclude,
              within,
              prune: true,
              holdLosses: !isForced,
              dryRun: false
            }),
            meet
          )
          if (paths.length === roots.length) for (const key of failures.keys()) if (!seen.has(key)) failures.delete(key)
          for (const path of paths) if (!stopped.has(path)) held.delete(path)
          const ended = yield* ticks
          const ms = ended - started
          last = { at: yield* Clock.currentTimeMillis, ended, ms }
          lately = [...lately, ms].slice(-longInARow)
          const changed = sum.created + sum.updated + sum.deleted.documents
          if (cause !== "rescan" || changed > 0) yield* tell({ _tag: "Scanned", cause, paths, ...sum, ms })
          // No other process may come to do it; it gives way to documents to index.
          if (changed > 0 && hints.isQuiet) yield* Effect.raceFirst(upkeep.settle(), hints.any)
        })

        let broken = 0
        const attempt = Effect.fnUntraced(function* ({ cause, files, roots: paths }: Due) {
          for (const file of files) if (unseen.size < pathLimit) unseen.add(file)
          const outcome = yield* Effect.either(scan(cause, paths))
          if (outcome._tag === "Right") {
            unseen.clear()
            return void (broken = 0)
          }
          const isEarly = cause === "start" && options.failEarly === true
          if (isEarly && outcome.left._tag !== "StoreUnavailable") return yield* outcome.left
          yield* tell({ _tag: "Broken", reason: outcome.left.message })
          yield* Effect.sleep(retry(broken++))
          hints.addAll(yield* ticks)
        })

        const pause = (ms: number) => Math.min(Math.max(polling.least, polling.share * ms), config.rescanSeconds * 1000)

        const next = Effect.gen(function* () {
          const patience = state === "polling" ? pause(last?.ms ?? 0) : config.rescanSeconds * 1000
          const woken = yield* Effect.timeoutOption(hints.any, patience)
          if (Option.isNone(woken)) return yield* attempt({ ...hints.take(roots), cause: "rescan" })
          const least = lately.length < longInARow ? 0 : Math.min(...lately)
          const rest = last === undefined || least < long ? 0 : last.ended + pause(least)
          for (;;) {
            const due = hints.due(config)
            const left = (hints.isMoreOfTheSame ? Math.max(due, rest) : due) - (yield* ticks)
            if (left <= 0) break
            // Another file may change meanwhile, which does not wait so long.
            yield* Effect.sleep(Math.min(left, Math.max(config.quietMs, 100)))
          }
          const taken = hints.take(roots)
          if (taken.roots.length > 0) yield* attempt(taken)
        })

        hints.take(roots)
        yield* attempt({ cause: "start", roots, files: [] })
        return yield* Effect.forever(next)
      }).pipe(Effect.scoped, Effect.ensuring(Effect.sync(() => void (status = undefined))))

    return {
      /** Follows the paths until interrupted, between two transactions; waits while another process watches for the index. */
      run,
      /** The state of this process's watcher, if there is one. */
      status: Effect.sync(() => Option.fromNullable(status?.()))
    }
  })
}) {}
