import { assert, it } from "@effect/vitest"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { createRequire } from "node:module"
import { defaultCollection } from "../../src/model/Collection.ts"
import * as Postgres from "../../src/Store/Postgres.ts"
import { Ahead } from "../../src/Store/postgres/ahead.ts"
import { make as makeClient, transaction } from "../../src/Store/postgres/client.ts"
import { document, embedder } from "../contracts/Store.ts"
import { exercise, fill, readsAll } from "../Store/exercise.ts"
import { built } from "../Store/opened.ts"
import { fresh, hasPostgres, serverOfFile } from "../Store/postgres/server.ts"
import { ranked } from "../ranked.ts"

interface Driver {
  readonly Client: { readonly prototype: { query: (...args: Array<unknown>) => unknown } }
}

/** Statements as the driver sends them, each with its last parameters. */
const listen = Effect.acquireRelease(
  Effect.sync(() => {
    const statements = new Map<string, ReadonlyArray<unknown>>()
    let count = 0
    const { prototype } = (createRequire(import.meta.url)("pg") as Driver).Client
    const { query } = prototype
    prototype.query = function (...args) {
      const [text, parameters] = args
      count++
      if (typeof text === "string") statements.set(text, Array.isArray(parameters) ? parameters : [])
      return query.apply(this, args)
    }
    return { statements, counted: () => count, stop: () => (prototype.query = query) }
  }),
  ({ stop }) => Effect.sync(stop)
)

const grows = new Set([
  "documents",
  "passages",
  "metadata_values",
  "files",
  "keyword_postings",
  "keyword_tombstones",
  "code_blocks",
  "vectors",
  "vectorless",
  "graph_passages",
  "graph_mentions",
  "graph_recent",
  "graph_names",
  "graph_answers"
])

/** Small tables are scanned, since that is faster. So: what a plan is when each row has to be found by an index. */
const indexed = ["seqscan", "hashjoin", "mergejoin"].map((kind) => `SET LOCAL enable_${kind} TO off`).join("; ")

interface Plan {
  readonly "Node Type": string
  readonly "Relation Name"?: string
  readonly "Index Name"?: string
  readonly "Index Cond"?: string
  readonly Plans?: ReadonlyArray<Plan>
}

/** The nodes that read a whole table that grows, or a whole index or collection of it without a limit. */
const scans = (plan: Plan, isLimited = false): ReadonlyArray<string> => {
  const { "Index Cond": condition, "Node Type": kind, "Relation Name": table } = plan
  // A bitmap's index has no name of a table; it begins with it.
  const of = table ?? [...grows].find((name) => plan["Index Name"]?.startsWith(name))
  const tellsLittle = condition === undefined || /^\(collection_id = [^()]+\)$/.test(condition)
  const isScan = kind === "Seq Scan" || (/Index (?:Only )?Scan$/.test(kind) && tellsLittle && !isLimited)
  const limited = isLimited || kind === "Limit"
  return [
    ...(isScan && of !== undefined && grows.has(of) ? [`${kind} of ${of} by ${condition ?? "nothing"}`] : []),
    ...(plan.Plans ?? []).flatMap((inner) => scans(inner, limited))
  ]
}

if (hasPostgres) {
  const server = serverOfFile()

  it.scopedLive(
    "plans no scan of a table that grows",
    () =>
      Effect.gen(function* () {
        const { statements } = yield* listen
        const options = fresh(yield* server)
        const store = yield* built(Postgres.layer(options))
        yield* fill(store, 8000)
        const sql = yield* makeClient({ ...options, pool: 1 })
        const here = transaction(sql, `BEGIN; SET LOCAL search_path TO "${options.schema}"; ${indexed}`)
        // Of an empty table, any plan is good.
        const copy = "INSERT INTO graph_recent SELECT * FROM graph_mentions"
        yield* here(sql.unsafe(copy))
        statements.delete(copy)
        yield* here(sql.unsafe("ANALYZE"))
        yield* exercise(store)
        const sent = [...statements].filter(
          ([text]) => /^\s*(?:SELECT|UPDATE|DELETE|INSERT|WITH)\b/.test(text) && !/\bpg_/.test(text)
        )
        assert.isAbove(sent.length, 40)
        const fault = (text: string, parameters: ReadonlyArray<unknown>) =>
          Effect.map(
            here(sql.unsafe<{ readonly "QUERY PLAN": string }>(`EXPLAIN (FORMAT JSON) ${text}`, parameters)),
            ([row]) => {
              const [{ Plan }] = JSON.parse(row!["QUERY PLAN"]) as [{ readonly Plan: Plan }]
              return scans(Plan).map((scan) => `${scan} in ${text}`)
            }
          )
        const faults = yield* Effect.forEach(sent, ([text, parameters]) =>
          readsAll.some(([pattern]) => pattern.test(text)) ? Effect.succeed([]) : fault(text, parameters)
        )
        assert.strictEqual(faults.flat().join("\n\n"), "")
        // The rule sees what it looks for.
        assert.isNotEmpty(yield* fault("SELECT * FROM documents WHERE line = $1", [1]))
      }),
    120_000
  )

  it.scopedLive("waits for few answers in a search: what every search reads comes with the beginning", () =>
    Effect.gen(function* () {
      const { counted } = yield* listen
      const options = fresh(yield* server)
      const store = yield* built(Postgres.layer(options))
      yield* fill(store, 5000)
      const search = (n: number) =>
        ranked(store, {
          keyword: `river ${n}`,
          vector: Float32Array.of(1, n, 2, 3),
          alpha: 0.5,
          filter: { n: { gte: 1 } },
          limit: 5
        })
      for (let n = 0; n < 4; n++) yield* search(n)
      // What the store does by itself in between counts, too, so the least of several searches is what one needs.
      const sent = yield* Effect.forEach([5, 6, 7, 8, 9, 10], (n) =>
        Effect.gen(function* () {
          const before = counted()
          yield* search(n)
          return counted() - before
        })
      )
      // The end of the transaction is one of them.
      assert.isAtMost(Math.min(...sent), 5)
    })
  )

  it.scopedLive("finds the nearest by finer codes, which a server makes after its first search", () =>
    Effect.gen(function* () {
      const options = { ...fresh(yield* server), vectors: { oversample: "auto", exact: false } as const }
      const opened = (finerBytes: number) =>
        built(Postgres.layer({ ...options, vectors: { ...options.vectors, finerBytes, exactBelow: 0 } }))
      const [plain, refining] = [yield* opened(0), yield* opened(2 ** 24)]
      const wide = { ...embedder, dimensions: 64 }
      yield* plain.createCollection(defaultCollection, wide)
      const vectorOf = (n: number) => Float32Array.from({ length: 64 }, (_, at) => Math.sin(n * (at + 1) ** 1.7))
      for (let from = 0; from < 6000; from += 1000) {
        yield* plain.put(
          defaultCollection,
          Array.from({ length: 1000 }, (_, n) =>
            document("river", { source: `/${from + n}`, vectors: [vectorOf(from + n)] })
          )
        )
      }
      const nearest = (store: typeof plain, n: number) =>
        Effect.map(ranked(store, { vector: vectorOf(n + 0.01), limit: 9 }), (hits) =>
          hits.map(({ document }) => document.source)
        )
      const bytes = Effect.map(
        refining.stats(),
        ({ engines }) => engines.find(({ name }) => name === "code_bytes")!.value
      )
      yield* nearest(refining, 0)
      const before = yield* bytes
      yield* Effect.repeat(Effect.delay(bytes, 50), { until: (now) => now > 2 * before })
      for (let n = 0; n < 9; n++) assert.deepStrictEqual(yield* nearest(refining, n), yield* nearest(plain, n))
    })
  )

  it.effect("begins without what it would ask ahead if that fails", () =>
    Effect.gen(function* () {
      const sent: Array<string> = []
      let isGone = false
      const run = (text: string) =>
        Effect.suspend(() => {
          sent.push(text)
          return isGone && text.includes("'7'")
            ? new SqlError({ cause: new Error("gone"), message: "gone" })
            : Effect.succeed(text.split("; ").map((one) => [{ one }]))
        })
      const connection = { execute: run, executeUnprepared: run } as unknown as Connection
      const ahead = new Ahead()
      for (let n = 0; n < 3; n++) {
        const begun = yield* ahead.begin(connection, "BEGIN; SELECT 1")
        assert.deepStrictEqual(begun.rows, [{ one: "SELECT 1" }])
        yield* begun.connection.execute("SELECT * FROM a WHERE id = $1", [7], undefined)
      }
      isGone = true
      const begun = yield* ahead.begin(connection, "BEGIN; SELECT 1")
      assert.deepStrictEqual(begun.rows, [{ one: "SELECT 1" }])
      assert.deepStrictEqual(sent, [
        "BEGIN; SELECT 1",
        "SELECT * FROM a WHERE id = $1",
        "BEGIN; SELECT 1",
        "SELECT * FROM a WHERE id = $1",
        "BEGIN; SELECT 1; SELECT * FROM a WHERE id = '7'",
        "BEGIN; SELECT 1; SELECT * FROM a WHERE id = '7'",
        "ROLLBACK",
        "BEGIN; SELECT 1"
      ])
    })
  )

  it.scopedLive(
    "has an index for each reference between tables, so that deleting a row does not scan another table",
    () =>
      Effect.gen(function* () {
        const options = fresh(yield* server)
        yield* Layer.build(Postgres.layer(options))
        const sql = yield* makeClient({ ...options, pool: 1 })
        const missing = yield* sql.unsafe<{ readonly name: string }>(
          `SELECT c.conrelid::regclass::text AS name FROM pg_constraint AS c
         JOIN pg_namespace AS n ON n.oid = c.connamespace AND n.nspname = ?
         WHERE c.contype = 'f' AND NOT EXISTS (
           SELECT 1 FROM pg_index AS i WHERE i.indrelid = c.conrelid AND i.indkey[0] = c.conkey[1] AND i.indpred IS NULL)`,
          [options.schema]
        )
        assert.deepStrictEqual(missing, [])
      })
  )
}
