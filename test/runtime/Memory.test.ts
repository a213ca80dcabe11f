import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { nextTurn } from "../../src/runtime/EventLoop.ts"
import { reclaiming } from "../../src/runtime/Memory.ts"

/** Something that nothing holds. */
const dropped = () => new WeakRef({ text: "large" })

it.scoped("gives back what large work has left, once there has been no more of it for a second", () =>
  Effect.gen(function* () {
    const reclaim = yield* reclaiming
    const left = dropped()
    yield* nextTurn
    const isThere = Effect.zipRight(
      nextTurn,
      Effect.sync(() => left.deref() !== undefined)
    )
    yield* reclaim
    yield* TestClock.adjust("600 millis")
    yield* reclaim
    yield* TestClock.adjust("600 millis")
    assert.isTrue(yield* isThere)
    yield* TestClock.adjust("400 millis")
    assert.isFalse(yield* isThere)
  })
)
