import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as fs from "node:fs"
import * as path from "node:path"
import { StoreConfig, WatchConfig } from "../../src/Config.ts"
import { Settings } from "../../src/Config/Settings.ts"
import { FileEvents, FileEventsLost } from "../../src/files/FileEvents.ts"
import { make as nodeEvents } from "../../src/files/FileEvents/Node.ts"
import { FileIndexer } from "../../src/files/FileIndexer.ts"
import type { WatchEvent } from "../../src/files/FileEvent.ts"
import { Watcher } from "../../src/files/Watcher.ts"
import { WatchLock, WatchTaken } from "../../src/files/WatchLock.ts"
import { Disk, DiskFailure, type FileTree } from "../../src/files/Disk.ts"
import { defaultCollection } from "../../src/model/Collection.ts"
import { StoreUnavailable } from "../../src/Store.ts"
import { layerMemory } from "../../src/Store/Sqlite.ts"
import { temporaryFolder } from "../folder.ts"

const seconds = 1000

interface Given {
  readonly events?: FileEvents["Type"]
  readonly paths?: ReadonlyArray<string>
  readonly lock?: WatchLock["Type"]
  readonly index?: string
}

/** A watcher whose system and whose scans are told what to do; scans take no time unless they are held. */
const setUp = Effect.fnUntraced(function* ({
  events,
  index = "/notes/index.db",
  lock,
  paths = ["/notes"]
}: Given = {}) {
  const changes = yield* Queue.unbounded<ReadonlyArray<string> | FileEventsLost>()
  const fake: FileEvents["Type"] = {
    watch: () =>
      Stream.concat(
        Stream.succeed([]),
        Stream.mapEffect(Stream.fromQueue(changes), (each): Effect.Effect<ReadonlyArray<string>, FileEventsLost> =>
          each instanceof FileEventsLost ? Effect.fail(each) : Effect.succeed(each)
        )
      )
  }
  const start = yield* Clock.currentTimeMillis
  const scans: Array<{ readonly at: number; readonly paths: ReadonlyArray<string> }> = []
  const hold = yield* Ref.make(Option.none<Effect.Effect<void, StoreUnavailable>>())
  const indexer = FileIndexer.make({
    run: ({ paths: given }) =>
      Stream.unwrap(
        Effect.gen(function* () {
          scans.push({ at: (yield* Clock.currentTimeMillis) - start, paths: given })
          const held = Option.getOrElse(yield* Ref.get(hold), () => Effect.void)
          return Stream.drain(Stream.fromEffect(held))
        })
      ),
    runTexts: () => Stream.empty
  })
  const context = yield* Layer.build(
    Watcher.Default.pipe(
      Layer.provide([
        Layer.succeed(FileEvents, events ?? fake),
        Layer.succeed(FileIndexer, indexer),
        Layer.succeed(WatchLock, lock ?? { take: () => Effect.void }),
        Layer.succeed(StoreConfig, Schema.decodeSync(Settings)({ store: { path: index } }).store),
        Layer.succeed(WatchConfig, { paths: [], rescanSeconds: 300, quietMs: 500, maxWaitMs: 5000 }),
        layerMemory
      ])
    )
  )
  const watcher = yield* Effect.provide(Watcher, context)
  const told: Array<WatchEvent> = []
  const run = watcher.run({ paths, collection: defaultCollection, failEarly: true }, (event) =>
    Effect.sync(() => void told.push(event))
  )
  return {
    start,
    changes,
    told,
    hold,
    run,
    status: Effect.map(watcher.status, Option.getOrThrow),
    /** When scans began, in milliseconds. */
    times: () => scans.map(({ at }) => at),
    scans,
    change: (...each: ReadonlyArray<string>) => Queue.offer(changes, each.length === 0 ? ["/notes/a.md"] : each),
    causes: () => told.flatMap((event) => (event._tag === "Scanned" ? [event.cause] : []))
  }
})

/** Lets what is due be done. */
const pass = (ms: number) => TestClock.adjust(ms)

it.scoped("scans at the start, when it was quiet for a while after changes, and now and then", () =>
  Effect.gen(function* () {
    const { causes, change, run, times } = yield* setUp()
    yield* Effect.forkScoped(run)
    yield* pass(1 * seconds)
    assert.deepStrictEqual(times(), [0])
    yield* change()
    yield* pass(400)
    yield* change("/notes/b.md")
    yield* pass(499)
    assert.deepStrictEqual(times(), [0])
    yield* pass(1)
    assert.deepStrictEqual(times(), [0, 1900])
    yield* pass(299 * seconds)
    assert.lengthOf(times(), 2)
    yield* pass(1 * seconds)
    assert.deepStrictEqual(times(), [0, 1900, 301_900])
    // That of nothing new is not worth a word.
    assert.deepStrictEqual(causes(), ["start", "events"])
  })
)

it.scoped("waits five seconds at most while changes go on", () =>
  Effect.gen(function* () {
    const { change, run, times } = yield* setUp()
    yield* Effect.forkScoped(run)
    yield* pass(0)
    for (let ms = 0; ms < 12 * seconds; ms += 250) {
      yield* change()
      yield* pass(250)
    }
    assert.deepStrictEqual(times(), [0, 5000, 10_000])
  })
)

it.scoped("pauses after long scans for a file that grows all the time, but not for others", () =>
  Effect.gen(function* () {
    const { change, hold, run, times } = yield* setUp()
    yield* Effect.forkScoped(run)
    yield* pass(0)
    yield* Ref.set(hold, Option.some(Effect.sleep(2 * seconds)))
    const grow = (ms: number) => Effect.repeatN(Effect.zipRight(change("/notes/server.out"), pass(250)), ms / 250 - 1)
    yield* grow(60 * seconds)
    // The first scan was short; 40 s after the third long one follows the next.
    assert.deepStrictEqual(times(), [0, 5000, 10_000, 15_000, 57_000])
    yield* change("/notes/a.md")
    yield* grow(6 * seconds)
    assert.lengthOf(times(), 6)
  })
)

it.scoped("a scan that is long by chance does not let the next saves of a page wait", () =>
  Effect.gen(function* () {
    const { change, hold, run, times } = yield* setUp()
    yield* Effect.forkScoped(run)
    yield* pass(0)
    const save = (ms: number) =>
      Ref.set(hold, Option.some(Effect.sleep(ms))).pipe(
        Effect.zipRight(change("/notes/a.md")),
        Effect.zipRight(pass(5 * seconds))
      )
    for (const ms of [600, 600, 2000, 600, 2000, 600]) yield* save(ms)
    assert.deepStrictEqual(times(), [0, 500, 5500, 10_500, 15_500, 20_500, 25_500])
  })
)

it.scoped("scans again where something changed while it was at it", () =>
  Effect.gen(function* () {
    const { change, hold, run, status, times } = yield* setUp()
    const gate = yield* Deferred.make<void>()
    yield* Effect.forkScoped(run)
    yield* pass(0)
    yield* Ref.set(hold, Option.some(Deferred.await(gate)))
    yield* change()
    yield* pass(500)
    assert.deepStrictEqual(times(), [0, 500])
    yield* change("/notes/b.md", "/notes/c.md")
    yield* pass(10 * seconds)
    assert.deepStrictEqual(times(), [0, 500])
    // Those that it is at, too.
    assert.deepInclude(yield* status, { waiting: 3, state: "events", last_scan_ms: 0 })
    yield* Deferred.succeed(gate, undefined)
    yield* pass(0)
    assert.deepStrictEqual(times(), [0, 500, 10_500])
    assert.deepInclude(yield* status, { waiting: 0, last_scan_ms: 0 })
  })
)

it.scoped("looks at the path alone in which something changed, and not for its own files", () =>
  Effect.gen(function* () {
    const { change, run, scans } = yield* setUp({ paths: ["/notes", "/papers"] })
    yield* Effect.forkScoped(run)
    yield* pass(0)
    yield* change("/notes/index.db", "/notes/index.db-wal", "/notes/index.db-watch")
    yield* pass(10 * seconds)
    assert.lengthOf(scans, 1)
    yield* change("/papers/a.md")
    yield* pass(500)
    assert.deepStrictEqual(
      scans.map(({ paths }) => paths),
      [["/notes", "/papers"], ["/papers"]]
    )
  })
)

it.scoped("does not look for what is written to the index by another name, or to another index", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const at = (name: string) => path.join(folder, name)
    fs.writeFileSync(at("index.db"), "")
    fs.writeFileSync(at("other.db"), "")
    fs.writeFileSync(at("text.db"), "no database")
    for (const name of ["index.db-wal", "index.db-shm", "other.db-wal", "other.db-shm", "text.db-wal"]) {
      fs.writeFileSync(at(name), "")
    }
    fs.symlinkSync(folder, at("link"))
    const { change, run, scans } = yield* setUp({ index: at("link/index.db"), paths: [folder] })
    yield* Effect.forkScoped(run)
    yield* pass(0)
    yield* change(...["index.db", "index.db-wal", "other.db", "other.db-wal", "other.db-shm"].map(at))
    yield* pass(10 * seconds)
    assert.lengthOf(scans, 1)
    yield* change(at("text.db"))
    yield* pass(500)
    assert.lengthOf(scans, 2)
  })
)

it.scoped("does not mind a clock that is set back", () =>
  Effect.gen(function* () {
    const { change, run, start, status, told } = yield* setUp()
    const clock = yield* Effect.clock
    const setBack = { by: 0 }
    const wall: Clock.Clock = {
      [Clock.ClockTypeId]: Clock.ClockTypeId,
      unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis() - setBack.by,
      unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos(),
      currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now - setBack.by),
      currentTimeNanos: clock.currentTimeNanos,
      sleep: (duration) => clock.sleep(duration)
    }
    yield* Effect.forkScoped(Effect.withClock(run, wall))
    yield* pass(10_000 * seconds)
    yield* change()
    yield* pass(100)
    setBack.by = 3600 * seconds
    yield* pass(400)
    assert.deepStrictEqual(
      told.flatMap((event) => (event._tag === "Scanned" ? [[event.cause, event.ms]] : [])),
      [
        ["start", 0],
        ["events", 0]
      ]
    )
    assert.strictEqual((yield* status).last_scan_at, start + 10_000 * seconds + 500 - 3600 * seconds)
  })
)

it.scoped("looks at everything, and goes on, where changes may have gone unseen", () =>
  Effect.gen(function* () {
    const { causes, change, changes, run, status, times, told } = yield* setUp({ paths: ["/notes", "/papers"] })
    yield* Effect.forkScoped(run)
    yield* pass(1 * seconds)
    yield* Queue.offer(changes, new FileEventsLost({ reason: "the queue ran over", advice: "Wait" }))
    yield* pass(0)
    assert.deepInclude(told.at(-1), { _tag: "Polling", reason: "the queue ran over", advice: "Wait" })
    assert.strictEqual((yield* status).state, "polling")
    yield* pass(500)
    assert.deepStrictEqual(times(), [0, 1500])
    yield* pass(500)
    assert.strictEqual((yield* status).state, "events")
    yield* pass(500)
    assert.deepStrictEqual(times(), [0, 1500, 2500])
    assert.deepStrictEqual(causes(), ["start", "lost", "lost"])
    yield* change()
    yield* pass(500)
    assert.deepStrictEqual(causes(), ["start", "lost", "lost", "events"])
  })
)

const absent = new DiskFailure({ code: "ENOENT", detail: "absent" })

/** A disk with nothing on it, which answers at once. */
const nothing: FileTree = {
  names: () => absent,
  look: (paths) => Effect.succeed(paths.map(() => absent)),
  follow: () => absent,
  real: Effect.succeed,
  text: () => absent,
  open: () => absent
}

for (const [code, advice] of [
  ["ENOSPC", "fs.inotify.max_user_watches"],
  ["EMFILE", "fs.inotify.max_user_instances"]
] as const) {
  it.scoped(
    `looks at files now and then where the system gives no more watches (${code}), and says what to raise`,
    () =>
      Effect.gen(function* () {
        let isFull = true
        let asked = 0
        const events = nodeEvents({
          recursive: false,
          remoteDisk: () => undefined,
          queue: Infinity,
          open: () => {
            asked++
            if (isFull) throw Object.assign(new Error("watch"), { code })
            return { on: () => {}, close: () => {} } as never
          }
        })
        const { run, status, times, told } = yield* setUp({ events, paths: [import.meta.dirname] })
        yield* Effect.forkScoped(Effect.provideService(run, Disk, nothing))
        yield* pass(0)
        assert.strictEqual((yield* status).state, "polling")
        assert.include(told.map((event) => (event._tag === "Polling" ? event.advice : "")).join(), advice)
        // Asked for watches again with growing pauses, and each time that it may have missed something it scans.
        yield* pass(15 * seconds)
        assert.isAtLeast(times().length, 5)
        assert.isAtMost(asked, 5)
        assert.lengthOf(
          told.filter(({ _tag }) => _tag === "Polling"),
          1
        )
        isFull = false
        yield* pass(16 * seconds)
        assert.strictEqual((yield* status).state, "events")
      })
  )
}

it.scoped("begins a scan again that broke off", () =>
  Effect.gen(function* () {
    const { change, hold, run, status, times, told } = yield* setUp()
    yield* Effect.forkScoped(run)
    yield* pass(0)
    yield* Ref.set(hold, Option.some(new StoreUnavailable({ reason: "the disk is full" })))
    yield* change()
    yield* pass(500)
    assert.deepInclude(told.at(-1), { _tag: "Broken", reason: "the disk is full" })
    yield* Ref.set(hold, Option.none())
    yield* pass(1499)
    assert.lengthOf(times(), 2)
    assert.strictEqual((yield* status).waiting, 1)
    yield* pass(1)
    assert.deepStrictEqual(times(), [0, 500, 2000])
    assert.strictEqual((yield* status).waiting, 0)
    assert.deepInclude(told.at(-1), { _tag: "Scanned", cause: "lost" })
  })
)

it.scoped("begins its first scan again that a full disk or a lock broke off", () =>
  Effect.gen(function* () {
    const { causes, hold, run, told } = yield* setUp()
    yield* Ref.set(hold, Option.some(new StoreUnavailable({ reason: "the disk is full" })))
    yield* Effect.forkScoped(run)
    yield* pass(0)
    assert.deepInclude(told.at(-1), { _tag: "Broken", reason: "the disk is full" })
    yield* Ref.set(hold, Option.none())
    yield* pass(2 * seconds)
    assert.deepStrictEqual(causes(), ["lost"])
  })
)

it.scoped("waits while another process watches, says who, and takes over", () =>
  Effect.gen(function* () {
    const taken = yield* Ref.make(true)
    const { run, status, times, told } = yield* setUp({
      lock: {
        take: () =>
          Effect.flatMap(Ref.get(taken), (is) => (is ? new WatchTaken({ pid: 7, paths: ["/else"] }) : Effect.void))
      }
    })
    yield* Effect.forkScoped(run)
    yield* pass(60 * seconds)
    assert.deepStrictEqual(told, [{ _tag: "Waiting", pid: 7, paths: ["/else"] }])
    assert.strictEqual((yield* status).state, "waiting")
    assert.deepStrictEqual(times(), [])
    yield* Ref.set(taken, false)
    yield* pass(5 * seconds)
    assert.lengthOf(times(), 1)
    assert.strictEqual((yield* status).state, "events")
  })
)
