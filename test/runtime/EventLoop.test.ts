import { assert, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { afterEach } from "vitest"
import { sharingWrites } from "../../src/runtime/EventLoop.ts"

afterEach(() => {
  vi.useRealTimers()
})

it("lets others write once a job has been writing for a while, and not after each step", async () => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] })
  const share = sharingWrites()
  /** Milliseconds that a call takes. */
  const took = async () => {
    const began = performance.now()
    const fiber = Effect.runFork(share)
    if (fiber.unsafePoll() === null) await vi.runOnlyPendingTimersAsync()
    await Effect.runPromise(Fiber.join(fiber))
    return performance.now() - began
  }
  const rests: Array<number> = []
  for (let step = 0; step < 60; step++) {
    vi.advanceTimersByTime(10)
    rests.push(await took())
  }
  // Longer than the 30 ms between two attempts of a process that waits for the lock, within a third of a second.
  assert.deepStrictEqual([...new Set(rests)].sort(), [0, 30])
  assert.strictEqual(rests.filter((rest) => rest > 0).length, 2)
})
