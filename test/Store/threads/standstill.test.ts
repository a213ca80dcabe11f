import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { limits, standstill, utilizationOf } from "../../../src/Store/threads/Thread.ts"

const thread: { call: number | undefined; step: number; utilization: number } = { call: 1, step: 0, utilization: 0 }

const watch = Effect.fork(
  standstill({ call: () => thread.call, steps: () => thread.step, utilization: () => thread.utilization }, limits)
)

const isOver = (fiber: Fiber.RuntimeFiber<number>) => Effect.map(Fiber.poll(fiber), ({ _tag }) => _tag === "Some")

describe("standstill", () => {
  it.effect("gives up a thread that does nothing for a minute", () =>
    Effect.gen(function* () {
      thread.utilization = 0
      const fiber = yield* watch
      yield* TestClock.adjust("55 seconds")
      assert.isFalse(yield* isOver(fiber))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* Fiber.join(fiber), 60)
    })
  )

  it.effect("leaves one that works on a statement fifteen minutes", () =>
    Effect.gen(function* () {
      thread.utilization = 1
      const fiber = yield* watch
      yield* TestClock.adjust("895 seconds")
      assert.isFalse(yield* isOver(fiber))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* Fiber.join(fiber), 900)
    })
  )

  it.effect("leaves one that makes steps, however long it takes", () =>
    Effect.gen(function* () {
      thread.utilization = 0
      const fiber = yield* watch
      for (let minute = 0; minute < 20; minute++) {
        thread.step++
        yield* TestClock.adjust("50 seconds")
      }
      assert.isFalse(yield* isOver(fiber))
      yield* Fiber.interrupt(fiber)
    })
  )

  it.effect("leaves one that nobody calls, or that performs one call after another", () =>
    Effect.gen(function* () {
      thread.utilization = 0
      thread.call = undefined
      const fiber = yield* watch
      yield* TestClock.adjust("20 minutes")
      assert.isFalse(yield* isOver(fiber))
      for (let call = 1; call < 20; call++) {
        thread.call = call
        yield* TestClock.adjust("50 seconds")
      }
      assert.isFalse(yield* isOver(fiber))
      yield* TestClock.adjust("15 seconds")
      assert.strictEqual(yield* Fiber.join(fiber), 60)
    })
  )

  it("takes a thread for busy where the runtime does not tell, as Deno", () =>
    assert.strictEqual(utilizationOf({ performance: {} })(), 1))
})
