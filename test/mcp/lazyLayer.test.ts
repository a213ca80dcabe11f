import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { lazyLayer } from "../../src/mcp/lazyLayer.ts"

class Built extends Context.Tag("test/Built")<Built, number>() {}

/** A layer whose builds wait for a gate each; they fail until the last one. */
const gated = Effect.gen(function* () {
  const gates = yield* Effect.all([Deferred.make<void>(), Deferred.make<void>()])
  let builds = 0
  const layer = Layer.effect(
    Built,
    Effect.suspend(() => {
      const build = builds++
      return Effect.zipRight(
        Deferred.await(gates[build]!),
        build === gates.length - 1 ? Effect.succeed(build) : Effect.fail(`build ${build} failed`)
      )
    })
  )
  return { gates, lazy: yield* lazyLayer(layer), builds: () => builds }
})

it.scoped("lets all who wait fail together, and tries again for the next", () =>
  Effect.gen(function* () {
    const { builds, gates, lazy } = yield* gated
    const callers = yield* Effect.forEach([1, 2, 3], () => Effect.fork(Effect.flip(lazy.use(Built))))
    yield* Effect.yieldNow()
    yield* Deferred.succeed(gates[0]!, undefined)
    assert.deepStrictEqual(
      yield* Effect.forEach(callers, (caller) => Fiber.join(caller)),
      Array.from({ length: 3 }, () => "build 0 failed")
    )
    assert.strictEqual(builds(), 1)
    assert.isFalse(yield* lazy.isBuilt)
    yield* Deferred.succeed(gates[1]!, undefined)
    assert.strictEqual(yield* lazy.use(Built), 1)
    assert.strictEqual(yield* lazy.use(Built), 1)
    assert.isTrue(yield* lazy.isBuilt)
    assert.strictEqual(builds(), 2)
  })
)

it.scoped("goes on building when the caller that began it goes away", () =>
  Effect.gen(function* () {
    const { builds, gates, lazy } = yield* gated
    const first = yield* Effect.fork(lazy.use(Built))
    const second = yield* Effect.fork(Effect.flip(lazy.use(Built)))
    yield* Effect.yieldNow()
    yield* Fiber.interrupt(first)
    yield* Deferred.succeed(gates[0]!, undefined)
    assert.strictEqual(yield* Fiber.join(second), "build 0 failed")
    assert.strictEqual(builds(), 1)
  })
)
