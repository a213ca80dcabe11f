import { assert, describe, it } from "@effect/vitest"
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import { CollectionName } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import type { Condition, Filter } from "../../src/model/Filter.ts"
import { connect } from "../../src/Store/sqlite/connect.ts"
import { document, embedder } from "../contracts/Store.ts"
import { Cancelled } from "../../src/Store/sql/Cancelled.ts"
import { forEachNumber } from "../../src/Store/sql/rows.ts"
import { documentsWhere, matching } from "../../src/Store/sql/filter.ts"
import { Masks, idsOf } from "../../src/Store/sql/Masks.ts"
import { built, indexFile } from "./opened.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"

it("reads numbers out of a text", () => {
  const numbers = (text: string) => {
    const found: Array<number> = []
    forEachNumber(Buffer.from(text), (number) => found.push(number))
    return found
  }
  assert.deepStrictEqual(numbers(""), [])
  assert.deepStrictEqual(numbers("0"), [0])
  assert.deepStrictEqual(numbers("12,3,4503599627370496"), [12, 3, 4503599627370496])
})

it.prop("lists a mask's passages", [FastCheck.uniqueArray(FastCheck.nat(300), { maxLength: 40 })], ([ids]) => {
  const bits = new Uint32Array(10)
  for (const id of ids) bits[id >>> 5]! |= 1 << (id & 31)
  assert.deepStrictEqual(
    [...idsOf(bits)],
    ids.toSorted((a, b) => a - b)
  )
})

const names = ["a", "b"].map((name) => CollectionName.make(name))

const scalar = FastCheck.oneof(
  FastCheck.constantFrom("x", "y", "a/b", "", "1"),
  FastCheck.integer({ min: -2, max: 3 }),
  FastCheck.boolean()
)
const condition: FastCheck.Arbitrary<Condition> = FastCheck.oneof(
  scalar,
  FastCheck.array(scalar, { maxLength: 3 }),
  FastCheck.constantFrom<Condition>({ gte: 0 }, { gt: 0, lte: 2 }, { lt: "y" }, { gte: "a", lt: "x" }),
  FastCheck.constantFrom<Condition>("s1*", "s?", "*", "t[0]*", ["s1*", "t[0]*"], ["s2", "s1*", 1]),
  FastCheck.boolean().map((exists): Condition => ({ exists })),
  scalar.map((not): Condition => ({ not })),
  FastCheck.constantFrom<Condition>(
    { not: { gte: 0, lt: 2 } },
    { not: ["x", 1, "s1*"] },
    { not: ["*9", "t[1?]", "s1*", "x*", "?*0"] },
    ["*2", "t[?]", "s1*", "s3", "x*", "?*0", 1],
    { not: [] },
    { gte: 0, not: 1 },
    { exists: true, not: "x" }
  )
)
const plain: FastCheck.Arbitrary<Filter> = FastCheck.dictionary(
  FastCheck.constantFrom("m", "n", "source", "doc_id", "title"),
  condition,
  { minKeys: 1, maxKeys: 3 }
)
const filters = FastCheck.array(FastCheck.oneof(plain, FastCheck.constant<Filter>({})), { minLength: 1, maxLength: 3 })
const filter: FastCheck.Arbitrary<Filter> = FastCheck.oneof(
  plain,
  filters.map((or): Filter => ({ or })),
  FastCheck.tuple(plain, filters, filters).map(([plain, or, and]): Filter => ({ ...plain, or, and: [{ or: and }] }))
)
const metadata = FastCheck.dictionary(
  FastCheck.constantFrom("m", "n"),
  FastCheck.oneof(
    scalar,
    FastCheck.array(scalar, { maxLength: 3 }),
    FastCheck.constantFrom(null, {}, { m: 1 }, [null], [{ n: "x" }, 1])
  )
)
const documents = FastCheck.array(
  FastCheck.record({
    n: FastCheck.nat(12),
    collection: FastCheck.nat(1),
    lines: FastCheck.nat(3),
    metadata,
    named: FastCheck.boolean(),
    title: FastCheck.option(FastCheck.constantFrom("x", "X", "y"), { nil: undefined })
  }),
  { maxLength: 12 }
)

/** What the filter leaves by a join over the passages themselves. */
const joined = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number, filter: Filter) {
  const { params, sql: where } = yield* documentsWhere(sql, collection, filter)
  const rows = yield* sql.unsafe<{ readonly id: number }>(
    `SELECT p.id FROM passages AS p JOIN documents AS d ON d.id = p.document_id WHERE ${where} ORDER BY p.id`,
    params
  )
  return rows.map(({ id }) => id)
})

/** A filter that says the same without lists of many globs, which SQLite then compares with each source. */
const inShortLists = ({ and, or, source, ...rest }: Filter): Filter => {
  const parts = (list: unknown) => (list as ReadonlyArray<Filter>).map(inShortLists)
  const isExcluded = typeof source === "object" && "not" in source
  const texts = isExcluded ? source.not : source
  const each = Array.isArray(texts) ? texts.map((text): Filter => ({ source: isExcluded ? { not: text } : text })) : []
  const all = [
    ...(and === undefined ? [] : parts(and)),
    ...(each.length < 5 ? (source === undefined ? [] : [{ source }]) : isExcluded ? each : [{ or: each }])
  ]
  return { ...rest, ...(or === undefined ? {} : { or: parts(or) }), ...(all.length === 0 ? {} : { and: all }) }
}

describe("masks", () => {
  const opened = Effect.gen(function* () {
    const filename = yield* indexFile
    const store = yield* built(Sqlite.layer({ filename, mode: "create" }))
    for (const name of names) yield* store.createCollection(name, embedder)
    return { store, sql: yield* connect({ filename, mode: "readonly" }) }
  })

  it.scoped("leave the passages that the filter leaves, also after documents came and went", () =>
    Effect.gen(function* () {
      const { sql, store } = yield* opened
      // Of the one no document is looked up alone, of the other all are.
      const both = [new Masks(-1), new Masks()]
      const batches = FastCheck.sample(FastCheck.tuple(documents, FastCheck.array(filter, { minLength: 4 })), {
        numRuns: 12,
        seed: 5
      })
      let some = 0
      for (const [documents, filters] of batches) {
        for (const { collection, lines, metadata, n, named, title } of documents) {
          const text = Array.from({ length: lines }, (_, line) => `line ${line}`).join("\n")
          const key = named ? { source: `s${n}` } : { docId: DocumentId.make(`t[${n}]`) }
          yield* store.put(names[collection]!, [document(text, { ...key, metadata, title })])
          if (n === 0) yield* store.deleteSource(names[collection]!, "s1")
        }
        for (const given of filters) {
          for (const collection of [1, 2]) {
            const expected = yield* joined(sql, collection, inShortLists(given))
            for (const masks of both) {
              const mask = yield* masks.of(sql, collection, given)
              const left = mask === undefined ? yield* joined(sql, collection, {}) : [...idsOf(mask.bits)]
              assert.deepStrictEqual(left, expected, JSON.stringify(given))
              assert.strictEqual(mask?.count ?? left.length, expected.length)
            }
            assert.deepStrictEqual(yield* joined(sql, collection, given), expected)
            some += expected.length > 0 ? 1 : 0
          }
        }
      }
      assert.isAbove(some, 50)
    })
  )

  it.scoped("of a thousand globs are made in slices, and given up where nobody waits", () =>
    Effect.gen(function* () {
      const { sql, store } = yield* opened
      for (const name of names) {
        const some = Array.from({ length: 150 }, (_, n) =>
          document(`one of ${n}`, { source: `/notes/${n % 7}/${n}.md` })
        )
        yield* store.put(name, some)
        yield* store.put(name, [document("no source", { docId: DocumentId.make("/notes/3/none.md") })])
      }
      const globs = Array.from({ length: 1000 }, (_, n) => `/notes/${n + 3}/*`)
      const whole = yield* matching(sql, 2, globs)
      assert.lengthOf(whole, 4 * 21 + 1)
      for (const slice of [1, 7, 151, 152]) {
        assert.deepStrictEqual(yield* matching(sql, 2, globs, slice), whole, `slices of ${slice}`)
      }
      assert.lengthOf(yield* matching(sql, 3, globs), 0)

      // Whoever asked is looked for now and then within a slice, and between two.
      let asked = 0
      const hard = Array.from({ length: 1000 }, (_, n) => `*n*o*t*e*s*${"?".repeat(n)}*n`)
      const given = yield* Effect.exit(
        Effect.provideService(matching(sql, 2, hard), Cancelled, () => {
          asked++
          return true
        })
      )
      assert.isTrue(Exit.isInterrupted(given))
      assert.strictEqual(asked, 1)
      let statements = 0
      const counting = new Proxy(sql, {
        get: (target, key) =>
          key === "unsafe"
            ? (...args: Parameters<typeof sql.unsafe>) => {
                statements++
                return statements === 3 ? Effect.interrupt : target.unsafe(...args)
              }
            : Reflect.get(target, key)
      })
      assert.isTrue(Exit.isInterrupted(yield* Effect.exit(matching(counting, 2, globs, 10))))
      assert.strictEqual(statements, 3)
    })
  )

  it.scoped("of long filters that match nothing do not pile up", () =>
    Effect.gen(function* () {
      const { sql, store } = yield* opened
      const masks = new Masks()
      yield* store.put(names[0]!, [document("one", { source: "s" })])
      const long = "x".repeat(1_000_000)
      for (let n = 0; n < 40; n++) yield* masks.of(sql, 1, { doc_id: `${n}${long}` })
      assert.isAbove(masks.kept.size, 0)
      assert.isAtMost(masks.kept.size, 32 * 1024 * 1024)
    })
  )

  it.scoped("are computed once for a state, and there is none for an empty filter", () =>
    Effect.gen(function* () {
      const { sql, store } = yield* opened
      const masks = new Masks()
      yield* store.put(names[0]!, [document("one\ntwo", { source: "s", metadata: { m: 1, n: 2 } })])
      assert.isUndefined(yield* masks.of(sql, 1, {}))
      const first = yield* masks.of(sql, 1, { m: 1, n: 2 })
      assert.strictEqual(first!.count, 2)
      assert.strictEqual(yield* masks.of(sql, 1, { n: 2, m: 1 }), first)
      // Another collection's documents change nothing; this one's do.
      yield* store.put(names[1]!, [document("one", { source: "s", metadata: { m: 1, n: 2 } })])
      assert.strictEqual(yield* masks.of(sql, 1, { m: 1, n: 2 }), first)
      yield* store.put(names[0]!, [document("three", { source: "t", metadata: { m: 1, n: 2 } })])
      assert.strictEqual((yield* masks.of(sql, 1, { m: 1, n: 2 }))!.count, 3)
      yield* store.deleteSource(names[0]!, "s")
      assert.strictEqual((yield* masks.of(sql, 1, { m: 1, n: 2 }))!.count, 1)
    })
  )
})
