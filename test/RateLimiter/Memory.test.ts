import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { RateLimiter } from "../../src/RateLimiter.ts"
import * as Memory from "../../src/RateLimiter/Memory.ts"
import { rateLimiterContract } from "../contracts/RateLimiter.ts"

rateLimiterContract("Memory", ({ perSecond }) => Memory.layer({ perSecond, capacity: 100 }))

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
  }).pipe(Effect.provide(Memory.layer({ perSecond: 1, capacity: 2 })))
)
