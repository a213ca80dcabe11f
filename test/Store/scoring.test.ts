import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { transaction } from "../../src/Store/sqlite/client.ts"
import { connect, memory } from "../../src/Store/sqlite/connect.ts"
import { makeScoring } from "../../src/Store/sqlite/scoring.ts"
import { vectorTable } from "../../src/Store/sql/vectorTable.ts"
import * as vectors from "../../src/Store/sql/vectors.ts"

it.scoped("scores of the passages that it is asked about those of the collection, whatever was asked before", () =>
  Effect.gen(function* () {
    const sql = yield* connect({ filename: memory, mode: "create" })
    const own = [
      [1, 2],
      [3, 4]
    ] as const
    for (const [at, passages] of own.entries()) {
      const collection = at + 1
      yield* sql.unsafe(
        `INSERT INTO collections (id, name, backend, model, dimensions, query_prefix, passage_prefix, created_at)
         VALUES (?, ?, 'test', 'test', 4, '', '', 0)`,
        [collection, `c${collection}`]
      )
      yield* vectorTable(sql).create(collection, "current")
      yield* transaction(
        sql,
        "BEGIN IMMEDIATE"
      )(
        vectors.insert(
          sql,
          collection,
          passages.map((id: number) => ({ id, vector: Option.some(Float32Array.of(1, id, 0, 0)) }))
        )
      )
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
