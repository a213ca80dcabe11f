import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"

const turn = Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))

/** Waits until somebody sleeps for exactly so many milliseconds of the test's clock, which comes after answers of a server. */
export const asleepFor = (millis: number) =>
  Effect.gen(function* () {
    const wakes = (yield* Clock.currentTimeMillis) + millis
    while (!Chunk.contains(yield* TestClock.sleeps(), wakes)) yield* turn
  })

/** Does it with at most so many milliseconds of the test's clock: whoever sleeps for longer is not woken. */
export const within =
  (millis: number) =>
  <A, E, R>(work: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const end = (yield* Clock.currentTimeMillis) + millis
      const fiber = yield* Effect.fork(work)
      while ((yield* Fiber.poll(fiber))._tag === "None") {
        const next = Math.min(...(yield* TestClock.sleeps()))
        yield* next <= end ? TestClock.setTime(next) : turn
      }
      return yield* Fiber.join(fiber)
    })
