import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { BlockCache } from "../../src/codes/BlockCache.ts"
import { rowBytes } from "../../src/codes/finer.ts"
import { blockRows } from "../../src/codes/layout.ts"
import { Scanner } from "../../src/codes/Scanner.ts"
import { connect, memory } from "../../src/Store/sqlite/connect.ts"
import { randomVectors } from "../codes/random.ts"
import { type SqliteClient, transaction } from "../../src/Store/sqlite/client.ts"
import { codesOn } from "../../src/Store/sql/codes.ts"
import { makeScoring } from "../../src/Store/sqlite/scoring.ts"
import * as vectors from "../../src/Store/sql/vectors.ts"
import { prepare, put, rowsOf } from "./vectorsAlone.ts"

type Sql = SqliteClient

const width = 64
const collection = 1
const enough = 2 ** 30
const passages = 5800

const scoring = makeScoring()

const prepared = Effect.gen(function* () {
  const sql = yield* connect({ filename: memory, mode: "create" })
  yield* prepare(sql, collection, width, rowsOf(1, randomVectors(passages, width, 1)))
  return sql
})

const step = (sql: Sql, codes: Scanner) => transaction(sql, "BEGIN")(vectors.refine(sql, codes))

const finish = (sql: Sql, codes: Scanner) => Effect.repeat(step(sql, codes), { while: (more) => more })

const [query] = randomVectors(1, width, 9)

/** The candidates that finer codes leave of 1,000. */
const left = (sql: Sql, codes: Scanner, kept = 50) =>
  transaction(
    sql,
    "BEGIN"
  )(codes.nearest(codesOn(sql), collection, query!, { wanted: 1000, mask: undefined, kept })).pipe(
    Effect.map((found) => [...Option.getOrThrow(found)])
  )

const best = (sql: Sql, codes: Scanner, from: Float32Array, options: Partial<vectors.VectorOptions>) =>
  transaction(
    sql,
    "BEGIN"
  )(
    vectors.search(
      sql,
      { codes, scoring, vectors: { exact: false, oversample: 100, finerBytes: enough, ...options } },
      collection,
      { vector: from },
      { depth: 10, mask: undefined, passages }
    )
  )

describe("finer codes", () => {
  it.scoped("leave what an exact search finds, while they are made, afterwards, and after a change", () =>
    Effect.gen(function* () {
      const sql = yield* prepared
      const codes = new Scanner(undefined, 0, enough)
      const queries = randomVectors(10, width, 5)
      const compare = Effect.forEach(queries, (each) =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* best(sql, codes, each, {}), yield* best(sql, codes, each, { exact: true }))
        })
      )
      yield* compare
      const before = (yield* left(sql, codes)).length
      assert.isAtLeast(before, 1000)
      let [steps, fewer] = [0, 0]
      while (yield* step(sql, codes)) {
        if (++steps % 3 !== 0) continue
        yield* compare
        const { length } = yield* left(sql, codes)
        if (length > 50 && length < before) fewer++
      }
      yield* compare
      // Some searches came while only some blocks had finer codes.
      assert.isAbove(fewer, 2)
      const ids = yield* left(sql, codes)
      assert.strictEqual(ids.length, 50)

      // New passages have no finer codes yet and stay candidates; deleted ones are none.
      yield* put(sql, collection, rowsOf(20_000, [query!, ...randomVectors(39, width, 7)]))
      yield* transaction(sql, "BEGIN IMMEDIATE")(vectors.remove(sql, collection, ids.slice(0, 10)))
      const after = yield* left(sql, codes)
      assert.include(after, 20_000)
      assert.deepStrictEqual(
        after.filter((id) => ids.slice(0, 10).includes(id)),
        []
      )
      yield* compare
      yield* finish(sql, codes)
      yield* compare
      assert.strictEqual((yield* left(sql, codes)).length, 50)
    })
  )

  it.scoped("are shared by several threads, and so is the work", () =>
    Effect.gen(function* () {
      const sql = yield* prepared
      const cache = BlockCache.make()
      const [a, b] = [new Scanner(cache.admit(), 0, enough), new Scanner(cache.admit(), 0, enough)]
      yield* left(sql, a)
      yield* left(sql, b)
      const codesAlone = a.figures.bytes
      // Each has begun a block of its own.
      assert.isTrue(yield* step(sql, a))
      assert.isTrue(yield* step(sql, b))
      assert.isAtLeast(a.figures.bytes - codesAlone, 2 * blockRows * rowBytes(width))
      yield* finish(sql, a)
      // The block that the other one is making is not waited for.
      assert.isAbove((yield* left(sql, a)).length, 50)
      yield* finish(sql, b)
      yield* finish(sql, a)
      assert.deepStrictEqual(yield* left(sql, a), yield* left(sql, b))
      assert.strictEqual((yield* left(sql, a)).length, 50)
      assert.isBelow(a.figures.bytes - codesAlone, 2 * passages * rowBytes(width))
    })
  )

  it.scoped("are taken over from a thread that has died in the middle of a block", () =>
    Effect.gen(function* () {
      const sql = yield* prepared
      const cache = BlockCache.make()
      const handle = cache.admit()!
      const [dying, living] = [new Scanner(handle, 0, enough), new Scanner(cache.admit(), 0, enough)]
      yield* left(sql, dying)
      yield* left(sql, living)
      assert.isTrue(yield* step(sql, dying))
      yield* finish(sql, living)
      assert.isAbove((yield* left(sql, living)).length, 50)
      cache.dismiss(handle)
      yield* finish(sql, living)
      assert.strictEqual((yield* left(sql, living)).length, 50)
    })
  )

  it.scoped("stay within the memory that they are given, over all threads", () =>
    Effect.gen(function* () {
      const sql = yield* prepared
      const none = new Scanner(undefined, 0, 0)
      const before = yield* left(sql, none)
      assert.isFalse(none.canRefine)
      assert.isFalse(yield* step(sql, none))

      const cache = BlockCache.make()
      const most = 3 * blockRows * rowBytes(width)
      const [a, b] = [new Scanner(cache.admit(), 0, most), new Scanner(cache.admit(), 0, most)]
      yield* left(sql, a)
      const codesAlone = a.figures.bytes
      assert.isTrue(a.canRefine)
      yield* finish(sql, a)
      yield* left(sql, b)
      yield* finish(sql, b)
      assert.isFalse(a.canRefine)
      assert.isFalse(b.canRefine)
      assert.isAtMost(a.figures.bytes - codesAlone, most)
      for (const codes of [a, b]) {
        const { length } = yield* left(sql, codes)
        assert.isBelow(length, before.length)
        assert.isAbove(length, 50)
      }
      // What is released is free for others.
      a.close()
      b.close()
      assert.strictEqual(none.figures.bytes > 0, true)
      assert.strictEqual(a.figures.bytes, 0)
    })
  )

  it.scoped("are made of all other blocks if a vector is damaged", () =>
    Effect.gen(function* () {
      const sql = yield* prepared
      const codes = new Scanner(undefined, 0, enough)
      const before = yield* left(sql, codes)
      yield* sql.unsafe("UPDATE vectors_1 SET vector = x'00' WHERE passage_id = 1500")
      yield* finish(sql, codes)
      const after = yield* left(sql, codes)
      assert.isBelow(after.length, before.length)
      assert.isAbove(after.length, 50)
    })
  )
})
