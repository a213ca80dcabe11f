import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as SqliteClient from "../../src/Store/sqlite/client.ts"
import { collected } from "../spans.ts"

const open = SqliteClient.make(":memory:", false)

it.scoped("prepares a statement again that could not be prepared before", () =>
  Effect.gen(function* () {
    const sql = yield* open
    const all = SqliteClient.transaction(sql, "BEGIN")(sql.unsafe<{ readonly n: number }>("SELECT n FROM t"))
    assert.strictEqual((yield* Effect.flip(all))._tag, "SqlError")
    yield* sql`CREATE TABLE t (n)`
    yield* sql`INSERT INTO t VALUES (${3})`
    assert.deepStrictEqual(yield* all, [{ n: 3 }])
  })
)

it.scoped("keeps more statements than it keeps prepared", () =>
  Effect.gen(function* () {
    const sql = yield* open
    for (const round of [1, 2]) {
      for (let n = 0; n < 500; n++) {
        assert.deepStrictEqual(yield* sql.unsafe(`SELECT ${n} AS n, ? AS round`, [round]), [{ n, round }])
      }
    }
  })
)

it.scoped("makes a span of a statement if somebody collects spans, within a transaction as well as without", () =>
  Effect.gen(function* () {
    const sql = yield* open
    const { spans, tracer } = yield* collected
    const one = sql.unsafe("SELECT 1")
    yield* SqliteClient.transaction(sql, "BEGIN")(one)
    assert.deepStrictEqual(spans, [])
    yield* Effect.withTracer(Effect.zipRight(SqliteClient.transaction(sql, "BEGIN")(one), one), tracer)
    assert.deepStrictEqual(
      spans.map(({ name }) => name),
      ["sql.execute", "sql.execute"]
    )
  })
)
