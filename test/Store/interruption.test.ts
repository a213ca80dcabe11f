import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Runtime from "effect/Runtime"
import * as Scheduler from "effect/Scheduler"
import { defaultCollection } from "../../src/model/Collection.ts"
import { DocumentId } from "../../src/model/Document.ts"
import { type Stores, whole } from "../../src/Store.ts"
import { document, embedder } from "../contracts/Store.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { ranked } from "../ranked.ts"

/** Interrupts the fibers that it runs at the step given, as a reading thread does whose caller goes away. */
const interruptingAt = (step: number) => {
  let steps = 0
  return {
    reached: () => steps >= step,
    scheduler: {
      scheduleTask: (task, priority, fiber) => Scheduler.defaultScheduler.scheduleTask(task, priority, fiber),
      shouldYield: (fiber) => {
        if (++steps === step) fiber.unsafeInterruptAsFork(FiberId.none)
        return Scheduler.defaultScheduler.shouldYield(fiber)
      }
    } satisfies Scheduler.Scheduler
  }
}

/** Runs an effect, interrupted at a step; whether the step came before its end. */
const interrupted = Effect.fnUntraced(function* <A, E>(effect: Effect.Effect<A, E, Stores>, step: number) {
  const { reached, scheduler } = interruptingAt(step)
  const run = Runtime.runFork(yield* Effect.runtime<Stores>())
  yield* Effect.promise(() => new Promise((resolve) => run(effect, { scheduler }).addObserver(resolve)))
  return reached()
})

const request = { keyword: "zebra", vector: Float32Array.of(1, 0, 0, 0), alpha: 0.4, filter: { source: "*e*" } }

const zebra = (content: string) => document(content, { docId: DocumentId.make("z"), source: "zebra" })

const patience = "10 seconds"

/** Every so manieth step of a long call is tried, for the time that all of them would take. */
const stride = 7

describe("a call that is interrupted at any of its steps leaves the connection to the next one", () => {
  it.live("where its statements are prepared for the first time", () =>
    Effect.gen(function* () {
      let isWithin = true
      for (let step = 1; isWithin; step += 3) {
        isWithin = yield* Effect.gen(function* () {
          const store = yield* whole
          const reached = yield* interrupted(store.collections, step)
          const after = yield* Effect.timeoutOption(store.collections, patience)
          assert.strictEqual(after._tag, "Some", `interrupted at step ${step}`)
          return reached
        }).pipe(Effect.provide(Sqlite.layerMemory))
      }
    })
  )

  it.live("where it searches or writes", () =>
    Effect.gen(function* () {
      const store = yield* whole
      yield* store.createCollection(defaultCollection, embedder)
      yield* store.put(defaultCollection, [zebra("zebra")])
      const calls: ReadonlyArray<(step: number) => Effect.Effect<unknown, unknown>> = [
        () => ranked(store, request),
        (step) => store.put(defaultCollection, [zebra(`zebra ${step}`)])
      ]
      for (const call of calls) {
        let isWithin = true
        for (let step = 1; isWithin; step += stride) {
          isWithin = yield* interrupted(call(step), step)
          const after = yield* Effect.timeoutOption(ranked(store, request), patience)
          assert.strictEqual(after._tag, "Some", `interrupted at step ${step}`)
          assert.lengthOf(Effect.runSync(after), 1)
        }
      }
    }).pipe(Effect.provide(Sqlite.layerMemory))
  )
})
