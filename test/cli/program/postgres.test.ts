import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { chmodSync } from "node:fs"
import { CompareReport } from "../../../src/cli/compare.ts"
import { TransferReport } from "../../../src/cli/transfer.ts"
import { Stats } from "../../../src/model/Stats.ts"
import { answering, asking, refusal } from "../../Store/postgres/fake.ts"
import { hasPostgres, server } from "../../Store/postgres/server.ts"
import { library } from "./files.ts"
import { Sandbox } from "./sandbox.ts"

it.scopedLive("takes a password from PGPASSFILE, without a word of the driver's about it", () =>
  Effect.gen(function* () {
    const url = yield* answering(asking(10, "SCRAM-SHA-256\0\0"), refusal("28P01", "password authentication failed"))
    const box = yield* Effect.acquireRelease(
      Effect.sync(() => new Sandbox({ passwords: "*:*:*:*:sesame\n" })),
      (made) => Effect.sync(() => made.remove())
    )
    chmodSync(box.path("passwords"), 0o600)
    const env = { CLEW_STORE_URL: url, PGPASSFILE: box.path("passwords") }
    const { stderr } = yield* Effect.promise(() => box.spawn(["list"], { env }))
    assert.include(stderr, "it refuses the user or the password")
    assert.notInclude(stderr, "Deprecation")
  })
)

if (hasPostgres) {
  it.scopedLive(
    "moves an index to PostgreSQL and back with the same answers, and says what the store is and cannot do",
    () =>
      Effect.gen(function* () {
        const { url } = yield* server
        const box = yield* Effect.acquireRelease(
          Effect.sync(() => new Sandbox(library)),
          (made) => Effect.sync(() => made.remove())
        )
        const env = { CLEW_STORE_URL: url, CLEW_STORE_SCHEMA: `doors_${process.pid}` }
        yield* Effect.promise(async () => {
          await box.ends(0, ["index", ".", "-q", "--db", "file.db"])
          const { stdout: input } = await box.ends(0, ["export", "--db", "file.db"])
          const taken = await box.json(TransferReport, ["import", "-"], { env, input })
          const again = await box.json(TransferReport, ["import", "-"], { env, input })
          assert.deepStrictEqual([taken.unchanged, again.unchanged], [0, taken.documents])
          assert.strictEqual((await box.ends(0, ["export"], undefined, { env })).stdout, input)
          const { different } = await box.json(CompareReport, ["compare", "file.db"], { env })
          assert.deepStrictEqual(different, [])

          const { store } = await box.json(Stats, ["info"], { env })
          assert.deepStrictEqual(
            [store.backend, store.schema, store.capabilities.backup, store.capabilities.shared],
            ["postgres", env.CLEW_STORE_SCHEMA, false, true]
          )
          await box.ends(1, ["backup", "copy.db"], "pg_dump --schema=", { env })
          await box.ends(0, ["delete", "docs/tides.md", "--yes"], "depends on its vacuum", { env })
          await box.ends(4, ["compare", "file.db"], "below 0.99", { env })
        })
      }),
    120_000
  )
}
