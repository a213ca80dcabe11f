import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { exercise, fill, operations, readsAll as readsAllAnywhere } from "./exercise.ts"
import { built, indexFile } from "./opened.ts"
import { layer } from "../../src/Store/Sqlite.ts"

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

const open = (filename: string) => built(layer({ filename, mode: "create" }))

/** Reads everything, or as much as one asks for, because that is what it is asked for. */
const readsAll: ReadonlyArray<readonly [pattern: RegExp, why: string]> = [
  [/vec_distance_cosine/, "few vectors are scored exactly, one by one"],
  ...readsAllAnywhere,
  [
    /^SELECT count\(\*\) AS count FROM \(SELECT 1 FROM vectors_\d+ AS v LIMIT \?\) AS few$/,
    "as many as the limit says"
  ],
  [/^INSERT INTO collections /, "looks for what hangs on a row that is not there yet"]
]

const grows =
  /\b(?:documents|passages|metadata_values|graph_names|graph_mentions|graph_recent|files|keyword_postings|keyword_tombstones|code_blocks|vectors_\d+)/

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
    const store = yield* open(yield* indexFile)
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
      const filename = yield* indexFile
      yield* Effect.scoped(Effect.flatMap(open(filename), (store) => fill(store, documents)))
      connections.clear()
      const store = yield* open(filename)
      yield* exercise(store)
      // Nothing is kept, so that each page that is needed is read.
      for (const db of connections) {
        if (db.open) db.exec("PRAGMA mmap_size = 0; PRAGMA cache_size = 1; PRAGMA shrink_memory")
      }
      const pages: Record<string, number> = {}
      for (const [name, operation] of Object.entries(operations)) {
        let least = Infinity
        for (let round = 1; round <= 2; round++) {
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
  "needs no more pages for an operation where there are five times as many documents",
  () =>
    Effect.gen(function* () {
      const few = yield* pagesOf(1000)
      const many = yield* pagesOf(5000)
      const grown = Object.entries(many).flatMap(([name, pages]) =>
        // A tree is a level deeper, and a bitmap or a head of a segment some pages longer.
        pages > 1.6 * few[name]! + 24 ? [`${name}: ${few[name]} pages, then ${pages}`] : []
      )
      assert.strictEqual(grown.join("\n"), "")
      assert.isAbove(
        Object.values(many).reduce((sum, pages) => sum + pages, 0),
        100
      )
    }),
  120_000
)
