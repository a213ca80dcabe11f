import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { CollectionName } from "../../src/model/Collection.ts"
import { document, embedder } from "../contracts/Store.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { built, indexFile } from "./opened.ts"

const name = CollectionName.make("c")
const next = { ...embedder, model: "next" }
const some = Option.some(Float32Array.of(0, 1, 0, 0))

/** A change of embedder that has begun. */
const begun = Effect.gen(function* () {
  const filename = yield* indexFile
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
  const store = yield* built(Sqlite.layer({ filename, mode: "create" }))
  yield* store.createCollection(name, embedder)
  yield* store.put(
    name,
    ["a", "b", "c", "d"].map((source) => document(source, { source }))
  )
  yield* store.beginReindex(name, next)
  const { passages, position } = yield* store.unembedded(name, next, 3)
  /** Gives the first three documents new vectors. */
  const embed = store.putReindexed(
    name,
    passages.map(({ id }) => ({ id, vector: some })),
    position
  )
  return { embed, kept, store }
})

it.scoped("what is deleted after a change of embedder broke off leaves no new vector behind", () =>
  Effect.gen(function* () {
    const { embed, kept, store } = yield* begun
    yield* embed
    assert.strictEqual(yield* kept, 3)
    yield* store.deleteSource(name, "a")
    assert.strictEqual(yield* kept, 2)
    yield* store.put(name, [document("b, changed", { source: "b" })])
    assert.strictEqual(yield* kept, 1)
    assert.deepStrictEqual(yield* store.beginReindex(name, next), { done: 1, total: 3 })
  })
)

it.scoped("what is deleted while it is embedded gets no new vector, and is not counted", () =>
  Effect.gen(function* () {
    const { embed, kept, store } = yield* begun
    yield* store.deleteSource(name, "b")
    yield* store.deleteSource(name, "d")
    yield* embed
    assert.strictEqual(yield* kept, 2)
    assert.deepStrictEqual(yield* store.finishReindex(name, next), { changed: true, passages: 2 })
  })
)
