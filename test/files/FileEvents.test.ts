import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as fs from "node:fs"
import * as path from "node:path"
import { make } from "../../src/files/FileEvents/Node.ts"
import { temporaryFolder } from "../folder.ts"

/** A system that tells of nothing, as of a disk that is mounted over a folder. */
const silent = make({
  recursive: false,
  remoteDisk: () => undefined,
  queue: Infinity,
  open: (place) => fs.watch(place, { persistent: false }, () => {})
})

/** Why following a path ends. */
const endOf = (events: typeof silent, root: string) =>
  Effect.gen(function* () {
    const stands = yield* Deferred.make<void>()
    const following = events.watch([root]).pipe(
      Stream.runForEach(() => Deferred.succeed(stands, undefined)),
      Effect.flip,
      Effect.map((loss) => (typeof loss === "object" ? loss.reason : "it ended"))
    )
    const fiber = yield* Effect.fork(following)
    yield* Deferred.await(stands)
    return fiber
  })

it.scoped("finds by itself that another folder stands at the path, and what becomes a folder", () =>
  Effect.gen(function* () {
    const at = yield* temporaryFolder
    const root = path.join(at, "root")
    fs.mkdirSync(root)
    const replaced = yield* endOf(silent, root)
    const grown = yield* endOf(silent, path.join(at, "later"))
    yield* TestClock.adjust(Duration.minutes(1))
    assert.isNull(replaced.unsafePoll())
    assert.isNull(grown.unsafePoll())
    fs.renameSync(root, path.join(at, "elsewhere"))
    fs.mkdirSync(root)
    fs.mkdirSync(path.join(at, "later"))
    yield* TestClock.adjust(Duration.seconds(5))
    assert.match(yield* Fiber.join(replaced), /root is gone or was replaced/)
    assert.match(yield* Fiber.join(grown), /later has become a folder/)
  })
)

it.scoped("is told that a folder was deleted, also where one with the same inode stands there by now", () =>
  Effect.gen(function* () {
    const root = path.join(yield* temporaryFolder, "root")
    fs.mkdirSync(root)
    const listeners: Array<(event: "rename", name: string) => void> = []
    const told = make({
      recursive: false,
      remoteDisk: () => undefined,
      queue: Infinity,
      open: (place, _, listener) => {
        if (place === root) listeners.push(listener)
        return fs.watch(place, { persistent: false }, () => {})
      }
    })
    const ends = yield* Effect.forEach([root, path.join(root, "a.md")], (each) => endOf(told, each))
    for (const tell of listeners) tell("rename", "root")
    for (const end of ends) assert.match(yield* Fiber.join(end), /root is gone or was replaced/)
  })
)

it.scoped("is told at once of a folder that comes to a path that was missing", () =>
  Effect.gen(function* () {
    const at = yield* temporaryFolder
    const grown = yield* endOf(make(), path.join(at, "later"))
    fs.mkdirSync(path.join(at, "later"))
    assert.match(yield* Fiber.join(grown), /later has become a folder/)
  })
)

it.scoped("goes on where a folder becomes a file, and says so where it may not look", () =>
  Effect.gen(function* () {
    const at = yield* temporaryFolder
    const root = path.join(at, "root")
    fs.mkdirSync(path.join(root, "sub"), { recursive: true })
    const seen: Array<string> = []
    let tell: (folder: string, name: string) => void = () => {}
    const scripted = make({
      recursive: false,
      remoteDisk: () => undefined,
      queue: Infinity,
      open: (place, _, listener) => {
        const before = tell
        tell = (folder, name) => (folder === place ? listener("rename", name) : before(folder, name))
        return fs.watch(place, { persistent: false }, () => {})
      }
    })
    const stands = yield* Deferred.make<void>()
    const told = (paths: ReadonlyArray<string>) =>
      Effect.zipRight(
        Deferred.succeed(stands, undefined),
        Effect.sync(() => void seen.push(...paths))
      )
    const following = yield* Effect.fork(Stream.runForEach(Stream.take(scripted.watch([root]), 3), told))
    yield* Deferred.await(stands)
    fs.rmdirSync(path.join(root, "sub"))
    fs.writeFileSync(path.join(root, "sub"), "a file now")
    // What is told late of the folder that was.
    tell(path.join(root, "sub"), "n.md")
    tell(root, "sub")
    yield* Fiber.join(following)
    assert.deepStrictEqual(seen, [path.join(root, "sub", "n.md"), path.join(root, "sub")])

    const loop = path.join(at, "loop")
    fs.symlinkSync(loop, loop)
    const loss = yield* Effect.flip(Stream.runDrain(silent.watch([path.join(loop, "notes")])))
    assert.match(loss.reason, /loop.* cannot be watched: ELOOP/)
  })
)
