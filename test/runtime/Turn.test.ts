import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Runtime from "effect/Runtime"
import * as Scheduler from "effect/Scheduler"
import * as Client from "../../src/runtime/Turn.ts"
import { type Turn, makeTurns } from "../../src/runtime/Turn.ts"

const settled = Effect.repeatN(Effect.yieldNow(), 20)

/** Runs under turns until it is let go, and notes that it began. */
const holder = (begun: Array<string>) =>
  Effect.fnUntraced(function* (turn: Turn, name: string) {
    const end = yield* Deferred.make<void>()
    const fiber = yield* Effect.fork(
      turn(
        Effect.zipRight(
          Effect.sync(() => begun.push(name)),
          Deferred.await(end)
        )
      )
    )
    yield* settled
    return { fiber, end: Effect.zipRight(Deferred.succeed(end, undefined), settled) }
  })

describe("Turn", () => {
  it.effect("goes in the order of asking, past those who went away", () =>
    Effect.gen(function* () {
      const turns = makeTurns(1)
      const begun: Array<string> = []
      const hold = holder(begun)
      const first = yield* hold(turns.urgent, "first")
      const second = yield* hold(turns.urgent, "second")
      const third = yield* hold(turns.urgent, "third")
      assert.deepStrictEqual(begun, ["first"])
      assert.strictEqual(turns.size(), 3)
      yield* Fiber.interrupt(second.fiber)
      yield* first.end
      assert.deepStrictEqual(begun, ["first", "third"])
      yield* third.end
      assert.strictEqual(turns.size(), 0)
    })
  )

  it.effect("goes from client to client", () =>
    Effect.gen(function* () {
      const turns = makeTurns(1)
      const begun: Array<string> = []
      const hold = holder(begun)
      const held = []
      for (const name of ["a1", "a2", "a3", "b1"]) held.push(yield* Client.working(name[0]!)(hold(turns.urgent, name)))
      for (const at of [0, 1, 3, 2]) yield* held[at]!.end
      assert.deepStrictEqual(begun, ["a1", "a2", "b1", "a3"])
    })
  )

  it.effect("keeps a place for the urgent, and lets them go first", () =>
    Effect.gen(function* () {
      const turns = makeTurns(3)
      const begun: Array<string> = []
      const hold = holder(begun)
      const a = yield* hold(turns.patient, "a")
      for (const name of ["b", "c", "d"]) yield* hold(turns.patient, name)
      assert.deepStrictEqual(begun, ["a", "b"])
      yield* hold(turns.urgent, "query")
      assert.deepStrictEqual(begun, ["a", "b", "query"])
      yield* hold(turns.urgent, "another")
      yield* a.end
      assert.deepStrictEqual(begun, ["a", "b", "query", "another"])
    })
  )

  it.effect("loses no turn to who goes away at any step", () =>
    Effect.gen(function* () {
      const runtime = yield* Effect.runtime()
      for (let step = 1; step < 60; step++) {
        const turns = makeTurns(1)
        const first = yield* holder([])(turns.urgent, "first")
        let steps = 0
        const scheduler: Scheduler.Scheduler = {
          scheduleTask: (task, priority, fiber) => Scheduler.defaultScheduler.scheduleTask(task, priority, fiber),
          shouldYield: (fiber) => {
            if (++steps === step) fiber.unsafeInterruptAsFork(FiberId.none)
            return Scheduler.defaultScheduler.shouldYield(fiber)
          }
        }
        const gone = Runtime.runFork(runtime)(turns.urgent(Effect.void), { scheduler })
        yield* settled
        // Both at once: its turn comes, and it goes away.
        yield* Effect.all([first.end, Effect.sync(() => gone.unsafeInterruptAsFork(FiberId.none))], {
          concurrency: step % 2 === 0 ? 1 : 2
        })
        yield* settled
        assert.strictEqual(turns.size(), 0, `step ${step}`)
      }
    })
  )
})
