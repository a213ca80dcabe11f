import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import { once } from "node:events"
import { BlockCache } from "../../src/codes/BlockCache.ts"
import { blockRows, idsIn } from "../../src/codes/layout.ts"
import { Scanner } from "../../src/codes/Scanner.ts"
import * as codes from "../../src/codes/CodeStore.ts"
import { connect, memory } from "../../src/Store/sqlite/connect.ts"
import { nextTurn } from "../../src/runtime/EventLoop.ts"
import { startWorker } from "../../src/runtime/workers.ts"
import { cosine, randomVectors } from "../codes/random.ts"
import { type SqliteClient, transaction } from "../../src/Store/sqlite/client.ts"
import { codesOn } from "../../src/Store/sql/codes.ts"
import { makeScoring } from "../../src/Store/sqlite/scoring.ts"
import { vectorTable } from "../../src/Store/sql/vectorTable.ts"
import * as vectors from "../../src/Store/sql/vectors.ts"
import { indexFile } from "./opened.ts"
import { prepare, put, rowsOf, some } from "./vectorsAlone.ts"

type Sql = SqliteClient

const width = 16
const collection = 1

/** Vectors of a collection that has several blocks of codes. */
const many = 4096

/** These tests are not about damage, and their collections count no passages. */
const scoring = makeScoring()

const take = (sql: Sql, ids: ReadonlyArray<number>) =>
  transaction(sql, "BEGIN IMMEDIATE")(vectors.remove(sql, collection, ids))

const read = <A, E>(sql: Sql, effect: Effect.Effect<A, E>) => transaction(sql, "BEGIN")(effect)

/** Each block's epoch and ids, as they are stored. */
const stored = Effect.fnUntraced(function* (sql: Sql) {
  const set = Option.getOrThrow(yield* codesOn(sql).find({ collection, generation: "current" }))
  const blocks = yield* codesOn(sql).blocks(set.id)
  const bodies = yield* codesOn(sql).bodies(set, blocks)
  return {
    set,
    blocks: blocks.map((block, i) => ({ ...block, ids: [...idsIn(bodies[i]!, block.rows)] }))
  }
})

const idsStored = (sql: Sql) =>
  Effect.map(stored(sql), ({ blocks }) => blocks.flatMap(({ ids }) => ids).sort((a, b) => a - b))

/** All candidates that the codes give, so who is in them. */
const idsFound = (sql: Sql, searching: Scanner, query: Float32Array = new Float32Array(width).fill(1)) =>
  Effect.map(searching.nearest(codesOn(sql), collection, query, { wanted: 20_000, mask: undefined }), (found) => [
    ...Option.getOrThrow(found)
  ])

const search = (sql: Sql, searching: Scanner, query: Float32Array, options: vectors.VectorOptions) =>
  Effect.gen(function* () {
    const { length: passages } = yield* idsStored(sql)
    const by = { codes: searching, scoring, vectors: options }
    const asked = { depth: 10, mask: undefined, passages }
    const found = yield* read(sql, vectors.search(sql, by, collection, { vector: query }, asked))
    return found.map(({ id }) => id)
  })

const inMemory = connect({ filename: memory, mode: "create" })

describe("codes in the database", () => {
  it.scoped("are made once there are enough vectors, of all of them", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory
      const found = randomVectors(codes.codesFrom + 1, width, 1)
      yield* prepare(sql, collection, width, rowsOf(1, found.slice(0, -2)))
      assert.isTrue(Option.isNone(yield* codesOn(sql).find({ collection, generation: "current" })))
      yield* put(sql, collection, rowsOf(codes.codesFrom, found.slice(-2)))
      assert.deepStrictEqual(
        yield* idsStored(sql),
        found.map((_, i) => i + 1)
      )
    })
  )

  it.scoped("fill blocks however few come at a time", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory
      yield* prepare(sql, collection, width, rowsOf(1, randomVectors(many, width, 1)))
      const more = randomVectors(1500, width, 2)
      yield* transaction(
        sql,
        "BEGIN IMMEDIATE"
      )(
        Effect.forEach(more, (vector, i) => vectors.insert(sql, collection, [some({ id: 10_000 + i, vector })]), {
          discard: true
        })
      )
      const { blocks, set } = yield* stored(sql)
      assert.strictEqual(set.rows, many + 1500)
      const open = blocks.filter(({ rows }) => rows < blockRows)
      assert.isAtMost(open.length, 6)
      for (const { first, ids, last, rows } of blocks) {
        assert.strictEqual(ids.length, rows)
        assert.strictEqual(Math.min(...ids), first)
        assert.strictEqual(Math.max(...ids), last)
      }
    })
  )

  it.scoped.prop(
    "are of the same passages as the vectors, whatever comes and goes, and find what a full scan finds",
    {
      edits: FastCheck.array(
        FastCheck.oneof(
          FastCheck.record({ put: FastCheck.integer({ min: 1, max: 300 }) }),
          FastCheck.record({
            from: FastCheck.double({ min: 0, max: 1, noNaN: true }),
            take: FastCheck.nat(2500),
            step: FastCheck.constantFrom(1, 2, 7)
          })
        ),
        { minLength: 1, maxLength: 12 }
      )
    },
    ({ edits }) =>
      Effect.gen(function* () {
        const sql = yield* inMemory
        const searching = new Scanner()
        const there = new Map(rowsOf(1, randomVectors(many, width, 1)).map((row) => [row.id, row.vector]))
        yield* prepare(sql, collection, width, rowsOf(1, [...there.values()]))
        let next = 10_000
        for (const edit of edits) {
          if ("put" in edit) {
            const rows = rowsOf(next, randomVectors(edit.put, width, next))
            next += edit.put + 3
            for (const row of rows) there.set(row.id, row.vector)
            yield* put(sql, collection, rows)
          } else {
            const ids = [...there.keys()]
            const gone: Array<number> = []
            for (let i = Math.floor(edit.from * ids.length); i < ids.length && gone.length < edit.take; i += edit.step)
              gone.push(ids[i]!)
            for (const id of gone) there.delete(id)
            yield* take(sql, [...gone, 999_999])
          }
          const ids = [...there.keys()]
          assert.deepStrictEqual(yield* idsStored(sql), ids)
          assert.deepStrictEqual(yield* read(sql, idsFound(sql, searching)), ids)
          assert.strictEqual((yield* stored(sql)).set.rows, ids.length)
        }
        const query = randomVectors(1, width, 77)[0]!
        const best = [...there]
          .map(([id, vector]) => ({ id, score: cosine(query, vector) }))
          .sort((a, b) => b.score - a.score)
          .slice(0, 10)
          .map(({ id }) => id)
        assert.deepStrictEqual(
          yield* search(sql, searching, query, { exact: false, exactBelow: 0, oversample: 100 }),
          best
        )
        assert.deepStrictEqual(yield* search(sql, searching, query, { exact: true, oversample: "auto" }), best)
      }),
    { fastCheck: { numRuns: 5 } }
  )

  it.scoped("move on to a new centroid as the collection grows, and small remains of old blocks with them", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory
      yield* prepare(sql, collection, width, rowsOf(1, randomVectors(many, width, 1)))
      // As if the collection had been a sixteenth of what it is when its centroid was taken.
      yield* sql.unsafe("UPDATE code_epochs SET rows = 256")
      yield* put(sql, collection, rowsOf(10_000, randomVectors(10, width, 2)))
      const epochs = Effect.map(stored(sql), ({ blocks }) => [...new Set(blocks.map(({ epoch }) => epoch))].sort())
      assert.deepStrictEqual(yield* epochs, [1, 2])
      yield* take(
        sql,
        Array.from({ length: many }, (_, i) => i + 1).filter((id) => id % 3 !== 0)
      )
      assert.deepStrictEqual(yield* epochs, [2])
      const expected = [
        ...Array.from({ length: many }, (_, i) => i + 1).filter((id) => id % 3 === 0),
        ...Array.from({ length: 10 }, (_, i) => 10_000 + i)
      ]
      assert.deepStrictEqual(yield* idsStored(sql), expected)
      assert.deepStrictEqual(yield* read(sql, idsFound(sql, new Scanner())), expected)
    })
  )
})

describe("codes in memory", () => {
  it.scoped("are those of the snapshot that is read, also while another connection is ahead", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      const [writer, a, b] = [
        yield* connect({ filename, mode: "create" }),
        yield* connect({ filename, mode: "existing" }),
        yield* connect({ filename, mode: "readonly" })
      ]
      const all = rowsOf(1, randomVectors(many + 500, width, 1))
      yield* prepare(writer, collection, width, all)
      const arena = BlockCache.make()
      const [ahead, behind] = [new Scanner(arena.admit()), new Scanner(arena.admit())]
      const ids = all.map(({ id }) => id)
      assert.deepStrictEqual(yield* read(a, idsFound(a, ahead)), ids)
      yield* read(
        b,
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* idsFound(b, behind), ids)
          yield* take(writer, ids.slice(0, 3000))
          yield* put(writer, collection, rowsOf(20_000, randomVectors(700, width, 2)))
          const after = [...ids.slice(3000), ...Array.from({ length: 700 }, (_, i) => 20_000 + i)]
          assert.deepStrictEqual(yield* read(a, idsFound(a, ahead)), after)
          // More changes, so that slots that `ahead` gave up are written over if nobody else holds them.
          yield* take(writer, after.slice(0, 900))
          assert.deepStrictEqual(yield* read(a, idsFound(a, ahead)), after.slice(900))
          assert.deepStrictEqual(yield* idsFound(b, behind), ids)
        })
      )
      assert.strictEqual((yield* read(b, idsFound(b, behind))).length, many + 500 - 3000 + 700 - 900)
      // Both hold the same blocks now, which count once.
      assert.deepStrictEqual(behind.figures, ahead.figures)
      assert.isBelow(behind.figures.bytes, 16 * many)
    })
  )

  it.scoped("are right in each of several threads that share them, while another one writes", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      const sql = yield* connect({ filename, mode: "create" })
      yield* prepare(sql, collection, width, rowsOf(1, randomVectors(many, width, 1)))
      const arena = BlockCache.make()
      const stop = new Int32Array(new SharedArrayBuffer(12))
      const threads = Array.from({ length: 2 }, (_, at) => {
        const thread = startWorker(
          { source: "../test/codes/searcherThread.ts", built: "" },
          { filename, arena: arena.admit(), width, stop, number: at + 1 }
        )
        const messages: Array<unknown> = []
        thread.on("message", (message) => messages.push(message))
        return { messages, next: () => once(thread, "message"), thread }
      })
      yield* Effect.addFinalizer(() =>
        Effect.promise(() => Promise.all(threads.map(({ thread }) => thread.terminate())))
      )
      yield* Effect.promise(() =>
        Promise.all(threads.map(({ messages, next }) => (messages.length > 0 ? undefined : next())))
      )
      let oldest = 1
      let next = 10_000
      for (let round = 0; round < 11; round++) {
        yield* take(
          sql,
          Array.from({ length: 60 }, () => oldest++)
        )
        yield* put(sql, collection, rowsOf(next, randomVectors(50 + (round % 7), width, round)))
        next += 60
        // Each thread searches now and then while this goes on.
        const searched = threads.map((_, at) => Atomics.load(stop, at + 1))
        const waits = () =>
          threads.some(({ messages }, at) => messages.length < 2 && Atomics.load(stop, at + 1) === searched[at])
        if (round % 5 === 0) while (waits()) yield* nextTurn
      }
      Atomics.store(stop, 0, 1)
      for (const { messages, next } of threads) {
        while (messages.length < 2) yield* Effect.promise(next)
        const { states, wrong } = messages[1] as { readonly states: number; readonly wrong: unknown }
        assert.isUndefined(wrong)
        assert.isAbove(states, 1)
      }
    })
  )

  it.scoped("are not there for a collection that has been dropped, or that is small", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory
      yield* prepare(sql, collection, width, rowsOf(1, randomVectors(many, width, 1)))
      const searching = new Scanner()
      yield* read(sql, idsFound(sql, searching))
      assert.isAtLeast(searching.figures.bytes, many * 16)
      yield* transaction(sql, "BEGIN IMMEDIATE")(vectors.retire(sql, collection, "current"))
      const query = new Float32Array(width).fill(1)
      const found = yield* read(
        sql,
        searching.nearest(codesOn(sql), collection, query, { wanted: 10, mask: undefined })
      )
      assert.isTrue(Option.isNone(found))
      assert.strictEqual(searching.figures.bytes, 0)
    })
  )

  it.scoped("change with the embedder, in one step", () =>
    Effect.gen(function* () {
      const sql = yield* inMemory
      const count = many + 10
      yield* prepare(sql, collection, width, rowsOf(1, randomVectors(count, width, 1)))
      const searching = new Scanner()
      assert.strictEqual((yield* read(sql, idsFound(sql, searching))).length, count)
      yield* vectorTable(sql).create(collection, "next")
      const other = randomVectors(count, 24, 2)
      yield* vectors.insert(sql, collection, rowsOf(1, other).map(some), "next")
      assert.strictEqual((yield* read(sql, idsFound(sql, searching))).length, count)
      yield* vectors.remove(sql, collection, [1, 2, 3, 4, 5], "next")
      yield* transaction(sql, "BEGIN IMMEDIATE")(vectors.switchOver(sql, collection))
      const query = other[100]!
      const found = yield* read(sql, idsFound(sql, searching, query))
      assert.deepStrictEqual(
        found,
        Array.from({ length: count - 5 }, (_, i) => i + 6)
      )
      const [first] = yield* search(sql, searching, query, { exact: false, exactBelow: 0, oversample: "auto" })
      assert.strictEqual(first, 101)
    })
  )
})
