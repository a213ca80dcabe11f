import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import { defaultCollection } from "../../src/model/Collection.ts"
import * as Postgres from "../../src/Store/Postgres.ts"
import { make as makeClient, transaction } from "../../src/Store/postgres/client.ts"
import { open } from "../../src/Store/postgres/Database.ts"
import { column } from "../../src/Store/sql/rows.ts"
import { document, embedder } from "../contracts/Store.ts"
import { built } from "../Store/opened.ts"
import { fresh, hasOwn, hasPostgres, serverOfFile, standby, tool } from "../Store/postgres/server.ts"
import { ranked } from "../ranked.ts"

const opened = (options: Postgres.DatabaseOptions) => built(Postgres.layer(options))

/** Holds the writers' lock of a schema as another process would, until it is interrupted. */
const holding = Effect.fnUntraced(function* (options: Postgres.DatabaseOptions) {
  const sql = yield* makeClient(options)
  const begin = `BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('clew ${options.schema}', 0))`
  const holder = yield* Effect.fork(transaction(sql, begin)(Effect.never))
  yield* Effect.repeat(sql.unsafe("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted"), {
    until: (rows) => rows.length > 0
  })
  return holder
})

/** Asks since when writers wait for the lock, until that is as wanted. */
const waiting = (options: Postgres.DatabaseOptions, isWanted: (since: ReadonlyArray<string>) => boolean) =>
  Effect.flatMap(makeClient(options), (sql) =>
    Effect.repeat(
      sql.unsafe<{ since: string }>(
        "SELECT waitstart::text AS since FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
      ),
      { until: (rows) => isWanted(rows.map(({ since }) => since)) }
    )
  )

if (hasPostgres) {
  const server = serverOfFile()

  it.scopedLive("waits for another writer for longer than the server lets it wait at once", () =>
    Effect.gen(function* () {
      const options = fresh(yield* server)
      const store = yield* opened(options)
      yield* store.createCollection(defaultCollection, embedder)
      const holder = yield* holding(options)
      const writer = yield* Effect.fork(store.put(defaultCollection, [document("river", { source: "/a" })]))
      const cancelled = yield* Effect.fork(store.put(defaultCollection, [document("moon", { source: "/b" })]))
      // Both have waited, and at least one again.
      const seen = new Set<string>()
      yield* waiting(options, (since) => (since.forEach((each) => seen.add(each)), seen.size > 2))
      assert.deepStrictEqual(yield* store.list(defaultCollection, { limit: 5 }), [])
      yield* Fiber.interrupt(cancelled)
      yield* Fiber.interrupt(holder)
      yield* Fiber.join(writer)
      assert.lengthOf(yield* store.list(defaultCollection, { limit: 5 }), 1)
    })
  )

  it.scopedLive("opens by its own limit, whatever the user's statement_timeout is", () =>
    Effect.gen(function* () {
      const running = yield* server
      const options = fresh(running)
      const store = yield* opened(options)
      yield* store.createCollection(defaultCollection, embedder)
      const holder = yield* holding(options)
      const url = Redacted.make(
        `${running.url}${running.url.includes("?") ? "&" : "?"}options=-c%20statement_timeout=50`
      )
      const opening = yield* Effect.fork(opened({ ...options, url }))
      const seen = new Set<string>()
      yield* waiting(options, (since) => (since.forEach((each) => seen.add(each)), seen.size > 1))
      yield* Fiber.interrupt(holder)
      yield* Fiber.join(opening)
    })
  )

  it.scopedLive("repeats a write that the server ended because its process asked nothing, and ends no reading", () =>
    Effect.gen(function* () {
      const options = { ...fresh(yield* server), patience: 1500 }
      const [database] = yield* open(options)
      const { read, sql, write } = database!
      const other = yield* makeClient({ ...options, pool: 1 })
      const own = column<number>(sql, "SELECT pg_backend_pid() AS pid")
      const isIdle = `SELECT pid FROM pg_stat_activity WHERE pid = ? AND clock_timestamp() < state_change + INTERVAL '0.8 s'`
      /** Asks nothing until its session has ended, or was idle for longer than the limit of writes. */
      const idle = Effect.flatMap(own, (pid) =>
        Effect.repeat(transaction(other, "BEGIN")(column(other, isIdle, pid)), {
          until: ({ length }) => length === 0
        })
      )
      /** As when it is suspended: it hears of nothing before it asks again. */
      const deaf = Effect.sync(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000))
      const pauses = [idle, deaf]
      const put = Effect.suspend(() => Effect.zipRight(pauses.shift() ?? Effect.void, own))
      assert.lengthOf(yield* write(put), 1)
      assert.deepStrictEqual(pauses, [])
      assert.lengthOf(yield* read(Effect.zipRight(idle, own)), 1)
    })
  )

  if (hasOwn) {
    it.scopedLive("repeats a search that a standby ends, since it needs rows that its primary has removed", () =>
      Effect.gen(function* () {
        const primary = yield* server
        const options = fresh(primary)
        const store = yield* opened(options)
        yield* store.createCollection(defaultCollection, embedder)
        yield* store.put(defaultCollection, [document("river", { source: "/a" })])
        const spare = yield* standby(primary)
        const atOnce = "ALTER SYSTEM SET max_standby_streaming_delay = 0"
        yield* tool("psql", spare, "-c", atOnce, "-c", "SELECT pg_reload_conf()")
        const reading = { ...options, url: Redacted.make(spare.url), mode: "readonly" } as const
        const [database] = yield* open(reading)
        const { read, sql } = database!
        const other = yield* makeClient({ ...reading, pool: 1 })
        let attempts = 0
        const documents = Effect.gen(function* () {
          const found = yield* column(sql, "SELECT id FROM documents")
          if (attempts++ > 0) return found
          const own = yield* column<number>(sql, "SELECT pg_backend_pid() AS pid")
          yield* store.deleteSource(defaultCollection, "/a")
          yield* tool("psql", primary, "-c", "VACUUM")
          yield* Effect.repeat(column(other, "SELECT pid FROM pg_stat_activity WHERE pid = ?", own), {
            until: ({ length }) => length === 0
          })
          return yield* column(sql, "SELECT id FROM documents")
        })
        assert.deepStrictEqual(yield* read(documents), [])
        assert.strictEqual(attempts, 2)
      })
    )
  }

  it.scopedLive("uses no connection for long, as to a server that is a standby since a failover", () =>
    Effect.gen(function* () {
      const [database] = yield* open({ ...fresh(yield* server), pool: 2, patience: 400 })
      const { read, sql } = database!
      const seen = new Set<number>()
      const asking = Effect.map(read(column<number>(sql, "SELECT pg_backend_pid() AS pid")), ([pid]) => seen.add(pid!))
      // A busy pool has no connection that is idle for so long that it goes.
      for (let n = 0; n < 20_000 && seen.size < 4; n++) yield* asking
      assert.strictEqual(seen.size, 4)
    })
  )

  it.scopedLive("lets a writer that waits for another one be cancelled", () =>
    Effect.gen(function* () {
      const options = fresh(yield* server)
      const store = yield* opened(options)
      yield* store.createCollection(defaultCollection, embedder)
      yield* holding(options)
      const writer = yield* Effect.fork(store.put(defaultCollection, [document("river", { source: "/a" })]))
      yield* waiting(options, (since) => since.length > 0)
      yield* Fiber.interrupt(writer)
    })
  )

  it.scopedLive("keeps no connection of a caller that goes while it is being connected", () =>
    Effect.gen(function* () {
      const sql = yield* makeClient({ ...fresh(yield* server), pool: 2 })
      const one = transaction(sql, "BEGIN")(sql.unsafe("SELECT 1 AS one"))
      yield* Effect.forEach(
        Array.from({ length: 40 }),
        (_, at) =>
          Effect.flatMap(Effect.fork(one), (fiber) => Effect.zipRight(Effect.sleep(at % 3), Fiber.interrupt(fiber))),
        { concurrency: 8 }
      )
      assert.lengthOf(yield* Effect.all([one, one, one], { concurrency: 3 }), 3)
    })
  )

  it.scopedLive("answers the others when half of 200 callers go, and leaves no transaction open", () =>
    Effect.gen(function* () {
      const options = { ...fresh(yield* server), pool: 2 }
      const store = yield* opened(options)
      yield* store.createCollection(defaultCollection, embedder)
      yield* store.put(
        defaultCollection,
        Array.from({ length: 200 }, (_, n) => document(`river ${n}`, { source: `/${n}` }))
      )
      const exits = yield* Effect.forEach(
        Array.from({ length: 200 }),
        (_, n) =>
          Effect.gen(function* () {
            const asked: Effect.Effect<unknown, unknown> =
              n % 10 === 9
                ? store.put(defaultCollection, [document(`moon ${n}`, { source: `/moon/${n}` })])
                : ranked(store, { keyword: `river ${n}` })
            const fiber = yield* Effect.fork(asked)
            if (n % 2 === 0) return yield* Fiber.await(fiber)
            yield* Effect.sleep((n * 7) % 41)
            yield* Fiber.interrupt(fiber)
            return Exit.void
          }),
        { concurrency: "unbounded" }
      )
      assert.isTrue(exits.every(Exit.isSuccess))
      const sql = yield* makeClient({ ...options, pool: 1 })
      // Nobody waits for the end of a search's transaction.
      yield* Effect.repeat(
        sql.unsafe(
          "SELECT 1 FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' OR state = 'active' AND pid <> pg_backend_pid()"
        ),
        { until: (open) => open.length === 0 }
      )
    })
  )
}
