import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { start } from "./server.ts"

it.scopedLive("sixteen batches are indexed or wait for it, and the next is sent back with a time to come again", () =>
  Effect.gen(function* () {
    const writing = yield* Deferred.make<void>()
    const { url } = yield* start({ writing })
    const index = (n: number) =>
      fetch(`${url}/index`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ documents: [{ content: `batch ${n}`, doc_id: `${n}` }] })
      })
    const all = Array.from({ length: 17 }, (_, n) => index(n))
    const refused = yield* Effect.promise(() => Promise.race(all))
    assert.strictEqual(refused.status, 503)
    assert.strictEqual(refused.headers.get("retry-after"), "5")
    assert.include(yield* Effect.promise(() => refused.text()), "IndexingBusy")
    yield* Deferred.succeed(writing, undefined)
    const statuses = (yield* Effect.promise(() => Promise.all(all))).map(({ status }) => status)
    assert.lengthOf(
      statuses.filter((status) => status === 200),
      16
    )
    assert.strictEqual((yield* Effect.promise(() => index(17))).status, 200)
  })
)
