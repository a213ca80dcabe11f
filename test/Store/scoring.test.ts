import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { transaction } from "../../src/Store/sqlite/client.ts"
import { connect, memory } from "../../src/Store/sqlite/connect.ts"
import { makeScoring } from "../../src/Store/sqlite/scoring.ts"
import { prepare } from "./vectorsAlone.ts"

it.scoped("scores of the passages that it is asked about those of the collection, whatever was asked before", () =>
  Effect.gen(function* () {
    const sql = yield* connect({ filename: memory, mode: "create" })
    const own: ReadonlyArray<ReadonlyArray<number>> = [
      [1, 2],
      [3, 4]
    ]
    for (const [at, passages] of own.entries()) {
      const rows = passages.map((id) => ({ id, vector: Float32Array.of(1, id, 0, 0) }))
      yield* prepare(sql, at + 1, 4, rows)
    }
    const scoring = makeScoring()
    const asked = [4, 3, 2, 1]
    const scored = (collection: number) =>
      Effect.map(scoring.score(sql, collection, { vector: Float32Array.of(1, 0, 0, 0) }, asked), (found) =>
        found.map(({ id }) => id).sort((a, b) => a - b)
      )
    yield* transaction(
      sql,
      "BEGIN"
    )(
      Effect.gen(function* () {
        for (const collection of [1, 2, 1, 2])
          assert.deepStrictEqual(yield* scored(collection), [...own[collection - 1]!])
      })
    )
  })
)

it.scoped("gives the best of all in the order of their scores, equals by their ids, however near they are", () =>
  Effect.gen(function* () {
    const sql = yield* connect({ filename: memory, mode: "create" })
    // Many point nearly the same way, some exactly, some the other way, and some nowhere.
    const vectorOf = (id: number): Float32Array => {
      if (id % 50 === 0) return Float32Array.of(0, 0, 0, 0)
      const turn = (id % 7) * 1e-4 + (id % 3 === 0 ? 1e-7 * id : 0)
      return id % 11 === 0 ? Float32Array.of(-1, turn, 0, 0) : Float32Array.of(1, turn, id % 5 === 0 ? 1 : 0, 0)
    }
    const ids = Array.from({ length: 400 }, (_, at) => at + 1)
    yield* prepare(
      sql,
      1,
      4,
      ids.map((id) => ({ id, vector: vectorOf(id) }))
    )
    const scoring = makeScoring()
    const directions = [
      { vector: Float32Array.of(1, 0, 0, 0) },
      { vector: Float32Array.of(1, 0, 0, 0), background: Float32Array.of(0.9, 0.1, 0.2, 0) }
    ]
    yield* transaction(
      sql,
      "BEGIN"
    )(
      Effect.gen(function* () {
        for (const direction of directions) {
          const scored = yield* scoring.score(sql, 1, direction, ids)
          const sorted = scored.toSorted((a, b) => b.score - a.score || a.id - b.id)
          assert.strictEqual(sorted.length, 392)
          for (const limit of [0, 1, 5, 57, 200, 391, 392, 1000]) {
            assert.deepStrictEqual(yield* scoring.top(sql, 1, direction, ids, limit), sorted.slice(0, limit))
          }
        }
      })
    )
  })
)
