import type * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Graph } from "../../../src/Graph.ts"
import { Llm } from "../../../src/Llm.ts"
import * as Extractive from "../../../src/Llm/Extractive.ts"
import { CollectionName } from "../../../src/model/Collection.ts"
import { GraphStore, Store } from "../../../src/Store.ts"
import { makeScoring } from "../../../src/Store/sqlite/scoring.ts"
import { connect } from "../../../src/Store/sqlite/connect.ts"
import { expand } from "../../../src/Store/sql/graph/reading.ts"
import { document, embedder } from "../../contracts/Store.ts"
import { indexFile } from "../opened.ts"
import * as Sqlite from "../../../src/Store/Sqlite.ts"

const name = CollectionName.make("hostile")

/** As many of each: mentions of one name, documents of one title, titles that name nothing, links in a circle. */
const hostile = (n: number) => [
  document(Array.from({ length: n }, () => "He met Ada Lovelace there.").join("\n"), { source: "many.md" }),
  ...Array.from({ length: n }, (_, at) => [
    document(`Nothing of ${at} but Ada Lovelace.`, { source: `one${at}.md`, title: "Same Title" }),
    document("It knew Same Title well.", { source: `letter${at}.md`, title: at % 2 === 0 ? "a" : "The" }),
    document(`See [it](./round${(at + 1) % n}.md) and [that](./round${(at + n - 1) % n}.md).`, {
      source: `round${at}.md`,
      title: `Round ${at}`
    })
  ]).flat(),
  document("Much of it was said of Round 1.", { source: "long.md", title: "Long ".repeat(200) })
]

/** Rows that statements give, and what packed lists in them hold. */
const counting = (sql: SqlClient.SqlClient) => {
  let read = 0
  const packed = (value: unknown): number =>
    typeof value === "string" && value.startsWith("[[") ? (JSON.parse(value) as ReadonlyArray<unknown>).length : 0
  const counted = new Proxy(sql, {
    get: (target, key) =>
      key === "unsafe"
        ? (...args: Parameters<typeof sql.unsafe>) =>
            Effect.tap(target.unsafe(...args), (rows) => {
              for (const row of rows) read += 1 + Object.values(row).reduce<number>((sum, one) => sum + packed(one), 0)
            })
        : Reflect.get(target, key)
  })
  return { sql: counted, read: () => read }
}

/** What a search, a look at a name and a way between two read in a collection of this size. */
const worked = (n: number) =>
  Effect.gen(function* () {
    const filename = yield* indexFile
    const asked: Record<string, number> = {}
    const context = yield* Layer.build(
      Graph.Default.pipe(
        Layer.provideMerge(
          Layer.merge(Sqlite.layer({ filename, mode: "create" }), Layer.succeed(Llm, Extractive.service))
        )
      )
    )
    const passages = yield* Effect.provide(
      Effect.gen(function* () {
        const store = yield* Store
        yield* store.createCollection(name, embedder)
        yield* store.put(name, hostile(n))
        const graph = yield* Graph
        for (const entity of ["Ada Lovelace", "Same Title", "Round 3"]) {
          const found = yield* graph.entity(name, entity, { hops: 3, limit: 200 })
          asked[`mentions of ${entity}`] = found.mentions.length
        }
        yield* graph.path(name, "Round 0", `Round ${n / 2}`)
        for (const title of ["a", "The", "Long ".repeat(200)]) {
          assert.strictEqual((yield* Effect.flip(graph.entity(name, title)))._tag, "EntityNotFound")
        }
        return (yield* (yield* GraphStore).graphPassages(name, { after: 0, limit: 5 })).map(({ id }) => id)
      }),
      context
    )
    const client = yield* connect({ filename, mode: "existing" })
    const { read, sql } = counting(client)
    for (const question of ["Where did Ada Lovelace meet Same Title?", "What is Round 1 to Round 2?"]) {
      const before = read()
      yield* expand(
        sql,
        { scoring: makeScoring() },
        {
          auto: false,
          collection: 1,
          documents: 3 * n,
          question,
          vector: undefined,
          mask: undefined,
          hits: passages.map((id) => ({ id, score: 1 }))
        }
      )
      asked[question] = read() - before
    }
    return asked
  })

describe("the graph of hostile documents", () => {
  it.scoped(
    "costs a search no more where they are many",
    () =>
      Effect.gen(function* () {
        const few = yield* worked(150)
        const many = yield* worked(600)
        for (const [what, steps] of Object.entries(many)) {
          assert.isAtMost(steps, few[what]! * 1.1 + 20, what)
          assert.isAtMost(steps, 3000, what)
        }
      }),
    60_000
  )
})
