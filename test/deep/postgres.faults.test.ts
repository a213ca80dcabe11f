import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { defaultCollection } from "../../src/model/Collection.ts"
import type { Whole } from "../../src/Store.ts"
import * as Postgres from "../../src/Store/Postgres.ts"
import { make as makeClient, transaction } from "../../src/Store/postgres/client.ts"
import { schemaVersion } from "../../src/Store/postgres/schema.ts"
import { document, embedder } from "../contracts/Store.ts"
import { built } from "../Store/opened.ts"
import { type Server, fresh, hasOwn, serverOfFile, faultsIn } from "../Store/postgres/server.ts"
import { type Way, wayTo } from "../Store/postgres/way.ts"
import { ranked } from "../ranked.ts"

const opened = (options: Postgres.DatabaseOptions) => built(Postgres.layer(options))

/** A store on a server, by a way that can be cut. */
const behind = Effect.fnUntraced(function* (running: Server, patience = 2500) {
  const way = yield* wayTo(running)
  const options = { ...fresh(running), url: Redacted.make(way.url), patience }
  const store = yield* opened(options)
  yield* store.createCollection(defaultCollection, embedder)
  yield* store.put(defaultCollection, [document("river\nbank", { source: "/a" })])
  return { options, way, store }
})

const texts = (store: Whole, keyword: string) =>
  Effect.map(ranked(store, { keyword }), (hits) => hits.map(({ passage }) => passage.text).toSorted())

if (hasOwn) {
  const server = serverOfFile()

  it.scopedLive("stores a batch whole or not at all, and once if it is sent again, whatever happens at COMMIT", () =>
    Effect.gen(function* () {
      const running = yield* server
      const direct = yield* makeClient({ url: Redacted.make(running.url), pool: 1 })
      const kill = direct.unsafe(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'"
      )
      const faults: ReadonlyArray<readonly [isStored: boolean, fault: NonNullable<Way["atCommit"]>]> = [
        [false, ({ cut }) => cut()],
        [
          true,
          ({ cutAtAnswer, pass }) => {
            cutAtAnswer()
            pass()
          }
        ],
        [false, ({ pass }) => void Effect.runFork(Effect.zipRight(kill, Effect.sync(pass)))]
      ]
      for (const [isStored, fault] of faults) {
        const { options, store, way } = yield* behind(running)
        way.atCommit = fault
        const batch = [document("moon\ntide", { source: "/b" }), document("river\nmoon", { source: "/a" })]
        const failed = yield* Effect.flip(store.put(defaultCollection, batch))
        assert.strictEqual(failed._tag, "StoreUnavailable")
        assert.match(failed.message, /is not available: .*(?:try again|the connection was lost)/)
        assert.deepStrictEqual(yield* texts(store, "moon"), isStored ? ["moon", "moon"] : [])
        assert.deepStrictEqual(yield* texts(store, "bank"), isStored ? [] : ["bank"])
        yield* store.put(defaultCollection, batch)
        assert.deepStrictEqual(yield* texts(store, "moon tide river bank"), ["moon", "moon", "river", "tide"])
        assert.deepStrictEqual(yield* faultsIn(options), [])
      }
    })
  )

  it.scopedLive("gives up a connection that has become silent, and answers by the next one", () =>
    Effect.gen(function* () {
      const { store, way } = yield* behind(yield* server)
      const asked = [1, 2, 3, 4].map(() => texts(store, "river"))
      yield* Effect.all(asked, { concurrency: "unbounded" })
      yield* store.settle()
      way.silence()
      const tried: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
        ...asked,
        store.put(defaultCollection, [document("moon")])
      ]
      const exits = yield* Effect.all(tried.map(Effect.exit), { concurrency: "unbounded" })
      const failures = exits.filter(Exit.isFailure)
      assert.isNotEmpty(failures)
      for (const { cause } of failures) assert.include(Cause.pretty(cause), "is not available")
      // Others of the pool may be silent too.
      for (const found of yield* Effect.retry(Effect.all(asked, { concurrency: "unbounded" }), { times: 3 })) {
        assert.deepStrictEqual(found, ["river"])
      }
      yield* store.put(defaultCollection, [document("moon")])
    })
  )

  it.scopedLive("gets the lock of a writer that is gone and told nobody", () =>
    Effect.gen(function* () {
      const running = yield* server
      const { options, store, way } = yield* behind(running, 6000)
      const other = yield* opened({ ...options, url: Redacted.make(running.url) })
      const gone = yield* Deferred.make<void>()
      way.atCommit = () => {
        way.silence()
        Deferred.unsafeDone(gone, Effect.void)
      }
      const writer = yield* Effect.fork(store.put(defaultCollection, [document("moon", { source: "/b" })]))
      yield* Deferred.await(gone)
      yield* other.put(defaultCollection, [document("moon tide", { source: "/c" })])
      // It would be told by its own end of the connection.
      assert.isTrue(Option.isNone(yield* Fiber.poll(writer)))
      assert.deepStrictEqual(yield* texts(other, "moon"), ["moon tide"])
    })
  )

  it.scopedLive("loses nothing when a newer Clew changes the schema of running servers, which then say so", () =>
    Effect.gen(function* () {
      const running = yield* server
      const { options, store } = yield* behind(running)
      const stores = [store, yield* opened({ ...options, url: Redacted.make(running.url) })]
      const acknowledged = new Set<string>()
      const writing = (store: Whole, at: number) =>
        Effect.gen(function* () {
          for (let n = 0; ; n++) {
            const source = `/${at}/${n}`
            yield* store.put(defaultCollection, [document("moon", { source })])
            acknowledged.add(source)
          }
        })
      const reading = (store: Whole) => Effect.forever(Effect.zipRight(texts(store, "moon"), Effect.sleep(1)))
      const sql = yield* makeClient({ ...options, pool: 1 })
      const migrating = Effect.delay(
        transaction(
          sql,
          `BEGIN; SET LOCAL search_path TO "${options.schema}"; SELECT pg_advisory_xact_lock(hashtextextended('clew ${options.schema}', 0))`
        )(
          Effect.zipRight(
            sql.unsafe("ALTER TABLE documents ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue'"),
            sql.unsafe("UPDATE clew SET version = version + 1")
          )
        ),
        "300 millis"
      )
      const [, ...errors] = yield* Effect.all(
        [migrating, ...stores.flatMap((store, at) => [Effect.flip(writing(store, at)), Effect.flip(reading(store))])],
        { concurrency: "unbounded" }
      )
      for (const error of errors) {
        assert.include(
          error.message,
          `made by a newer Clew (schema ${schemaVersion + 1}; this one knows ${schemaVersion}): update Clew`
        )
      }
      const kept = yield* sql.unsafe<{ readonly source: string }>(
        `SELECT source FROM "${options.schema}".documents WHERE source LIKE '/_/%'`
      )
      assert.isAbove(acknowledged.size, 0)
      assert.deepStrictEqual(kept.map(({ source }) => source).toSorted(), [...acknowledged].toSorted())
    })
  )
}
