import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as TestClock from "effect/TestClock"
import { RateLimiter, layer } from "../src/RateLimiter.ts"

const layerOf = ({ perSecond }: { readonly perSecond: number }) => layer({ perSecond, capacity: 100 })

const take = (key: string, times = 1) =>
  Effect.flatMap(RateLimiter, (limiter) =>
    Effect.map(
      Effect.forEach(Array.from({ length: times }), () => Effect.isSuccess(limiter.take(key))),
      (taken) => taken.filter(Boolean).length
    )
  )

it.effect("lets a burst of the limit's size through, then the rate", () =>
  Effect.gen(function* () {
    assert.strictEqual(yield* take("a", 25), 10)
    yield* TestClock.adjust("100 millis")
    assert.strictEqual(yield* take("a", 5), 1)
    yield* TestClock.adjust("1 hour")
    assert.strictEqual(yield* take("a", 25), 10)
  }).pipe(Effect.provide(layerOf({ perSecond: 10 })))
)

it.effect("keeps callers apart", () =>
  Effect.gen(function* () {
    assert.strictEqual(yield* take("a", 3), 2)
    assert.strictEqual(yield* take("b", 3), 2)
  }).pipe(Effect.provide(layerOf({ perSecond: 2 })))
)

it.effect("says when to come back, and takes nothing until then", () =>
  Effect.gen(function* () {
    const limiter = yield* RateLimiter
    yield* limiter.take("a")
    const error = yield* Effect.flip(limiter.take("a"))
    assert.deepInclude(error, { _tag: "TooManyRequests", retryAfterSeconds: 1, perSecond: 1 })
    yield* TestClock.adjust(`${error.retryAfterSeconds} seconds`)
    yield* limiter.take("a")
  }).pipe(Effect.provide(layerOf({ perSecond: 1 })))
)

it.effect.prop(
  "never lets through more than the burst and the rate together",
  [FastCheck.array(FastCheck.record({ wait: FastCheck.nat(500), times: FastCheck.nat(30) }), { maxLength: 20 })],
  ([steps]) =>
    Effect.gen(function* () {
      let taken = 0
      let elapsed = 0
      for (const { times, wait } of steps) {
        yield* TestClock.adjust(wait)
        elapsed += wait
        taken += yield* take("a", times)
        assert.isAtMost(taken, 20 + (elapsed / 1000) * 20)
      }
    }).pipe(Effect.provide(layerOf({ perSecond: 20 }))),
  { fastCheck: { numRuns: 30 } }
)

it.effect("lets nobody wait for the time by which a clock was set back", () =>
  Effect.gen(function* () {
    yield* TestClock.adjust("1 hour")
    assert.strictEqual(yield* take("a", 2), 2)
    yield* TestClock.setTime(0)
    assert.strictEqual(yield* take("a", 3), 1)
    yield* TestClock.adjust("1 second")
    assert.strictEqual(yield* take("a", 5), 3)
  }).pipe(Effect.provide(layerOf({ perSecond: 3 })))
)

it.effect("forgets who was longest away, and nobody else", () =>
  Effect.gen(function* () {
    const limiter = yield* RateLimiter
    const isLetIn = (key: string) => Effect.isSuccess(limiter.take(key))
    assert.isTrue(yield* isLetIn("a"))
    assert.isTrue(yield* isLetIn("b"))
    assert.isFalse(yield* isLetIn("a"))
    // A third comes: b was longest away.
    assert.isTrue(yield* isLetIn("c"))
    assert.isFalse(yield* isLetIn("a"))
    assert.isTrue(yield* isLetIn("b"))
  }).pipe(Effect.provide(layer({ perSecond: 1, capacity: 2 })))
)
