import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { nextTurn } from "../../src/runtime/EventLoop.ts"
import { reclaiming } from "../../src/runtime/Memory.ts"

/** Something, and who alone holds it. */
const something = () => {
  const holder = [{ text: "large" }]
  return { holder, left: new WeakRef(holder[0]!) }
}

it.scoped("gives back what large work has left, once there has been no more of it for a second", () =>
  Effect.gen(function* () {
    const reclaim = yield* reclaiming
    const { holder, left } = something()
    // What has lived through one such collection is old: V8 takes it with no small one.
    yield* reclaim
    yield* TestClock.adjust("1 second")
    holder.pop()
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
