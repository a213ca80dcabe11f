import { assert, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { setTimeout } from "node:timers/promises"
import { processSamples } from "../../src/http/process.ts"

/** Holds the event loop up, then lets it turn. */
const holdUp = Effect.promise(async () => {
  // The measuring begins with the next turn.
  await setTimeout(60)
  const until = performance.now() + 150
  while (performance.now() < until);
  await setTimeout(60)
})

it.scoped("measures the event loop's lag while somebody asks for it, and else lets the process sleep", () =>
  Effect.gen(function* () {
    const samples = yield* processSamples
    const longest = Effect.map(
      samples,
      (all) => all.find(({ name }) => name === "nodejs_eventloop_lag_max_seconds")!.value
    )
    yield* holdUp
    assert.strictEqual(yield* longest, 0)
    yield* holdUp
    assert.isAbove(yield* longest, 0.05)
    yield* TestClock.adjust(Duration.minutes(5))
    yield* holdUp
    assert.strictEqual(yield* longest, 0)
    yield* holdUp
    assert.isAbove(yield* longest, 0.05)
  })
)
