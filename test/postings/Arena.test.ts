import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { Arena } from "../../src/postings/Arena.ts"

const megabyte = 1024 * 1024

const hold = (arena: Arena) => Effect.sync(() => arena.store(new Uint8Array(megabyte).fill(7)))

it.effect("empties a full arena and takes its memory again, however much comes and goes", () =>
  Effect.gen(function* () {
    const seen = new Set<Arena>()
    const storeMany = Effect.gen(function* () {
      for (let n = 0; n < 100; n++) {
        yield* Arena.using((arena) => {
          seen.add(arena)
          return hold(arena)
        })
      }
      return yield* Arena.using(({ bytes }) => Effect.succeed(bytes.length))
    })
    // How full it may be depends on what other tests of this process searched. However full, it grows no further.
    const full = yield* storeMany
    assert.isBelow(full, 100 * megabyte)
    assert.strictEqual(yield* storeMany, full)
    assert.strictEqual(seen.size, 1)
  })
)

it.effect("leaves what somebody still uses as it is", () =>
  Effect.gen(function* () {
    const [started, done] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const reading = yield* Effect.fork(
      Arena.using((arena) =>
        Effect.gen(function* () {
          const at = arena.store(Uint8Array.of(1, 2, 3))
          yield* Deferred.succeed(started, undefined)
          yield* Deferred.await(done)
          return [...arena.bytes.subarray(at, at + 3)]
        })
      )
    )
    yield* Deferred.await(started)
    for (let n = 0; n < 40; n++) yield* Arena.using(hold)
    yield* Deferred.succeed(done, undefined)
    assert.deepStrictEqual(yield* Fiber.join(reading), [1, 2, 3])
  })
)
