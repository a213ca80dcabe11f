import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { Cancelled } from "../../src/Store/sql/Cancelled.ts"
import { type SqliteClient, transaction } from "../../src/Store/sqlite/client.ts"
import * as collections from "../../src/Store/sql/collections.ts"
import { connect } from "../../src/Store/sqlite/connect.ts"
import * as documents from "../../src/Store/sql/documents.ts"
import * as keyword from "../../src/Store/sql/keyword.ts"
import { put as putDocuments } from "../../src/Store/sql/put.ts"
import { defaultCollection } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import type { Mask } from "../../src/model/Passage.ts"
import { headingPath } from "../../src/model/SearchResult.ts"
import type { PreparedDocument } from "../../src/model/Stored.ts"
import { plan } from "../../src/postings/tiers.ts"
import { documentLanguage } from "../../src/terms/detect.ts"
import { embedder } from "../contracts/Store.ts"
import { fts5 } from "../fts5.ts"
import { built, indexFile } from "./opened.ts"

const words =
  "river sea rivers running run C++ v1.2.3 東京 東京都 水 香水 水道の水 it the naïve 🚀 state-of-the-art".split(" ")

/** Now and then a text without a term. */
const text = FastCheck.oneof(
  {
    arbitrary: FastCheck.array(FastCheck.constantFrom(...words), { minLength: 1, maxLength: 12 }).map((all) =>
      all.join(" ")
    ),
    weight: 9
  },
  { arbitrary: FastCheck.constant("***"), weight: 1 }
)

interface Content {
  readonly title: string
  readonly passages: ReadonlyArray<{ readonly heading: string; readonly text: string }>
}

const content: FastCheck.Arbitrary<Content> = FastCheck.record({
  title: FastCheck.oneof(FastCheck.constant(""), text),
  passages: FastCheck.array(FastCheck.record({ heading: FastCheck.oneof(FastCheck.constant(""), text), text }), {
    maxLength: 5
  })
})

const prepared = (name: number, { passages, title }: Content): PreparedDocument => {
  let start = 0
  return {
    docId: DocumentId.make(`d${name}`),
    derivedId: DocumentId.make(`derived${name}`),
    fingerprint: "",
    content: passages.map((passage) => passage.text).join("\n"),
    title,
    language: documentLanguage(passages),
    metadata: { half: name % 2 },
    passages: passages.map(({ heading, text }) => {
      const from = start
      start += text.length + 1
      return {
        text,
        heading: heading === "" ? [] : [heading],
        start: from,
        end: from + text.length,
        startLine: 1,
        endLine: 1,
        vector: Option.none()
      }
    })
  }
}

const queries = [
  "river",
  "running rivers sea",
  "river river sea",
  "the",
  "水",
  "水 東京都",
  "state of the art",
  "c++ v1",
  "🚀",
  "nothing like it",
  ""
]

interface Row {
  readonly id: number
  readonly half: number
  readonly title: string
  readonly heading: string
  readonly text: string
}

const stored = Effect.fnUntraced(function* (sql: SqliteClient, collection: number) {
  const rows = yield* sql.unsafe<Row>(
    `SELECT p.id, d.metadata ->> '$.half' AS half, coalesce(d.title, '') AS title, p.heading, p.text
     FROM passages AS p JOIN documents AS d ON d.id = p.document_id WHERE d.collection_id = ? ORDER BY p.id`,
    [collection]
  )
  return rows.map((row) => ({ ...row, heading: headingPath(JSON.parse(row.heading) as ReadonlyArray<string>) }))
})

const maskOf = (ids: ReadonlySet<number>): Mask => {
  const bits = new Uint32Array((Math.max(0, ...ids) >>> 5) + 1)
  for (const id of ids) bits[id >>> 5]! |= 1 << (id & 31)
  return { bits, count: ids.size }
}

/** Sums come out differently in the last digits, by the order of their parts. */
const close = 1e-9

/** Holds what is found for all queries, filtered and not, against FTS5 over what is stored. */
const agrees = Effect.fnUntraced(function* (sql: SqliteClient, collection: number, depth = 10) {
  const rows = yield* stored(sql, collection)
  const halves = new Set(rows.filter(({ half }) => half === 1).map(({ id }) => id))
  const reference = fts5(rows)
  for (const query of queries) {
    const all = reference.search(query)
    for (const mask of [undefined, maskOf(halves)]) {
      const expected = all.filter(({ id }) => mask === undefined || halves.has(id))
      const also = expected.slice(-2).map(({ id }) => id)
      const found = yield* keyword.search(sql, [collection], query, { depth, mask, also })
      const about = `${query} ${mask === undefined ? "" : "filtered"}`
      const scores = new Map(expected.map(({ id, score }) => [id, score]))
      const wanted = Math.min(depth, expected.length)
      const cut = expected[wanted - 1]?.score ?? 0
      const best = found.filter(({ id }) => !also.includes(id) || scores.get(id)! >= cut * (1 - close))
      const ids = new Set(found.map(({ id }) => id))
      assert.strictEqual(ids.size, found.length, about)
      for (const { id, score } of expected) {
        if (score > cut * (1 + close) || also.includes(id)) assert.isTrue(ids.has(id), about)
      }
      assert.isAtLeast(best.length, wanted, about)
      for (const [rank, { id, score }] of best.entries()) {
        assert.approximately(score, scores.get(id)!, close * score, about)
        assert.approximately(score, expected[Math.min(rank, wanted - 1)]!.score, close * score, about)
      }
      for (const { id, score } of found) assert.approximately(score, scores.get(id)!, close * score, about)
    }
  }
  reference.close()
})

const holds = Effect.fnUntraced(function* (sql: SqliteClient, collection: number) {
  assert.deepStrictEqual(yield* keyword.verify(sql, collection), [])
})

const write = (sql: SqliteClient) => transaction(sql, "BEGIN IMMEDIATE")

/** So little that a step ends with the first block that it reads. */
const small = { bytes: 1, largePassages: 1e9 }
/** The same, with a step to begin and one to end. */
const smallest = { bytes: 1, largePassages: 0 }

const segmentsIn = (sql: SqliteClient, state: number) =>
  Effect.map(
    sql.unsafe<{ readonly n: number }>("SELECT count(*) AS n FROM keyword_segments WHERE state = ?", [state]),
    ([row]) => row!.n
  )

const make = Effect.fnUntraced(function* (sql: SqliteClient) {
  return yield* write(sql)(collections.create(sql, defaultCollection, embedder, 0))
})

const put = (sql: SqliteClient, name: number, content: Content) =>
  write(sql)(
    Effect.flatMap(collections.find(sql, defaultCollection), (collection) =>
      putDocuments(sql, collection, [prepared(name, content)], 0, { inGraph: true })
    )
  )

const remove = (sql: SqliteClient, collection: number, name: number) =>
  write(sql)(documents.removeWhere(sql, collection, "doc_id", `d${name}`))

const one = (text: string): Content => ({ title: "", passages: [{ heading: "", text }] })

const name = FastCheck.nat(11)

type Edit =
  | { readonly put: number; readonly content: Content }
  | { readonly remove: number }
  | { readonly merge: number }
  | { readonly fail: true }
  | { readonly reopen: true }

const edit: FastCheck.Arbitrary<Edit> = FastCheck.oneof(
  { arbitrary: FastCheck.record({ put: name, content }), weight: 6 },
  { arbitrary: FastCheck.record({ remove: name }), weight: 2 },
  { arbitrary: FastCheck.record({ merge: FastCheck.integer({ min: 1, max: 12 }) }), weight: 2 },
  { arbitrary: FastCheck.record({ fail: FastCheck.constant(true as const) }), weight: 1 },
  { arbitrary: FastCheck.record({ reopen: FastCheck.constant(true as const) }), weight: 1 }
)

/** An open connection, and a way to close it as a process that ends. */
const opened = Effect.fnUntraced(function* (filename: string) {
  const scope = yield* Scope.make()
  const sql = yield* Scope.extend(connect({ filename, mode: "create" }), scope)
  return { sql, close: Scope.close(scope, Exit.void) }
})

describe("the keyword index", () => {
  const file = indexFile
  const database = Effect.flatMap(file, (filename) => connect({ filename, mode: "create" }))

  it.effect.prop(
    "finds what FTS5 finds after any edits, merging in the smallest steps, whatever breaks off",
    [FastCheck.array(edit, { minLength: 10, maxLength: 60 })],
    ([edits]) =>
      Effect.gen(function* () {
        const filename = yield* file
        let { close, sql } = yield* opened(filename)
        const { id } = yield* make(sql)
        for (const edit of edits) {
          if ("put" in edit) yield* put(sql, edit.put, edit.content)
          else if ("remove" in edit) yield* remove(sql, id, edit.remove)
          else if ("merge" in edit) {
            const options = edit.merge % 2 === 0 ? small : smallest
            for (let step = 0; step < edit.merge; step++) yield* write(sql)(keyword.mergeStep(sql, options))
          } else if ("fail" in edit) {
            yield* Effect.flip(write(sql)(Effect.zipRight(keyword.mergeStep(sql, small), Effect.fail("broken off"))))
          } else {
            yield* close
            ;({ close, sql } = yield* opened(filename))
          }
        }
        yield* holds(sql, id)
        yield* agrees(sql, id, 5)
        yield* Effect.repeat(write(sql)(keyword.mergeStep(sql)), { while: (more) => more })
        yield* holds(sql, id)
        yield* agrees(sql, id)
        yield* close
      }).pipe(Effect.scoped),
    { fastCheck: { numRuns: 6, endOnFailure: true } }
  )

  it.scoped("carries what is deleted while it merges, through every step and a new start", () =>
    Effect.gen(function* () {
      const filename = yield* file
      let { close, sql } = yield* opened(filename)
      const { id } = yield* make(sql)
      for (let n = 0; n < 8; n++) yield* put(sql, n, one(`river ${"sea ".repeat(n)}word${n}`))
      let steps = 0
      for (; yield* write(sql)(keyword.mergeStep(sql, smallest)); steps++) {
        if (steps === 2) assert.strictEqual(yield* segmentsIn(sql, 1), 1)
        if (steps < 7) yield* remove(sql, id, steps)
        yield* holds(sql, id)
        yield* agrees(sql, id)
        yield* close
        ;({ close, sql } = yield* opened(filename))
      }
      assert.isAbove(steps, 6)
      assert.strictEqual(yield* segmentsIn(sql, 0), 1)
      assert.strictEqual(yield* segmentsIn(sql, 1), 0)
      yield* holds(sql, id)
      yield* agrees(sql, id)
      yield* close
    })
  )

  it.scoped("is left with no trace of what was deleted, once merged", () =>
    Effect.gen(function* () {
      const sql = yield* database
      const { id } = yield* make(sql)
      yield* put(sql, 1, one("secretword and river"))
      yield* put(sql, 2, one("river"))
      const bytes = Effect.map(
        sql.unsafe<{ readonly n: number }>(
          "SELECT count(*) AS n FROM keyword_postings WHERE instr(data, 'secretword')"
        ),
        ([row]) => row!.n
      )
      assert.strictEqual(yield* bytes, 1)
      yield* remove(sql, id, 1)
      yield* Effect.repeat(write(sql)(keyword.mergeStep(sql)), { while: (more) => more })
      assert.strictEqual(yield* bytes, 0)
      yield* remove(sql, id, 2)
      yield* Effect.repeat(write(sql)(keyword.mergeStep(sql)), { while: (more) => more })
      for (const table of ["segments", "postings", "tombstones"]) {
        assert.deepStrictEqual(yield* sql.unsafe(`SELECT * FROM keyword_${table}`), [])
      }
      yield* holds(sql, id)
      assert.deepStrictEqual(yield* keyword.search(sql, [id], "river", { depth: 5, mask: undefined, also: [] }), [])
    })
  )

  it.scoped("gives a reader its snapshot while another connection writes and merges", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const writer = yield* connect({ filename, mode: "create" })
      const reader = yield* connect({ filename, mode: "create" })
      const { id } = yield* make(writer)
      for (let n = 0; n < 9; n++) yield* put(writer, n, one(`river ${"sea ".repeat(n)}`))
      const look = keyword.search(reader, [id], "river sea", { depth: 20, mask: undefined, also: [] })
      // Not `transaction`, whose connection would serve the writer too.
      yield* reader.unsafe("BEGIN")
      const before = yield* look
      assert.strictEqual(before.length, 9)
      for (let n = 0; n < 9; n++) {
        if (n === 5) yield* Effect.repeat(write(writer)(keyword.mergeStep(writer)), { while: (more) => more })
        yield* remove(writer, id, n)
        assert.deepStrictEqual(yield* look, before)
        // Both connections share what is loaded.
        const now = yield* keyword.search(writer, [id], "river sea", { depth: 20, mask: undefined, also: [] })
        assert.strictEqual(now.length, 8 - n)
      }
      yield* put(writer, 1, one("river anew"))
      assert.deepStrictEqual(yield* look, before)
      yield* agrees(reader, id)
      yield* holds(reader, id)
      yield* reader.unsafe("COMMIT")
      assert.strictEqual((yield* look).length, 1)
      yield* agrees(reader, id)
    })
  )

  it.scoped("does not keep what was rolled back", () =>
    Effect.gen(function* () {
      const sql = yield* database
      const { id } = yield* make(sql)
      yield* put(sql, 0, one("river"))
      yield* put(sql, 1, one("river sea"))
      const found = (query: string) =>
        Effect.map(keyword.search(sql, [id], query, { depth: 5, mask: undefined, also: [] }), (hits) => hits.length)
      for (const [gone, kept] of [
        [0, "lost"],
        [1, "won"]
      ] as const) {
        yield* Effect.flip(
          write(sql)(
            Effect.gen(function* () {
              yield* documents.removeWhere(sql, id, "doc_id", `d${gone}`)
              yield* keyword.insert(sql, id, [{ id: 100, title: "", heading: "", text: `river ${kept}` }])
              assert.strictEqual(yield* found("river"), 2)
              assert.strictEqual(yield* found(kept), 1)
              return yield* Effect.fail("rolled back")
            })
          )
        )
      }
      assert.strictEqual(yield* found("lost"), 0)
      assert.strictEqual(yield* found("river"), 2)
      yield* agrees(sql, id)
    })
  )

  it.scoped("gives all that tie with the last, by their ids", () =>
    Effect.gen(function* () {
      const sql = yield* database
      const { id } = yield* make(sql)
      const passages = Array.from({ length: 3000 }, (_, n) => ({
        heading: "",
        text: n % 10 === 0 ? "river river" : "river sea"
      }))
      yield* put(sql, 0, { title: "", passages })
      const ids = (yield* stored(sql, id)).map((row) => row.id)
      const best = ids.filter((_, n) => n % 10 === 0)
      const found = yield* keyword.search(sql, [id], "river", { depth: 200, mask: undefined, also: [] })
      assert.deepStrictEqual(
        found.map((hit) => hit.id),
        best
      )
      const deeper = yield* keyword.search(sql, [id], "river", { depth: 400, mask: undefined, also: [] })
      assert.deepStrictEqual(
        deeper.map((hit) => hit.id),
        [...best, ...ids.filter((_, n) => n % 10 !== 0)]
      )
    })
  )

  it.scoped("takes up a merge whose inputs have passages without a term", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      const first = yield* opened(filename)
      const { id } = yield* make(first.sql)
      for (let n = 0; n < 7; n++) yield* put(first.sql, n, one(`river${n} sea`))
      yield* put(first.sql, 7, one("***"))
      assert.isTrue(yield* write(first.sql)(keyword.mergeStep(first.sql, small)))
      yield* first.close
      const { close, sql } = yield* opened(filename)
      yield* Effect.repeat(write(sql)(keyword.mergeStep(sql)), { while: (more) => more })
      assert.deepStrictEqual(yield* keyword.verify(sql, id), [])
      assert.strictEqual((yield* keyword.search(sql, [id], "sea", { depth: 9, mask: undefined, also: [] })).length, 7)
      yield* close
    })
  )

  it.scoped("takes up a merge whose blocks begin with words that many passages have", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      let { close, sql } = yield* opened(filename)
      const { id } = yield* make(sql)
      const passages = Array.from({ length: 300 }, (_, n) => ({ heading: "", text: `a abbey river${n % 9} sea` }))
      for (let n = 0; n < 8; n++) yield* put(sql, n, { title: "", passages })
      let steps = 0
      while (yield* write(sql)(keyword.mergeStep(sql, small))) {
        steps++
        yield* close
        ;({ close, sql } = yield* opened(filename))
      }
      assert.isAbove(steps, 2)
      assert.deepStrictEqual(yield* keyword.verify(sql, id), [])
      yield* close
    })
  )

  it.scoped("gives up where nobody waits any more", () =>
    Effect.gen(function* () {
      const sql = yield* database
      const { id } = yield* make(sql)
      yield* put(sql, 0, one("river"))
      const look = keyword.search(sql, [id], "river", { depth: 5, mask: undefined, also: [] })
      const exit = yield* Effect.exit(Effect.provideService(look, Cancelled, () => true))
      assert.isTrue(Exit.isInterrupted(exit))
      assert.strictEqual((yield* look).length, 1)
    })
  )

  it.scoped("holds frequencies of any size", () =>
    Effect.gen(function* () {
      const sql = yield* database
      const { id } = yield* make(sql)
      for (const [n, often] of [1, 2, 3, 4, 300, 70_000].entries()) {
        yield* put(sql, n, {
          title: "river ".repeat(Math.min(often, 500)),
          passages: [
            { heading: "sea river ".repeat(often % 1000), text: "river ".repeat(often) },
            { heading: "", text: "sea" }
          ]
        })
      }
      yield* agrees(sql, id)
      yield* holds(sql, id)
    })
  )

  it.scoped("scores many passages as FTS5 does, in segments of several blocks and windows", () =>
    Effect.gen(function* () {
      const sql = yield* database
      const { id } = yield* make(sql)
      let seed = 1
      const next = (n: number) => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) % n
      const passage = () => ({
        heading: next(5) === 0 ? "river" : "",
        text: Array.from({ length: 1 + next(8) }, () =>
          next(3) === 0 ? words[next(words.length)] : `w${next(3000)}`
        ).join(" ")
      })
      for (let n = 0; n < 8; n++) {
        yield* put(sql, n, { title: n % 3 === 0 ? "sea" : "", passages: Array.from({ length: 1300 }, passage) })
      }
      yield* agrees(sql, id, 200)
      yield* holds(sql, id)
      let steps = 0
      while (yield* write(sql)(keyword.mergeStep(sql, { bytes: 8000, largePassages: 0 }))) steps++
      assert.isAbove(steps, 5)
      yield* remove(sql, id, 4)
      yield* agrees(sql, id, 200)
      yield* holds(sql, id)
    })
  )

  it.scoped("merges by itself while documents come and go", () =>
    Effect.gen(function* () {
      const filename = yield* file
      const sql = yield* connect({ filename, mode: "create" })
      const store = yield* built(Sqlite.layer({ filename, mode: "existing" }))
      yield* store.createCollection(defaultCollection, embedder)
      for (let n = 0; n < 40; n++) {
        yield* store.put(defaultCollection, [prepared(n % 25, one(`river ${n}`))])
        if (n % 7 === 0) yield* store.deleteDocument(defaultCollection, DocumentId.make(`d${n % 25}`))
        yield* Effect.yieldNow()
      }
      const { id } = yield* store.collection(defaultCollection)
      yield* agrees(sql, id)
      yield* holds(sql, id)
    })
  )

  it.scoped("is merged by those who write where nobody else does it", () =>
    Effect.gen(function* () {
      const sql = yield* database
      const { id } = yield* make(sql)
      for (let n = 0; n < 150; n++) yield* put(sql, n, one(`river ${n}`))
      assert.isBelow(yield* segmentsIn(sql, 0), 70)
      yield* agrees(sql, id)
      yield* holds(sql, id)
    })
  )

  it.scoped("says what disagrees with the passages", () =>
    Effect.gen(function* () {
      const sql = yield* database
      const { id } = yield* make(sql)
      yield* put(sql, 0, one("river sea"))
      yield* put(sql, 1, one("run"))
      const [first, second] = (yield* stored(sql, id)).map((row) => row.id)
      const spoiled = (statement: string) =>
        Effect.gen(function* () {
          let found: ReadonlyArray<string> = []
          yield* Effect.flip(
            write(sql)(
              Effect.gen(function* () {
                yield* sql.unsafe(statement)
                found = yield* keyword.verify(sql, id)
                return yield* Effect.fail("rolled back")
              })
            )
          )
          return found.join("; ")
        })
      assert.match(
        yield* spoiled(`UPDATE passages SET text = 'river lake' WHERE id = ${first}`),
        /passage \d+ has other terms/
      )
      assert.match(
        yield* spoiled(`UPDATE passages SET text = 'river' WHERE id = ${first}`),
        /has 1 terms, in the index 2/
      )
      assert.match(yield* spoiled(`DELETE FROM passages WHERE id = ${second}`), /of 1 passages 0 are stored/)
      assert.match(yield* spoiled("UPDATE keyword_segments SET terms = terms + 1"), /the number of terms is/)
      assert.match(yield* spoiled("UPDATE collections SET passages = 7"), /the index has 2 passages, the collection 7/)
      assert.match(
        yield* spoiled(`DELETE FROM keyword_segments WHERE first_id = ${first}`),
        /passage \d+ is not in the index/
      )
      assert.strictEqual(yield* spoiled("SELECT 1"), "")
    })
  )

  it.scoped("forgets a dropped collection, whatever is under way, and no other", () =>
    Effect.gen(function* () {
      const sql = yield* database
      const { id } = yield* make(sql)
      for (let n = 0; n < 9; n++) yield* put(sql, n, one(`river ${n}`))
      const other = yield* write(sql)(collections.create(sql, "other" as typeof defaultCollection, embedder, 0))
      yield* write(sql)(putDocuments(sql, other, [prepared(0, one("sea"))], 0, { inGraph: true }))
      yield* write(sql)(keyword.mergeStep(sql, small))
      assert.strictEqual(yield* segmentsIn(sql, 1), 1)
      yield* write(sql)(collections.drop(sql, defaultCollection))
      assert.strictEqual(yield* segmentsIn(sql, 1), 0)
      assert.strictEqual(yield* segmentsIn(sql, 0), 1)
      // Its rows go in steps.
      yield* Effect.repeat(write(sql)(keyword.mergeStep(sql)), { while: (more) => more })
      assert.deepStrictEqual(yield* keyword.search(sql, [id], "river", { depth: 5, mask: undefined, also: [] }), [])
      yield* agrees(sql, other.id)
      yield* holds(sql, other.id)
    })
  )

  it("plans nothing for nothing", () =>
    assert.deepStrictEqual(
      plan([], () => false),
      []
    ))
})
