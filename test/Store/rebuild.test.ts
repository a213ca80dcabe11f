import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import { defaultCollection } from "../../src/model/Collection.ts"
import { whole } from "../../src/Store.ts"
import { connect } from "../../src/Store/sqlite/connect.ts"
import { document, embedder } from "../contracts/Store.ts"
import { disagreements, indexFile } from "./opened.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { ranked } from "../ranked.ts"

const lines = (word: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${word} ${n} of many`).join("\n")

describe("a rebuild", () => {
  const open = (filename: string) => Effect.provide(Sqlite.layer({ filename, mode: "create" }))
  const find = (text: string) =>
    Effect.flatMap(whole, (store) =>
      Effect.map(ranked(store, { keyword: text }), (hits) =>
        hits.map(({ passage, score }) => ({ text: passage.text, score }))
      )
    )
  const files = Effect.gen(function* () {
    const filename = yield* indexFile
    const exec = (statements: string) =>
      Effect.sync(() => {
        const db = new Database(filename)
        db.exec(statements)
        db.close()
      })
    return { filename, exec }
  })

  it.scoped("goes on where it was broken off, beside writes, and never leaves a search without results", () =>
    Effect.gen(function* () {
      const { exec, filename } = yield* files
      yield* Effect.gen(function* () {
        const store = yield* whole
        yield* store.createCollection(defaultCollection, embedder)
        for (let n = 0; n < 4; n++) {
          yield* store.put(defaultCollection, [document(lines(`river${n}`, 2500), { source: `river${n}` })])
        }
        assert.deepStrictEqual(yield* store.rebuilds(), [])
      }).pipe(open(filename))
      yield* exec("UPDATE keyword_segments SET terms_version = 0; UPDATE code_sets SET format = 0")

      yield* Effect.gen(function* () {
        const store = yield* whole
        const kinds = (yield* store.rebuilds()).map(({ kind, total }) => [kind, total])
        assert.deepStrictEqual(kinds, [
          ["postings", 10_000],
          ["codes", 10_000]
        ])
        const step = yield* store.rebuildStep()
        assert.isAbove(step!.done, 0)
        assert.isBelow(step!.done, 10_000)
        assert.strictEqual((yield* find("river3 2400"))[0]?.text, "river3 2400 of many")
        // A document that is done, one that is not, and a new one.
        yield* store.deleteSource(defaultCollection, "river0")
        yield* store.deleteSource(defaultCollection, "river3")
        yield* store.put(defaultCollection, [document(lines("lake", 30), { source: "lake" })])
        yield* store.rebuildStep()
      }).pipe(open(filename))

      const steps: Array<string> = []
      yield* Effect.gen(function* () {
        const store = yield* whole
        assert.isAbove((yield* store.rebuilds())[0]!.done, 0)
        for (;;) {
          const step = yield* store.rebuildStep()
          if (step === undefined) break
          steps.push(step.kind)
          assert.strictEqual((yield* find("lake 29"))[0]?.text, "lake 29 of many")
          assert.deepStrictEqual(yield* find("river0"), [])
        }
        assert.lengthOf(yield* find("river1"), 10)
      }).pipe(open(filename))
      assert.includeMembers(steps, ["postings", "codes"])
      const sql = yield* connect({ filename, mode: "readonly" })
      assert.deepStrictEqual(yield* disagreements(sql), [])
      const [codes] = yield* sql.unsafe("SELECT generation, rows, format FROM code_sets WHERE collection_id = 1")
      assert.deepStrictEqual(codes, { generation: "current", rows: 5030, format: 1 })
      assert.deepStrictEqual(yield* sql.unsafe("SELECT * FROM rebuilds"), [])
    })
  )

  it.scoped("begins again where a program of older terms left it half done, and keeps nothing of that", () =>
    Effect.gen(function* () {
      const { exec, filename } = yield* files
      yield* Effect.gen(function* () {
        const store = yield* whole
        yield* store.createCollection(defaultCollection, embedder)
        yield* store.put(defaultCollection, [document(lines("river", 5000), { source: "river" })])
        yield* exec("UPDATE keyword_segments SET terms_version = 0")
        assert.isBelow((yield* store.rebuildStep())!.done, 5000)
        yield* exec("UPDATE rebuilds SET terms_version = terms_version - 1")
        while ((yield* store.rebuildStep()) !== undefined);
      }).pipe(open(filename))
      assert.deepStrictEqual(yield* disagreements(yield* connect({ filename, mode: "readonly" })), [])
    })
  )

  it.scoped("is wanted again after a program of older terms has written", () =>
    Effect.gen(function* () {
      const { exec, filename } = yield* files
      yield* Effect.gen(function* () {
        const store = yield* whole
        yield* store.createCollection(defaultCollection, embedder)
        yield* store.put(defaultCollection, [document(lines("river", 10), { source: "river" })])
        yield* store.put(defaultCollection, [document(lines("sea", 10), { source: "sea" })])
      }).pipe(open(filename))
      yield* exec("UPDATE keyword_segments SET terms_version = 0 WHERE id = (SELECT max(id) FROM keyword_segments)")
      yield* Effect.gen(function* () {
        const store = yield* whole
        const before = yield* find("sea 3")
        assert.lengthOf(yield* store.rebuilds(), 1)
        while ((yield* store.rebuildStep()) !== undefined);
        assert.deepStrictEqual(yield* find("sea 3"), before)
      }).pipe(open(filename))
    })
  )

  it.scopedLive("mixes no segments of a newer Clew with its own, and still rewrites those with deleted passages", () =>
    Effect.gen(function* () {
      const { exec, filename } = yield* files
      const segments = Effect.scoped(
        Effect.flatMap(connect({ filename, mode: "readonly" }), (sql) =>
          sql.unsafe<{ readonly version: number; readonly dead: number }>(
            "SELECT terms_version AS version, dead FROM keyword_segments WHERE state = 0 ORDER BY first_id"
          )
        )
      )
      yield* Effect.gen(function* () {
        const store = yield* whole
        yield* store.createCollection(defaultCollection, embedder)
        for (let n = 0; n < 12; n++) {
          yield* store.put(defaultCollection, [document(lines(`river${n}`, 3), { source: `river${n}` })])
        }
      }).pipe(open(filename))
      yield* exec("UPDATE keyword_segments SET terms_version = 99 WHERE id >= 10")
      const before = yield* segments
      assert.isAbove(before.length, 2)
      yield* Effect.gen(function* () {
        const store = yield* whole
        for (let n = 20; n < 30; n++) {
          yield* store.put(defaultCollection, [document(lines(`sea${n}`, 3), { source: `sea${n}` })])
        }
        yield* store.deleteSource(defaultCollection, "river11")
        yield* store.deleteSource(defaultCollection, "sea29")
        yield* store.settle()
        assert.isTrue(yield* store.purge())
        assert.deepStrictEqual(yield* store.rebuilds(), [])
        assert.isAbove((yield* find("sea22")).length, 0)
      }).pipe(open(filename))
      const after = yield* segments
      assert.isTrue(after.every(({ dead }) => dead === 0))
      const newer = (of: typeof after) => of.filter(({ version }) => version === 99).length
      assert.strictEqual(newer(after), newer(before) - 1)
    })
  )
})
