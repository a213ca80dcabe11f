import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { defaultCollection } from "../../src/model/Collection.ts"
import { Examiner } from "../../src/Store.ts"
import * as Postgres from "../../src/Store/Postgres.ts"
import * as PostgresExaminer from "../../src/Store/PostgresExaminer.ts"
import { make as makeClient, transaction } from "../../src/Store/postgres/client.ts"
import { document, embedder } from "../contracts/Store.ts"
import { built } from "../Store/opened.ts"
import { ranked } from "../ranked.ts"
import { fresh, hasPostgres, server, faultsIn } from "../Store/postgres/server.ts"

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

  it.scopedLive("finds numbers that are taken and records that do not match the documents, and corrects them", () =>
    Effect.gen(function* () {
      const options = fresh(yield* server)
      const store = yield* built(Postgres.layer(options))
      yield* store.createCollection(defaultCollection, embedder)
      const long = `/${"long/".repeat(60)}`
      yield* store.put(defaultCollection, [
        document("river", { source: "/a", origin: "/a" }),
        document("sea", { source: "/b", origin: "/b" }),
        document("lake", { source: `${long}c`, origin: `${long}c` })
      ])
      const examiner = yield* Effect.provide(Examiner, PostgresExaminer.layer(options))
      const faults = faultsIn(options)
      const sql = yield* makeClient(options)
      const damages = [
        ["sequences", "UPDATE row_ids SET next = 1 WHERE name = 'documents'"],
        ["sequences", "DELETE FROM row_ids"],
        ["records", "DELETE FROM run_numbers"],
        ["records", "UPDATE documents SET seen_run = 7"],
        ["records", "UPDATE files SET outcome = 'indexed', documents = 2 WHERE path = '/b'"],
        ["records", "UPDATE files SET many = 2 WHERE path = '/b'"],
        ["records", `DELETE FROM files WHERE path = '${long}c'`]
      ] as const
      for (const [name, damage] of damages) {
        yield* sql.unsafe(damage.replace(/(FROM|UPDATE) /, `$1 "${options.schema}".`))
        const found = yield* faults
        assert.deepStrictEqual(
          found.map((fault) => fault.name),
          [name],
          damage
        )
        yield* examiner.mend(found.flatMap(({ cure }) => (cure === undefined ? [] : [cure])))
        assert.deepStrictEqual(yield* faults, [], damage)
      }
      yield* store.put(defaultCollection, [document("moon", { source: "/d", origin: "/d" })])
      assert.deepStrictEqual(yield* faults, [])
      assert.lengthOf(yield* store.list(defaultCollection, { limit: 9 }), 4)
    })
  )

  it.scopedLive("puts vectors whose set is gone", () =>
    Effect.gen(function* () {
      const options = fresh(yield* server)
      const store = yield* built(Postgres.layer(options))
      yield* store.createCollection(defaultCollection, embedder)
      const vector = Float32Array.of(1, 0, 0, 0)
      yield* store.put(defaultCollection, [document("river", { source: "/a", vectors: [vector] })])
      const examiner = yield* Effect.provide(Examiner, PostgresExaminer.layer(options))
      const sql = yield* makeClient(options)
      yield* sql.unsafe(`DELETE FROM "${options.schema}".vector_sets`)
      const [collection] = yield* examiner.collections
      const lost = yield* examiner.unembedded(collection!.id, 0, 9)
      assert.lengthOf(lost, 1)
      yield* examiner.putVectors(
        collection!.id,
        lost.map(({ id }) => ({ id, vector: Option.some(vector) }))
      )
      assert.lengthOf(yield* ranked(store, { vector }), 1)
      assert.deepStrictEqual(yield* faultsIn(options), [])
      // So does indexing.
      yield* sql.unsafe(`DELETE FROM "${options.schema}".vector_sets`)
      yield* store.put(defaultCollection, [document("moon", { source: "/b", vectors: [vector] })])
      assert.lengthOf(yield* examiner.unembedded(collection!.id, 0, 9), 1)
    })
  )

  it.scopedLive("tells of a server that refuses writes by a setting", () =>
    Effect.gen(function* () {
      const options = fresh(yield* server)
      yield* built(Postgres.layer(options))
      const rights = (given: Postgres.DatabaseOptions) =>
        Effect.flatMap(Effect.provide(Examiner, PostgresExaminer.layer(given)), ({ examine }) =>
          Effect.map(
            examine(() => Effect.void),
            (all) => all.find(({ name }) => name === "rights")
          )
        )
      assert.strictEqual((yield* rights(options))?.status, "ok")
      const way = Redacted.value(options.url)
      const url = `${way}${way.includes("?") ? "&" : "?"}options=${encodeURIComponent("-c default_transaction_read_only=on")}`
      const found = yield* rights({ ...options, url: Redacted.make(url) })
      assert.deepInclude(found, { status: "warn" })
      assert.match(found!.detail, /default_transaction_read_only is on/)
    })
  )

  it.scopedLive("takes a connection that is cut meanwhile for no damage", () =>
    Effect.gen(function* () {
      const options = fresh(yield* server)
      const store = yield* built(Postgres.layer(options))
      yield* store.createCollection(defaultCollection, embedder)
      yield* store.put(defaultCollection, [document("river")])
      const sql = yield* makeClient({ ...options, pool: 1 })
      const { examine } = yield* Effect.provide(Examiner, PostgresExaminer.layer(options))
      const cut = sql.unsafe("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'clew'")
      const found = yield* examine(() => Effect.ignore(cut))
      assert.deepStrictEqual(
        found.map(({ name, status }) => [name, status]),
        [["server", "fail"]]
      )
      assert.match(found[0]!.detail, /is not available: .*(?:the connection was lost|cut; try again)/)
      assert.deepStrictEqual(yield* faultsIn(options), [])
    })
  )

  it.scopedLive("takes a statement that the server ended for no damage", () =>
    Effect.gen(function* () {
      const options = fresh(yield* server)
      const store = yield* built(Postgres.layer(options))
      yield* store.createCollection(defaultCollection, embedder)
      const sql = yield* makeClient({ ...options, pool: 1 })
      const holding = transaction(sql, `BEGIN; LOCK TABLE "${options.schema}".documents`)
      const found = yield* holding(
        Effect.flatMap(Effect.provide(Examiner, PostgresExaminer.layer({ ...options, patience: 500 })), ({ examine }) =>
          examine(() => Effect.void)
        )
      )
      assert.deepStrictEqual(
        found.map(({ name, status }) => [name, status]),
        [["server", "fail"]]
      )
      assert.include(found[0]!.detail, "a statement took too long and was cancelled")
    })
  )

  it.scopedLive("warns of an index of an older Clew, which is not damaged, and brings it up to date", () =>
    Effect.gen(function* () {
      const options = fresh(yield* server)
      yield* Effect.scoped(built(Postgres.layer(options)))
      const sql = yield* makeClient(options)
      yield* sql.unsafe(`DROP TABLE "${options.schema}".graph_recent`)
      yield* sql.unsafe(`UPDATE "${options.schema}".clew SET version = 3`)
      const { examine, migrate } = yield* Effect.provide(Examiner, PostgresExaminer.layer(options))
      const found = yield* examine(() => Effect.void)
      assert.deepStrictEqual(
        found.map(({ cure, name, status }) => [name, status, cure?._tag]),
        [["schema", "warn", "Migrate"]]
      )
      assert.match(found[0]!.detail, /older Clew \(schema 3, this one has \d+\)/)
      assert.isTrue(yield* migrate)
      assert.isTrue((yield* examine(() => Effect.void)).every(({ status }) => status === "ok"))
    })
  )
}
