import { assert, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { WatchLock } from "../../src/files/WatchLock.ts"
import { layer } from "../../src/files/WatchLock/Sqlite.ts"
import { temporaryFolder } from "../folder.ts"

it.scoped("the lock belongs to whom the index belongs to, also where root is the first to watch", () =>
  Effect.gen(function* () {
    const index = path.join(yield* temporaryFolder, "index.db")
    fs.writeFileSync(index, "", { mode: 0o600 })
    const isRoot = process.getuid?.() === 0
    if (isRoot) fs.chownSync(index, 12_345, 12_346)
    const take = Effect.provide(
      Effect.flatMap(WatchLock, (lock) => lock.take(["/notes"])),
      layer(index)
    )
    yield* take
    const file = fs.readdirSync(path.dirname(index)).find((name) => /-watch-[0-9a-f]{8}$/.test(name))
    const { gid, mode, uid } = fs.statSync(path.join(path.dirname(index), file!))
    assert.strictEqual(mode & 0o777, 0o600)
    if (isRoot) assert.deepStrictEqual([uid, gid], [12_345, 12_346])
    assert.deepInclude(yield* Effect.flip(take), { _tag: "WatchTaken", pid: process.pid })
  })
)

it.scoped("the folder of the lock is made where the index is on a server, and nothing has made it", () =>
  Effect.gen(function* () {
    const index = path.join(yield* temporaryFolder, "share", "clew", "index.db")
    const take = Effect.provide(
      Effect.flatMap(WatchLock, (lock) => lock.take(["/notes"])),
      layer(index)
    )
    yield* take
    assert.strictEqual((yield* Effect.flip(take))._tag, "WatchTaken")
  })
)

it.scoped("processes with other paths do not wait for each other, and one that has to wait takes nothing", () =>
  Effect.gen(function* () {
    const index = path.join(yield* temporaryFolder, "index.db")
    const take = (...paths: ReadonlyArray<string>) =>
      Effect.provide(
        Effect.flatMap(WatchLock, (lock) => lock.take(paths)),
        layer(index)
      )
    yield* take("/b")
    const taken = yield* Effect.flip(take("/c", "/b", "/a"))
    assert.deepInclude(taken, { _tag: "WatchTaken", paths: ["/b"] })
    yield* take("/a", "/c", "/a")
    assert.strictEqual((yield* Effect.flip(take("/c")))._tag, "WatchTaken")
  })
)

it.scoped("a lock that is held is held, whatever is wrong with what it says of its holder", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const take = Effect.provide(
      Effect.flatMap(WatchLock, (lock) => lock.take(["/notes"])),
      layer(path.join(folder, "index.db"))
    )
    yield* Effect.scoped(take)
    const held = new Sqlite(path.join(folder, fs.readdirSync(folder)[0]!))
    held.exec("UPDATE holder SET pid = 7, paths = '['; BEGIN IMMEDIATE")
    const taken = yield* Effect.ensuring(
      Effect.flip(take),
      Effect.sync(() => held.close())
    )
    assert.deepInclude(taken, { _tag: "WatchTaken", pid: 7, paths: [] })
  })
)
