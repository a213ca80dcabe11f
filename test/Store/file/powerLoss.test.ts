import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { defaultCollection } from "../../../src/model/Collection.ts"
import { whole, type Whole } from "../../../src/Store.ts"
import { document, embedder } from "../../contracts/Store.ts"
import * as Sqlite from "../../../src/Store/Sqlite.ts"
import { temporaryFolder } from "../../folder.ts"
import { ranked } from "../../ranked.ts"

const batches = 8
const inBatch = 3

const sourcesOf = (store: Whole) =>
  Effect.map(store.list(defaultCollection, { limit: 100 }), (found) => found.map(({ source }) => source!))

const wanted = (count: number) =>
  Array.from({ length: count }, (_, batch) => Array.from({ length: inBatch }, (_, n) => `s${batch}-${n}`)).flat()

it.scoped("a power cut leaves a state that was acknowledged, wherever in the WAL it comes", () =>
  Effect.gen(function* () {
    const place = yield* temporaryFolder
    const filename = path.join(place, "index.db")
    const { main, wal } = yield* Effect.gen(function* () {
      const store = yield* whole
      yield* store.createCollection(defaultCollection, embedder)
      for (let batch = 0; batch < batches; batch++) {
        const some = Array.from({ length: inBatch }, (_, n) =>
          document(`river ${batch} and sea ${n}\nin the end`, { source: `s${batch}-${n}`, metadata: { batch } })
        )
        yield* store.put(defaultCollection, some)
      }
      return { main: fs.readFileSync(filename), wal: fs.readFileSync(`${filename}-wal`) }
    }).pipe(Effect.provide(Sqlite.layer({ filename, mode: "create" })))
    const frame = main.readUInt16BE(16) + 24
    const frames = (wal.length - 32) / frame
    assert.isAbove(frames, 50)

    // What the disk had when the power went: whole frames, a torn one, or one whose bytes never came.
    const cut = path.join(place, "cut.db")
    const states = new Set<number>()
    let [before, cuts] = [0, 0]
    const step = Math.max(1, Math.floor(frames / 13))
    for (let count = 0; count <= frames; count += count + step > frames && count < frames ? frames - count : step) {
      const kind = cuts++ % 3
      const torn = [0, frame - 1, 24][kind]!
      const content = Buffer.from(wal.subarray(0, Math.min(wal.length, 32 + count * frame + torn)))
      if (kind === 1) content.fill(0, Math.min(content.length, 32 + count * frame))
      for (const name of [cut, `${cut}-wal`, `${cut}-shm`]) fs.rmSync(name, { force: true })
      fs.writeFileSync(cut, main)
      fs.writeFileSync(`${cut}-wal`, content)
      const found = yield* Effect.gen(function* () {
        const store = yield* whole
        if ((yield* store.collections).length === 0) return []
        const sources = yield* sourcesOf(store)
        const hits = yield* ranked(store, {
          keyword: "river",
          vector: Float32Array.of(1, 0, 0, 0),
          alpha: 0.5,
          limit: 50
        })
        assert.sameMembers([...new Set(hits.map((hit) => hit.document.source!))], sources)
        // It goes on from there.
        yield* store.put(defaultCollection, [document("a new river", { source: "new" })])
        yield* store.deleteSource(defaultCollection, "new")
        return sources
      }).pipe(Effect.provide(Sqlite.layer({ filename: cut, mode: "create" })))
      const state = found.length / inBatch
      assert.deepStrictEqual(found, wanted(state), `after ${count} frames`)
      // Never less than what an earlier cut had kept.
      assert.isAtLeast(state, before, `after ${count} frames`)
      before = state
      states.add(state)
      const db = new Database(cut, { readonly: true })
      assert.strictEqual(db.pragma("integrity_check", { simple: true }), "ok")
      assert.deepStrictEqual(db.pragma("foreign_key_check"), [])
      db.close()
    }
    assert.strictEqual(before, batches)
    assert.isAbove(states.size, 4)
  })
)
