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
