import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { retrying } from "../../src/api/waiting.ts"

const hour = 3_600_000

/** When a server is asked that is busy twice and says this of when to come again; milliseconds since the first time. */
const askedAt = Effect.fnUntraced(function* (retryAfter: string) {
  yield* TestClock.setTime(hour)
  const asked: Array<number> = []
  const request = HttpClientRequest.get("http://127.0.0.1/stats")
  const sending = Effect.map(Clock.currentTimeMillis, (now) => {
    asked.push(now - hour)
    const init = asked.length > 2 ? {} : { status: 503, headers: { "retry-after": retryAfter } }
    return HttpClientResponse.fromWeb(request, new Response(null, init))
  })
  const fiber = yield* Effect.fork(retrying(2)(sending, "/stats"))
  while (Option.isNone(yield* Fiber.poll(fiber))) yield* TestClock.adjust("250 millis")
  const { status } = yield* Fiber.join(fiber)
  return { asked, status }
})

describe("a client whose server is busy", () => {
  it.effect("waits the seconds that it is told", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* askedAt("3"), { asked: [0, 3000, 6000], status: 200 })
    })
  )

  it.effect("waits until the date that it is told", () =>
    Effect.gen(function* () {
      const date = new Date(hour + 5000).toUTCString()
      assert.deepStrictEqual(yield* askedAt(date), { asked: [0, 5000, 5000], status: 200 })
    })
  )

  it.effect("does not wait for longer than a minute", () =>
    Effect.gen(function* () {
      for (const told of ["61", new Date(hour + 61_000).toUTCString()]) {
        assert.deepStrictEqual(yield* askedAt(told), { asked: [0], status: 503 })
      }
    })
  )

  it.effect("waits a little, then longer, if it is told nothing of use", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* askedAt("soon"), { asked: [0, 250, 750], status: 200 })
    })
  )
})
