import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { make } from "../../src/Embedder/Builtin.ts"
import { CollectionName, defaultCollection, type EmbedderIdentity } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import type { Vector } from "../../src/model/Passage.ts"
import type { PreparedDocument, StoreStats } from "../../src/model/Stored.ts"
import type { Whole } from "../../src/Store.ts"
import * as Threaded from "../../src/Store/SqliteThreaded.ts"
import { normal, randomVectors } from "../codes/random.ts"
import type { VectorOptions } from "../../src/Store/sql/vectors.ts"
import { built, indexFile } from "./opened.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { type RankedRequest, ranked } from "../ranked.ts"

const scanned: VectorOptions = { exact: false, oversample: "auto", exactBelow: 0 }
const exact: VectorOptions = { exact: true, oversample: "auto" }

/** A document of a passage a vector. */
const document = (docId: string, vectors: ReadonlyArray<Vector | undefined>, group: number): PreparedDocument => ({
  docId: DocumentId.make(docId),
  derivedId: DocumentId.make(docId),
  fingerprint: docId,
  content: vectors.map(() => "x").join(""),
  language: "en",
  metadata: { group },
  passages: vectors.map((vector, at) => ({
    text: "x",
    heading: [],
    start: at,
    end: at + 1,
    startLine: 1,
    endLine: 1,
    vector: Option.fromNullable(vector)
  }))
})

const identity = (dimensions: number): EmbedderIdentity => ({
  backend: "test",
  model: `of ${dimensions}`,
  dimensions,
  queryPrefix: "",
  passagePrefix: ""
})

const codeBytes = ({ engines }: StoreStats): number => engines.find(({ name }) => name === "code_bytes")!.value

const open = (filename: string, vectors: VectorOptions) => built(Sqlite.layer({ filename, mode: "create", vectors }))

type Service = Whole

const best = (store: Service, vector: Vector, request: RankedRequest = {}) =>
  Effect.map(ranked(store, { vector, alpha: 1, ...request }), (hits) =>
    hits.map(({ document, passage, score }) => ({ id: `${document.docId}.${passage.ordinal}`, score }))
  )

const sentences = (): ReadonlyArray<string> => {
  const folder = fileURLToPath(new URL("../../docs/", import.meta.url))
  return readdirSync(folder)
    .filter((name) => name.endsWith(".md"))
    .flatMap((name) => readFileSync(folder + name, "utf8").split(/(?<=[.?!:|])\s+/))
    .filter((sentence) => (sentence.match(/[a-z]{3,}/gi) ?? []).length > 4)
}

/** As many batches of documents as make `count` passages, ten a document. */
const fill = (store: Service, vectors: ReadonlyArray<Vector>) =>
  Effect.gen(function* () {
    for (let from = 0; from < vectors.length; from += 1000) {
      yield* store.put(
        defaultCollection,
        Array.from({ length: Math.ceil(Math.min(1000, vectors.length - from) / 10) }, (_, i) => {
          const at = from + i * 10
          return document(`d${at}`, vectors.slice(at, at + 10), (at / 10) % 20)
        })
      )
    }
  })

describe("the vector leg", () => {
  it.scoped("finds by codes what a full scan finds, on the packaged model's vectors, with and without a filter", () =>
    Effect.gen(function* () {
      const { embedPassages } = yield* make()
      const pool = sentences()
      const next = normal(3)
      const pick = () => pool[Math.floor(Math.abs(next() * 1e6)) % pool.length]!
      const texts = Array.from({ length: 4200 }, () => `${pick()} ${pick()}`)
      const embedded = (yield* embedPassages(texts)).map(Option.getOrThrow)
      const queries = (yield* embedPassages(Array.from({ length: 12 }, pick))).map(Option.getOrThrow)
      const filename = yield* indexFile
      const [byCodes, fully] = [yield* open(filename, scanned), yield* open(filename, exact)]
      yield* byCodes.createCollection(defaultCollection, identity(256))
      yield* fill(byCodes, embedded)
      for (const filter of [{}, { group: { lt: 10 } }, { group: 3 }]) {
        let found = 0
        for (const query of queries) {
          const expected = yield* best(fully, query, { filter })
          const given = yield* best(byCodes, query, { filter })
          assert.strictEqual(given.length, 10)
          const ids = new Set(expected.map(({ id }) => id))
          found += given.filter(({ id }) => ids.has(id)).length
        }
        assert.isAtLeast(found / (10 * queries.length), 0.99)
      }
      // They were asked, and the full scan did not ask them.
      assert.isAtLeast(codeBytes(yield* byCodes.stats()), 4200 * 40)
      assert.strictEqual(codeBytes(yield* fully.stats()), 0)
    })
  )

  it.scoped.each([3, 1000])("works at width %i", (width) =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      const [byCodes, fully] = [yield* open(filename, { ...scanned, oversample: 20 }), yield* open(filename, exact)]
      yield* byCodes.createCollection(defaultCollection, identity(width))
      yield* fill(byCodes, randomVectors(4500, width, 1))
      for (const query of randomVectors(3, width, 2)) {
        assert.deepStrictEqual(yield* best(byCodes, query), yield* best(fully, query))
      }
      assert.isAbove(codeBytes(yield* byCodes.stats()), 0)
    })
  )

  it.scoped("sees what another connection wrote with the next query, and forgets what is deleted or replaced", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      const [writer, reader] = [yield* open(filename, scanned), yield* open(filename, scanned)]
      yield* writer.createCollection(defaultCollection, identity(16))
      yield* fill(writer, randomVectors(4500, 16, 1))
      const query = randomVectors(1, 16, 5)[0]!
      const first = yield* Effect.map(best(reader, query), ([hit]) => hit!.id)
      yield* writer.put(defaultCollection, [document("new", [undefined, query, new Float32Array(16)], 77)])
      assert.deepStrictEqual(
        (yield* best(reader, query)).slice(0, 2).map(({ id }) => id),
        ["new.1", first]
      )
      // A passage without a vector, or with one of no direction, is not near anything.
      assert.deepStrictEqual(
        (yield* best(reader, query, { filter: { group: 77 } })).map(({ id }) => id),
        ["new.1"]
      )
      const away = query.map((value) => -value)
      yield* writer.put(defaultCollection, [document("new", [away], 77)])
      assert.strictEqual((yield* best(reader, query))[0]!.id, first)
      assert.strictEqual((yield* best(reader, away))[0]!.id, "new.0")
      yield* writer.deleteDocument(defaultCollection, DocumentId.make("new"))
      yield* writer.deleteDocument(defaultCollection, DocumentId.make(first.split(".")[0]!))
      const left = yield* best(reader, query, { limit: 100 })
      assert.isFalse(left.some(({ id }) => id.startsWith("new") || id.split(".")[0] === first.split(".")[0]))
      assert.deepStrictEqual(yield* best(reader, query, { filter: { group: 77 } }), [])
      assert.deepStrictEqual(yield* best(reader, new Float32Array(16)), [])
      yield* writer.dropCollection(defaultCollection)
      yield* writer.createCollection(defaultCollection, identity(16))
      assert.deepStrictEqual(yield* best(reader, query), [])
    })
  )

  it.scoped("puts more equals than anybody reads in the order of their documents, in both legs", () =>
    Effect.gen(function* () {
      const store = yield* open(yield* indexFile, scanned)
      yield* store.createCollection(defaultCollection, identity(16))
      const same = randomVectors(1, 16, 5)[0]!
      const other = same.map((value, at) => (at % 3 === 0 ? value : -value))
      const copies = Array.from({ length: 100 }, () => same)
      // What is stored last comes first. Others between them move the centroids that codes are made around.
      for (let n = 130; n-- > 0;) {
        const docId = `d${String(n).padStart(3, "0")}`
        yield* store.put(defaultCollection, [
          document(docId, copies, 1),
          document(
            `e${n}`,
            copies.map(() => other),
            2
          )
        ])
      }
      const first = Array.from({ length: 100 }, (_, at) => `d000.${at}`)
      const ids = (found: ReadonlyArray<{ readonly id: string }>) => found.map(({ id }) => id)
      assert.deepStrictEqual(ids(yield* best(store, same, { limit: 100 })), first)
      assert.deepStrictEqual(ids(yield* best(store, same, { limit: 100, filter: { group: 1 } })), first)
      const byWord = { vector: undefined, keyword: "x", limit: 100 }
      assert.deepStrictEqual(ids(yield* best(store, same, byWord)), first)
      assert.deepStrictEqual(ids(yield* best(store, same, { ...byWord, filter: { group: 1 } })), first)
      assert.deepStrictEqual(ids(yield* best(store, same, { keyword: "x", limit: 100 })), first)
    })
  )

  it.scoped("loads codes once for all threads of a pool", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      const writer = yield* open(filename, exact)
      yield* writer.createCollection(defaultCollection, identity(16))
      yield* fill(writer, randomVectors(4500, 16, 1))
      const pooled = yield* built(Threaded.layerPooled({ filename, mode: "existing", vectors: scanned, readers: 3 }))
      const queries = randomVectors(12, 16, 2)
      const expected = yield* Effect.forEach(queries, (query) => best(writer, query))
      const given = yield* Effect.forEach(queries, (query) => best(pooled, query), { concurrency: 6 })
      assert.deepStrictEqual(given, expected)
      // A second copy would be as much again.
      const bytes = codeBytes(yield* pooled.stats())
      assert.isAtLeast(bytes, 4500 * 16)
      assert.isBelow(bytes, 2 * 4500 * 16)
    })
  )

  it.scoped("changes over to another embedder's codes and width in one step", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      const [writer, reader] = [yield* open(filename, scanned), yield* open(filename, scanned)]
      yield* writer.createCollection(defaultCollection, identity(16))
      yield* fill(writer, randomVectors(4500, 16, 1))
      const before = yield* best(reader, randomVectors(1, 16, 5)[0]!)
      yield* writer.beginReindex(defaultCollection, identity(40))
      const query = randomVectors(1, 40, 6)[0]!
      let given = 0
      for (;;) {
        const { passages: waiting, position } = yield* writer.unembedded(defaultCollection, identity(40), 1000)
        if (waiting.length === 0) break
        const vectors = randomVectors(waiting.length, 40, 100 + given)
        yield* writer.putReindexed(
          defaultCollection,
          waiting.map(({ id }, i) => ({ id, vector: Option.some(given + i === 4321 ? query : vectors[i]!) })),
          position
        )
        given += waiting.length
        assert.deepStrictEqual(yield* best(reader, randomVectors(1, 16, 5)[0]!), before)
      }
      // Gone before the change, so it must not come back with it.
      yield* writer.deleteDocument(defaultCollection, DocumentId.make("d0"))
      assert.isTrue((yield* writer.finishReindex(defaultCollection, identity(40))).changed)
      const [hit] = yield* best(reader, query)
      assert.strictEqual(hit!.id, "d4320.1")
      assert.closeTo(hit!.score, 1, 1e-6)
      assert.strictEqual((yield* best(reader, query, { limit: 100 })).length, 100)
    })
  )

  it.scoped("makes codes of the vectors that an older version stored without any", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      const query = randomVectors(1, 16, 5)[0]!
      const before = yield* Effect.scoped(
        Effect.gen(function* () {
          const store = yield* open(filename, exact)
          yield* store.createCollection(defaultCollection, identity(16))
          yield* store.createCollection(CollectionName.make("small"), identity(16))
          yield* fill(store, randomVectors(5000, 16, 1))
          return yield* best(store, query, { filter: { group: { gte: 5 } } })
        })
      )
      const older = new Database(filename)
      older.pragma("foreign_keys = ON")
      older.exec("DELETE FROM code_sets")
      older.close()
      const store = yield* open(filename, { ...scanned, oversample: 20 })
      assert.deepStrictEqual(yield* best(store, query, { filter: { group: { gte: 5 } } }), before)
      assert.strictEqual(codeBytes(yield* store.stats()), 0)
      while ((yield* store.rebuildStep()) !== undefined);
      assert.deepStrictEqual(yield* best(store, query, { filter: { group: { gte: 5 } } }), before)
      assert.isAbove(codeBytes(yield* store.stats()), 5000 * 16)
    })
  )
})
