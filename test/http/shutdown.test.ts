import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { ask, type Line, start } from "./server.ts"

const documents = [{ content: "Bees make honey." }]

for (const path of ["/query", "/prompt", "/index"]) {
  it.scopedLive(`answers what it does not finish in time when it shuts down: ${path}`, () =>
    Effect.gen(function* () {
      const never = yield* Deferred.make<void>()
      const reached = yield* Deferred.make<void>()
      const log: Array<Line> = []
      const held = path === "/index" ? { writing: never } : { gate: never }
      const { port, stop } = yield* start({ ...held, reached, log, grace: Duration.millis(500) })
      if (path !== "/index") yield* ask(port, "POST", "/index", { body: { documents } })
      const body = path === "/index" ? { documents } : { query: "honey" }
      const asked = yield* Effect.fork(ask(port, "POST", path, { body }))
      yield* Deferred.await(reached)
      const stopping = yield* Effect.fork(stop)
      const { headers, json, status } = yield* Fiber.join(asked)
      assert.strictEqual(status, 503)
      assert.strictEqual(json._tag, "StoreUnavailable")
      assert.include(json.detail, "shutting down")
      assert.strictEqual(headers["content-type"], "application/problem+json")
      yield* Fiber.join(stopping)
      assert.isTrue(log.some(({ message }) => message.includes(`POST ${path} 503`)))
      assert.isFalse(log.some(({ message }) => message.includes("defect")))
    })
  )
}
