import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { CollectionName } from "../../src/model/Collection.ts"
import type { Rebuild } from "../../src/model/Stored.ts"
import { nextTurn } from "../../src/runtime/EventLoop.ts"
import { UpkeepStore } from "../../src/Store.ts"
import { Rebuilder } from "../../src/upkeep/Rebuilder.ts"

it.scoped("a server rebuilds in time what a process of another version writes beside it", () =>
  Effect.gen(function* () {
    let old = 0
    const rebuild = (done: number): Rebuild => ({
      collection: CollectionName.make("default"),
      kind: "postings",
      done,
      total: 3,
      missing: false
    })
    const store = Layer.mock(UpkeepStore, {
      sweeping: () => Effect.succeed(false),
      rebuilds: () => Effect.sync(() => (old > 0 ? [rebuild(3 - old)] : [])),
      rebuildStep: () => Effect.sync(() => (old > 0 ? rebuild(3 - --old) : undefined))
    })
    const { inBackground } = yield* Effect.provide(Rebuilder, Layer.provide(Rebuilder.Default, store))
    old = 3
    const passing = (minutes: number) =>
      Effect.repeatN(Effect.zipRight(TestClock.adjust("1 minute"), nextTurn), minutes - 1)
    yield* inBackground
    yield* passing(4)
    assert.strictEqual(old, 0)
    old = 2
    yield* passing(10)
    assert.strictEqual(old, 0)
  })
)
