import { assert, it } from "@effect/vitest"
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
    const { gid, mode, uid } = fs.statSync(`${index}-watch`)
    assert.strictEqual(mode & 0o777, 0o600)
    if (isRoot) assert.deepStrictEqual([uid, gid], [12_345, 12_346])
    assert.deepInclude(yield* Effect.flip(take), { _tag: "WatchTaken", pid: process.pid })
  })
)
