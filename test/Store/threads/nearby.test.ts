import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Whole } from "../../../src/Store.ts"
import { nearby, noticingPuts } from "../../../src/Store/SqliteThreaded.ts"

const request = { passages: 1000, keyword: "moon", filter: {} } as Parameters<Whole["find"]>[0]

it.effect("a small search leaves the caller's thread while documents come in, and while another search runs", () =>
  Effect.gen(function* () {
    const places: Array<string> = []
    const at = (place: string, until: Effect.Effect<void> = Effect.void) =>
      (() =>
        Effect.zipRight(
          Effect.sync(() => places.push(place)),
          until
        )) as unknown as Whole["find"]
    const stored = yield* Deferred.make<void>()
    const store = { put: () => Deferred.await(stored) } as unknown as Whole
    const { isIndexing, near } = noticingPuts(store)
    const find = nearby(at("here"), at("thread"), isIndexing)
    yield* find(request)
    const putting = yield* Effect.fork(near.put("default" as never, []))
    yield* Effect.yieldNow()
    yield* find(request)
    yield* Deferred.succeed(stored, undefined)
    yield* Fiber.join(putting)
    // Another batch is likely to follow.
    yield* find(request)
    assert.deepStrictEqual(places, ["here", "thread", "thread"])
    const answered = yield* Deferred.make<void>()
    const several = nearby(at("here", Deferred.await(answered)), at("thread"), () => false)
    const first = yield* Effect.fork(several(request))
    yield* Effect.yieldNow()
    yield* several(request)
    yield* Deferred.succeed(answered, undefined)
    yield* Fiber.join(first)
    assert.deepStrictEqual(places.slice(3), ["here", "thread"])
  })
)
