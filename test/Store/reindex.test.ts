import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { join } from "node:path"
import { CollectionName } from "../../src/model/Collection.ts"
import { whole } from "../../src/Store.ts"
import { document, embedder } from "../contracts/Store.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { temporaryFolder } from "../folder.ts"

const name = CollectionName.make("c")
const next = { ...embedder, model: "next" }
const some = Option.some(Float32Array.of(0, 1, 0, 0))

const setUp = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const filename = join(folder, "index.db")
  /** How many new vectors are in the file, whatever the store makes of them. */
  const kept = Effect.sync(() => {
    const db = new Database(filename, { readonly: true })
    const rows = db.prepare("SELECT name FROM sqlite_master WHERE name LIKE 'vectors_%_next'").pluck().all()
    const count: unknown = db
      .prepare(`SELECT count(*) FROM ${String(rows[0])}`)
      .pluck()
      .get()
    db.close()
    return count
  })
  return { filename, kept }
})

it.scoped("what is deleted after a change of embedder broke off leaves no new vector behind", () =>
  Effect.gen(function* () {
    const { filename, kept } = yield* setUp
    yield* Effect.gen(function* () {
      const store = yield* whole
      yield* store.createCollection(name, embedder)
      yield* store.put(
        name,
        ["a", "b", "c", "d"].map((source) => document(source, { source }))
      )
      yield* store.beginReindex(name, next)
      const { passages, position } = yield* store.unembedded(name, next, 3)
      yield* store.putReindexed(
        name,
        passages.map(({ id }) => ({ id, vector: some })),
        position
      )
      assert.strictEqual(yield* kept, 3)
      yield* store.deleteSource(name, "a")
      assert.strictEqual(yield* kept, 2)
      yield* store.put(name, [document("b, changed", { source: "b" })])
      assert.strictEqual(yield* kept, 1)
    }).pipe(Effect.provide(Sqlite.layer({ filename, mode: "create" })))
  })
)

it.scoped("what is deleted while it is embedded gets no new vector, and is not counted", () =>
  Effect.gen(function* () {
    const { filename, kept } = yield* setUp
    yield* Effect.gen(function* () {
      const store = yield* whole
      yield* store.createCollection(name, embedder)
      yield* store.put(
        name,
        ["a", "b", "c"].map((source) => document(source, { source }))
      )
      yield* store.beginReindex(name, next)
      const { passages, position } = yield* store.unembedded(name, next, 3)
      yield* store.deleteSource(name, "b")
      yield* store.putReindexed(
        name,
        passages.map(({ id }) => ({ id, vector: some })),
        position
      )
      assert.strictEqual(yield* kept, 2)
      assert.deepStrictEqual(yield* store.finishReindex(name, next), { changed: true, passages: 2 })
    }).pipe(Effect.provide(Sqlite.layer({ filename, mode: "create" })))
  })
)
