import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { defaultCollection } from "../../../src/model/Collection.ts"
import { Examiner } from "../../../src/Store.ts"
import * as Postgres from "../../../src/Store/Postgres.ts"
import * as PostgresExaminer from "../../../src/Store/PostgresExaminer.ts"
import { make as makeClient } from "../../../src/Store/postgres/client.ts"
import { document, embedder } from "../../contracts/Store.ts"
import { built } from "../opened.ts"
import { fresh, hasPostgres, server, faultsIn } from "./server.ts"

if (hasPostgres) {
  it.scopedLive("finds nothing wrong with metadata of any kind, and corrects lost lists of them and wrong counts", () =>
    Effect.gen(function* () {
      const options = fresh(yield* server)
      const store = yield* built(Postgres.layer(options))
      yield* store.createCollection(defaultCollection, embedder)
      const metadata = {
        year: 2020,
        half: -0.5,
        draft: false,
        tags: ["a", 1, true],
        none: null,
        long: "é\0".repeat(400)
      }
      yield* store.put(defaultCollection, [
        document("river", { source: "/a", origin: "/a", metadata }),
        document("moon", { source: "/b", metadata: {} })
      ])
      const examiner = yield* Effect.provide(Examiner, PostgresExaminer.layer(options))
      const faults = faultsIn(options)
      assert.deepStrictEqual(yield* faults, [])
      const sql = yield* makeClient(options)
      yield* sql.unsafe(`DELETE FROM "${options.schema}".metadata_values WHERE kind = 'n'`)
      yield* sql.unsafe(`UPDATE "${options.schema}".collections SET documents = 99`)
      const found = yield* faults
      assert.deepStrictEqual(
        found.map(({ name }) => name),
        ["metadata", "counters"]
      )
      yield* examiner.mend(found.flatMap(({ cure }) => (cure === undefined ? [] : [cure])))
      assert.deepStrictEqual(yield* faults, [])
      assert.lengthOf(yield* store.list(defaultCollection, { limit: 5, filter: { year: { gte: 2020 } } }), 1)
    })
  )
}
