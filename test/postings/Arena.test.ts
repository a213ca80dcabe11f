import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { Arena } from "../../src/postings/Arena.ts"

const megabyte = 1024 * 1024

const hold = (arena: Arena) => Effect.sync(() => arena.store(new Uint8Array(megabyte).fill(7)))

it.effect("compacts a full arena and takes its memory again, however much comes and goes", () =>
  Effect.gen(function* () {
    const seen = new Set<Arena>()
    // Other tests of this process may have used it before.
    const before = yield* Arena.using(({ bytes }) => Effect.succeed(bytes.length))
    for (let n = 0; n < 100; n++) {
      yield* Arena.using((arena) => {
        seen.add(arena)
        return hold(arena)
      })
    }
    assert.strictEqual(seen.size, 1)
    const [arena] = seen
    assert.isBelow(arena!.bytes.length, Math.max(before, 15 * megabyte) + megabyte)
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
