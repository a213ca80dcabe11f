import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { CollectionName, defaultCollection } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import { whole, type Whole } from "../../src/Store.ts"
import { layer } from "../../src/Store/Sqlite.ts"
import { document, embedder } from "../contracts/Store.ts"

type Service = Whole

/** Statements as they are compiled, and the connections that compile them. */
const listen = Effect.acquireRelease(
  Effect.sync(() => {
    const statements = new Set<string>()
    const connections = new Set<Database.Database>()
    const { prepare } = Database.prototype
    Database.prototype.prepare = function (this: Database.Database, sql: string) {
      statements.add(sql)
      connections.add(this)
      return prepare.call(this, sql)
    } as typeof prepare
    return { statements, connections, stop: () => (Database.prototype.prepare = prepare) }
  }),
  ({ stop }) => Effect.sync(stop)
)

const folder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "clew-work-"))),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true }))
)

const other = CollectionName.make("other")
const id = (n: number) => DocumentId.make(`d${n}`)

/** A word of one document alone; of letters, since digits would be told from them. */
const rare = (n: number) => `qz${n.toString(8).replace(/\d/g, (digit) => "bcdfghjk"[Number(digit)]!)}`

const file = (n: number) =>
  document(`passage ${n} of many, and ${rare(n)}`, {
    docId: id(n),
    source: `/all/${n % 100}/${n}.txt`,
    origin: `/all/${n % 100}/${n}.txt`,
    title: `T${n}`,
    metadata: { year: n }
  })

const fill = Effect.fnUntraced(function* (store: Service, documents: number) {
  for (const name of [defaultCollection, other]) {
    yield* store.createCollection(name, embedder)
    const count = name === other ? documents / 4 : documents
    for (let from = 0; from < count; from += 1000) {
      yield* store.put(
        name,
        Array.from({ length: Math.min(1000, count - from) }, (_, n) => file(from + n))
      )
    }
  }
})

const ref = (n: number) => ({ derivedId: id(n), docId: id(n) })
const next = { ...embedder, model: "next" }

/** Every operation of the port that a door asks for again and again; `n` is different each time. */
const operations: Readonly<Record<string, (store: Service, n: number) => Effect.Effect<unknown, unknown>>> = {
  collections: (store) => store.collections,
  stats: (store) => store.stats(),
  beginRun: (store) => store.beginRun(defaultCollection),
  lookup: (store, n) => store.lookup(defaultCollection, [ref(n), ref(n + 40)]),
  get: (store, n) => store.get(defaultCollection, id(n)),
  touch: (store, n) =>
    store.touch(
      defaultCollection,
      Array.from({ length: 64 }, (_, at) => ({ docId: id(n + at), line: n })),
      n
    ),
  knownFiles: (store, n) => store.knownFiles(defaultCollection, [`/all/${n % 100}/${n}.txt`, "/none"]),
  filesBelow: (store) => store.filesBelow(defaultCollection, "/all/50", { limit: 10, after: "/all/50/1" }),
  documentsOf: (store, n) => store.documentsOf(defaultCollection, `/all/${n % 100}/${n}.txt`, { limit: 10 }),
  roots: (store) => store.roots(defaultCollection),
  "first page": (store) => store.list(defaultCollection, { limit: 10 }),
  "page after": (store, n) => store.list(defaultCollection, { limit: 10, after: id(n) }),
  "page of a title": (store, n) => store.list(defaultCollection, { limit: 10, filter: { title: `T${n}` } }),
  "page of a source": (store, n) =>
    store.list(defaultCollection, { limit: 10, filter: { source: `/all/${n % 100}/${n}.txt` } }),
  filtered: (store, n) => store.filtered([defaultCollection, other], { source: `/all/${n % 100}/${n}.txt`, year: n }),
  exported: (store) => store.exported(defaultCollection, { limit: 10, from: { isBare: false, after: 100 } }),
  "exported without passages": (store) =>
    store.exported(defaultCollection, { limit: 10, from: { isBare: true, after: 0 } }),
  keepLinkage: (store) => store.keepLinkage(defaultCollection, 0.1),
  sample: (store) => store.sample(defaultCollection, [0, 0.5, 1]),
  "put a new one": (store, n) => store.put(defaultCollection, [file(1_000_000 + n)]),
  "put an old one": (store, n) => store.put(defaultCollection, [{ ...file(n), fingerprint: "changed" }]),
  deleteDocument: (store, n) => store.deleteDocument(defaultCollection, id(n + 200)),
  deleteSource: (store, n) => store.deleteSource(defaultCollection, `/all/${(n + 300) % 100}/${n + 300}.txt`),
  "prune many paths": (store, n) =>
    store.prune(
      defaultCollection,
      Array.from({ length: 600 }, (_, at) => `/gone/${n}/${at}`)
    ),
  "delete a folder": (store, n) => store.prune(defaultCollection, [`/gone/${n}`]),
  beginReindex: (store) => store.beginReindex(defaultCollection, next),
  unembedded: (store) => store.unembedded(defaultCollection, next, 10),
  "rank by vector under a title": (store, n) =>
    store.rank({
      collection: defaultCollection,
      vector: Float32Array.of(1, 0, 0, 0),
      alpha: 1,
      fusion: "rrf",
      filter: { title: `T${n}` },
      limit: 5
    }),
  "rank by vector under a value": (store, n) =>
    store.rank({
      collection: defaultCollection,
      vector: Float32Array.of(1, 0, 0, 0),
      alpha: 1,
      fusion: "rrf",
      filter: { year: n },
      limit: 5
    })
}

const open = (filename: string) => Layer.build(layer({ filename, mode: "create" }))

const exercise = Effect.fnUntraced(function* (store: Service) {
  for (const [at, operation] of Object.values(operations).entries()) yield* Effect.orDie(operation(store, 100 + at))
})

/** Reads everything, or as much as one asks for, because that is what it is asked for. */
const readsAll: ReadonlyArray<readonly [pattern: RegExp, why: string]> = [
  [/vec_distance_cosine/, "few vectors are scored exactly, one by one"],
  [/sum\(length\(/, "the sizes of everything, for the benchmark"],
  [/^SELECT count\(\*\) AS count FROM \(SELECT 1 FROM vectors_\d+ LIMIT \?\)$/, "as many as the limit says"],
  [/^INSERT INTO collections /, "looks for what hangs on a row that is not there yet"]
]

const grows =
  /\b(?:documents|passages|metadata_values|files|keyword_postings|keyword_tombstones|code_blocks|vectors_\d+)/

/** What is wrong with a statement's plan: a scan, or a search that only tells collections apart. */
const fault = (db: Database.Database, sql: string): string | undefined => {
  if (!/^\s*(?:SELECT|UPDATE|DELETE|INSERT|WITH)\b/i.test(sql) || readsAll.some(([pattern]) => pattern.test(sql)))
    return
  const parameters = Array.from({ length: sql.split("?").length - 1 }, () => null)
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters) as ReadonlyArray<{ readonly detail: string }>
  const sorts = plan.some(({ detail }) => detail.startsWith("USE TEMP B-TREE FOR ORDER BY"))
  for (const { detail } of plan) {
    const [, kind, name = ""] = /^(SCAN|SEARCH) (\S+)/.exec(detail) ?? []
    const table = new RegExp(`\\b(\\w+) AS ${name}\\b`).exec(sql)?.[1] ?? name
    if (kind === undefined || !grows.test(table)) continue
    const isOrdered = /\bLIMIT\b/.test(sql) && !sorts
    if (kind === "SCAN" || (detail.endsWith("(collection_id=?)") && !isOrdered)) return `${detail} in ${sql}`
  }
  return undefined
}

it.scoped("plans no scan of a table that grows", () =>
  Effect.gen(function* () {
    const { connections, statements } = yield* listen
    const context = yield* open(path.join(yield* folder, "index.db"))
    const store = yield* Effect.provide(whole, context)
    statements.clear()
    yield* fill(store, 2000)
    yield* exercise(store)
    const db = [...connections].at(-1)!
    const compiled = [...statements].filter((sql) => !/^\s*(?:CREATE|ALTER|DROP|PRAGMA|EXPLAIN)/i.test(sql))
    assert.isAbove(compiled.length, 40)
    assert.strictEqual(compiled.flatMap((sql) => fault(db, sql) ?? []).join("\n\n"), "")
    // The rule sees what it looks for.
    assert.isDefined(fault(db, "SELECT * FROM documents WHERE title = ?"))
    assert.isDefined(fault(db, "SELECT count(*) FROM documents AS d WHERE d.collection_id = ? AND d.line = ?"))
    const touch = `UPDATE documents SET line = 1 FROM json_each(?) AS t
      WHERE collection_id = ? AND doc_id = t.value ->> 0`
    assert.isDefined(fault(db, touch))
  })
)

/** Bytes this process has asked the system to read. */
const bytesRead = () => Number(/rchar: (\d+)/.exec(fs.readFileSync("/proc/self/io", "latin1"))?.[1])

const pagesOf = (documents: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { connections } = yield* listen
      const filename = path.join(yield* folder, "index.db")
      yield* Effect.scoped(
        Effect.flatMap(open(filename), (context) =>
          Effect.flatMap(Effect.provide(whole, context), (store) => fill(store, documents))
        )
      )
      connections.clear()
      const store = yield* Effect.provide(whole, yield* open(filename))
      yield* exercise(store)
      // Nothing is kept, so that each page that is needed is read.
      for (const db of connections) {
        if (db.open) db.exec("PRAGMA mmap_size = 0; PRAGMA cache_size = 1; PRAGMA shrink_memory")
      }
      const pages: Record<string, number> = {}
      for (const [name, operation] of Object.entries(operations)) {
        let least = Infinity
        for (let round = 1; round <= 3; round++) {
          const before = bytesRead()
          yield* Effect.orDie(operation(store, 400 + round * 30))
          least = Math.min(least, (bytesRead() - before) / 4096)
        }
        pages[name] = Math.round(least)
      }
      return pages
    })
  )

it.effect.skipIf(!fs.existsSync("/proc/self/io"))(
  "needs no more pages for an operation where there are sixteen times as many documents",
  () =>
    Effect.gen(function* () {
      const few = yield* pagesOf(2000)
      const many = yield* pagesOf(32_000)
      const grown = Object.entries(many).flatMap(([name, pages]) =>
        // A tree is a level deeper, and a bitmap or a head of a segment some pages longer.
        pages > 1.6 * few[name]! + 48 ? [`${name}: ${few[name]} pages, then ${pages}`] : []
      )
      assert.strictEqual(grown.join("\n"), "")
      assert.isAbove(
        Object.values(many).reduce((sum, pages) => sum + pages, 0),
        100
      )
    }),
  120_000
)
