import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as fs from "node:fs"
import * as path from "node:path"
import { CollectionName } from "../../src/model/Collection.ts"
import { glance } from "../../src/Store/glance.ts"
import * as SqliteExaminer from "../../src/Store/SqliteExaminer.ts"
import { temporaryFolder } from "../folder.ts"
import { indexFile, opened as open } from "./opened.ts"
import { document, embedder, skipped } from "../contracts/Store.ts"
import { pause } from "../../src/Store/sql/upkeep.ts"
import { Examiner, type Whole } from "../../src/Store.ts"
import { ranked } from "../ranked.ts"

const doomed = CollectionName.make("doomed")
const stays = CollectionName.make("stays")
const next = { ...embedder, model: "next" }

const note = (n: number) =>
  document(`quokka ${n} of the Gobi\nand ${n} rivers`, {
    source: `note${n}`,
    origin: `/notes/${n}`,
    title: `Note ${n}`,
    metadata: { doomed: n, tags: ["a"] }
  })

const fill = Effect.fnUntraced(function* (store: Whole, documents: number) {
  yield* store.createCollection(stays, embedder)
  yield* store.put(stays, [document("about rivers", { source: "river", metadata: { kept: 1 } })])
  yield* store.createCollection(doomed, embedder)
  const run = yield* store.beginRun(doomed, [{ path: "/notes", include: [], exclude: [] }])
  for (let from = 0; from < documents; from += 200) {
    const some = Array.from({ length: Math.min(200, documents - from) }, (_, at) => note(from + at))
    yield* store.put(doomed, some, { seenBy: run })
  }
})

const tables = [
  "collections",
  "documents",
  "passages",
  "metadata_values",
  "files",
  "roots",
  "code_sets",
  "code_blocks",
  "code_epochs",
  "graph_passages",
  "graph_mentions",
  "graph_recent",
  "graph_names",
  "graph_answers",
  "keyword_segments",
  "keyword_postings",
  "keyword_tombstones",
  "reindexes",
  "rebuilds"
]

/** How many rows each table has, whatever the store makes of them. */
const rowsOf = (filename: string): Readonly<Record<string, number>> => {
  const db = new Database(filename, { readonly: true })
  try {
    const vectors = db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'vectors_%'")
      .pluck()
      .all() as ReadonlyArray<string>
    return Object.fromEntries(
      [...tables, ...vectors].map((name) => [name, Number(db.prepare(`SELECT count(*) FROM ${name}`).pluck().get())])
    )
  } finally {
    db.close()
  }
}

const changesIn = (before: Readonly<Record<string, number>>, after: Readonly<Record<string, number>>) =>
  Object.entries(before).reduce((sum, [name, rows]) => sum + Math.abs(rows - (after[name] ?? 0)), 0)

/** A step of what goes on beside everything else, which waits for the clock between two. */
const step = TestClock.adjust(pause).pipe(Effect.zipRight(Effect.yieldNow()))

/** Two steps, one of each store that is open, take away this many rows at most, with those that hang on them. */
const mostRows = 3000

const sweep = Effect.fnUntraced(function* (store: Whole, filename: string) {
  const taken: Array<number> = []
  for (let before = rowsOf(filename); yield* store.sweeping();) {
    yield* step
    const after = rowsOf(filename)
    taken.push(changesIn(before, after))
    before = after
    assert.isBelow(taken.length, 1000, "sweeping goes on")
  }
  return taken
})

describe("a dropped collection", () => {
  it.scoped("is gone at once for everybody, and in steps from the file, between which others write", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      const { store } = yield* open(filename)
      yield* fill(store, 500)
      // More files without a document than steps may take at once.
      yield* store.put(doomed, [], {
        files: Array.from({ length: mostRows }, (_, n) => skipped(`/notes/skipped/${n}`))
      })
      const { store: other } = yield* open(filename)
      const full = rowsOf(filename)
      assert.deepStrictEqual(yield* store.dropCollection(doomed), { documents: 500, passages: 1000 })
      const left = rowsOf(filename)
      assert.isAbove(left["documents"]!, 400)
      assert.isBelow(changesIn(full, left), mostRows)

      // Nobody sees it, while another writes.
      yield* other.put(stays, [document("another river", { source: "other" })])
      for (const one of [store, other]) {
        assert.deepStrictEqual(
          (yield* one.collections).map(({ name }) => name),
          [stays]
        )
        assert.strictEqual((yield* one.stats()).collections, 1)
        assert.strictEqual((yield* one.stats()).documents, 2)
        assert.deepStrictEqual(
          (yield* one.recent(5)).map(({ source }) => source),
          ["other", "river"]
        )
        assert.deepStrictEqual(yield* one.metadataKeys(["doomed", "kept"]), { unknown: ["doomed"], known: ["kept"] })
        assert.deepStrictEqual(yield* one.rebuilds(), [])
        assert.strictEqual((yield* Effect.flip(one.collection(doomed)))._tag, "CollectionNotFound")
      }
      assert.deepStrictEqual(glance(filename)?.collections, [{ name: "stays", documents: 2 }])
      assert.notInclude(glance(filename)?.sources.join(), "note")
      // The name is free.
      yield* other.createCollection(doomed, embedder)
      yield* other.put(doomed, [document("a quokka", { source: "new" })])

      const taken = yield* sweep(store, filename)
      assert.isAbove(taken.length, 5)
      assert.isBelow(Math.max(...taken), mostRows)
      const after = rowsOf(filename)
      assert.strictEqual(after["collections"], 2)
      assert.strictEqual(after["documents"], 3)
      assert.strictEqual(after["passages"], 3)
      assert.deepStrictEqual([after["files"], after["roots"], after["metadata_values"]], [0, 0, 1])
      const found = yield* ranked(other, { collection: doomed, keyword: "quokka", limit: 9 })
      assert.deepStrictEqual(
        found.map(({ document: { source } }) => source),
        ["new"]
      )
    })
  )

  it.scoped("whose taking away was broken off is not seen again, and the next one who writes goes on", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      const first = yield* open(filename)
      yield* fill(first.store, 500)
      yield* first.store.beginReindex(doomed, next)
      yield* first.store.dropCollection(doomed)
      yield* step
      yield* step
      yield* first.close
      assert.isAbove(rowsOf(filename)["documents"]!, 100)

      const examined = yield* Effect.flatMap(Examiner, (it) => it.examine(() => Effect.void)).pipe(
        Effect.provide(SqliteExaminer.layer(filename))
      )
      assert.deepStrictEqual(
        examined.filter(({ status }) => status !== "ok").map(({ name, status }) => [name, status]),
        [["sweeps", "warn"]]
      )
      const { store } = yield* open(filename)
      assert.deepStrictEqual(
        (yield* store.collections).map(({ name }) => name),
        [stays]
      )
      assert.isTrue(yield* store.sweeping())
      yield* store.put(stays, [document("more rivers", { source: "more" })])
      yield* sweep(store, filename)
      assert.strictEqual(rowsOf(filename)["documents"], 2)
      assert.strictEqual(rowsOf(filename)["collections"], 1)
    })
  )

  it.scoped("is swept by a command that ends, unless another process writes meanwhile, which goes on with it", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      const first = yield* open(filename)
      yield* fill(first.store, 500)
      yield* first.store.dropCollection(doomed)
      yield* first.close
      const { store } = yield* open(filename)
      const { store: other } = yield* open(filename)
      const settling = yield* Effect.fork(store.settle())
      yield* step
      yield* step
      assert.isNull(settling.unsafePoll())
      yield* other.put(stays, [document("another river", { source: "other" })])
      yield* step
      yield* step
      assert.isNotNull(settling.unsafePoll())
      assert.isTrue(yield* store.sweeping())
      yield* sweep(other, filename)
      assert.strictEqual(rowsOf(filename)["collections"], 1)
    })
  )

  it.scoped("leaves no byte after compacting, whatever had been taken away before", () =>
    Effect.gen(function* () {
      const place = yield* temporaryFolder
      const filename = path.join(place, "index.db")
      const { store } = yield* open(filename)
      yield* fill(store, 400)
      yield* store.dropCollection(doomed)
      assert.isTrue((yield* store.compact()).complete)
      assert.isFalse(yield* store.sweeping())
      for (const name of fs.readdirSync(place)) {
        const bytes = fs.readFileSync(path.join(place, name))
        // The texts, and the graph's names, which are in lower case.
        for (const word of ["quokka", "gobi"]) assert.isFalse(bytes.includes(word), `${word} in ${name}`)
      }
    })
  )
})

it.scoped("a change of embedder hands the old vectors over to be taken away in steps", () =>
  Effect.gen(function* () {
    const filename = yield* indexFile
    const { store } = yield* open(filename)
    yield* fill(store, 600)
    yield* store.beginReindex(doomed, next)
    for (;;) {
      const { passages, position } = yield* store.unembedded(doomed, next, 500)
      if (passages.length === 0) break
      const vector = Option.some(Float32Array.of(0, 1, 0, 0))
      yield* store.putReindexed(
        doomed,
        passages.map(({ id }) => ({ id, vector })),
        position
      )
    }
    const full = rowsOf(filename)
    assert.isTrue((yield* store.finishReindex(doomed, next)).changed)
    const vectors = (rows: Readonly<Record<string, number>>) =>
      Object.entries(rows).reduce((sum, [name, count]) => sum + (name.startsWith("vectors_") ? count : 0), 0)
    // In the place of the current ones at once, which are nearly all there yet.
    assert.isAbove(vectors(rowsOf(filename)), vectors(full) - 600)
    const hits = yield* ranked(store, { collection: doomed, vector: Float32Array.of(0, 1, 0, 0), limit: 1 })
    assert.closeTo(hits[0]!.score, 1, 1e-6)
    const taken = yield* sweep(store, filename)
    assert.isAbove(taken.length, 3)
    assert.strictEqual(vectors(rowsOf(filename)), 1201)
    assert.strictEqual(rowsOf(filename)["collections"], 2)
  })
)
