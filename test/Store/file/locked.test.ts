import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as path from "node:path"
import { connect, type DatabaseOptions } from "../../../src/Store/sqlite/connect.ts"
import { transaction } from "../../../src/Store/sqlite/client.ts"
import { temporaryFolder } from "../../folder.ts"

/** An index that was closed, so that it is read and written without a WAL. */
const settled = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const filename = path.join(folder, "index.db")
  yield* Effect.scoped(connect({ filename, mode: "create" }))
  return filename
})

const modes: ReadonlyArray<DatabaseOptions["mode"]> = ["create", "existing", "readonly"]

for (const mode of modes) {
  it.scoped(`opens an index (${mode}) as soon as another process lets go of it`, () =>
    Effect.gen(function* () {
      const filename = yield* settled
      const other = new Database(filename)
      other.exec("BEGIN EXCLUSIVE")
      const opening = yield* Effect.fork(
        Effect.scoped(Effect.flatMap(connect({ filename, mode }), (sql) => sql`SELECT count(*) AS n FROM documents`))
      )
      yield* TestClock.adjust(Duration.seconds(1))
      assert.isNull(opening.unsafePoll())
      other.exec("COMMIT")
      other.close()
      yield* TestClock.adjust(Duration.seconds(1))
      assert.deepStrictEqual(yield* Fiber.join(opening), [{ n: 0 }])
    })
  )
}

it.scoped("goes on with a statement that met a lock when it was first prepared", () =>
  Effect.gen(function* () {
    const filename = yield* settled
    const sql = yield* connect({ filename, mode: "readonly" })
    const other = new Database(filename)
    // Whoever has the index open reads the changed schema again with its next statement.
    other.exec("CREATE TABLE other (x)")
    const count = Effect.scoped(transaction(sql, "BEGIN")(sql<{ readonly n: number }>`SELECT count(*) AS n FROM other`))
    other.exec("BEGIN EXCLUSIVE")
    const counting = yield* Effect.fork(count)
    yield* TestClock.adjust(Duration.seconds(1))
    assert.isNull(counting.unsafePoll())
    other.exec("COMMIT")
    yield* TestClock.adjust(Duration.seconds(1))
    assert.deepStrictEqual(yield* Fiber.join(counting), [{ n: 0 }])
    other.close()
  })
)
