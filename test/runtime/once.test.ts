import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { once, shared } from "../../src/runtime/once.ts"

it.effect("loads once for all, and again after a failure", () =>
  Effect.gen(function* () {
    let times = 0
    const load = once(
      Effect.zipRight(
        Effect.yieldNow(),
        Effect.suspend(() => (++times === 1 ? Effect.fail("broken") : Effect.succeed(times)))
      )
    )
    assert.strictEqual(yield* Effect.flip(load), "broken")
    assert.deepStrictEqual(yield* Effect.all([load, load, load], { concurrency: "unbounded" }), [2, 2, 2])
  })
)

it.effect("a shared run goes on without the caller that began it, and ends with its scope", () =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const open = yield* Deferred.make<void>()
    let begun = 0
    const work = shared(
      scope,
      Effect.suspend(() => Effect.as(Deferred.await(open), ++begun))
    )
    const first = yield* Effect.fork(work)
    yield* Effect.yieldNow()
    const second = yield* Effect.fork(work)
    yield* Fiber.interrupt(first)
    yield* Deferred.succeed(open, undefined)
    assert.strictEqual(yield* Fiber.join(second), 1)
    // What has ended is begun anew.
    assert.strictEqual(yield* work, 2)
    const waiting = yield* Effect.fork(shared(scope, Effect.never))
    yield* Effect.yieldNow()
    yield* Scope.close(scope, Exit.void)
    assert.isTrue(Exit.isInterrupted(yield* Fiber.await(waiting)))
  })
)
