import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { event, respond } from "../../src/http/sse.ts"

it.effect("a comment every 15 s keeps a silent stream open, and ends with it", () =>
  Effect.gen(function* () {
    const { body } = respond((emit) => Effect.delay(emit(event("done", "{}")), "50 seconds"))
    if (body._tag !== "Stream") return assert.fail("not a stream")
    const all = yield* Effect.fork(Stream.runCollect(Stream.decodeText(body.stream)))
    yield* TestClock.adjust("2 minutes")
    assert.deepStrictEqual(
      [...(yield* Fiber.join(all))],
      [": clew\n\n", ": still here\n\n", ": still here\n\n", ": still here\n\n", "event: done\ndata: {}\n\n"]
    )
  })
)
