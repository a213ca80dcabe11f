import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { Embedder, EmbedderUnavailable } from "../../src/Embedder.ts"
import { Breakers } from "../../src/Embedder/Breakers.ts"
import { pauses } from "../../src/runtime/breaker.ts"
import * as Ollama from "../../src/Embedder/Ollama.ts"
import { makeTurns } from "../../src/runtime/Turn.ts"
import { compass, makeEmbedder } from "../fakes.ts"
import { eventually, startOllama } from "../ollama.ts"

const breakers = Effect.map(Layer.build(Breakers.Default), Context.get(Breakers))

const guarded = (embedder: Embedder["Type"]) =>
  Effect.flatMap(breakers, ({ guard }) =>
    guard({ name: "compass", patience: "5 seconds", embedder: Effect.succeed(embedder) })
  )

/** An embedder that can be switched off, and counts what it is asked. */
const counting = Effect.gen(function* () {
  const { down, embedder } = yield* makeEmbedder()
  const asked = yield* Ref.make(0)
  const count = Ref.update(asked, (n) => n + 1)
  return {
    down,
    asked: Ref.get(asked),
    embedder: Embedder.of({ ...embedder, embedQuery: (text) => Effect.zipRight(count, embedder.embedQuery(text)) })
  }
})

const reason = <A>(effect: Effect.Effect<A, EmbedderUnavailable>) =>
  Effect.map(Effect.flip(effect), (error) => error.reason)

describe("an embedder that is down", () => {
  it.scoped("costs one query, and is asked again with growing pauses until it answers", () =>
    Effect.gen(function* () {
      const { asked, down, embedder } = yield* counting
      const { embedQuery, urgent } = yield* guarded(embedder)
      yield* Ref.set(down, "gone")
      assert.strictEqual(yield* reason(embedQuery("north")), "gone")
      for (let n = 0; n < 20; n++) {
        assert.strictEqual(yield* reason(embedQuery("north")), "gone; the next retry is in 1 s")
      }
      assert.include(yield* reason(urgent!.identity), "gone")
      assert.include(yield* reason(Effect.asVoid(urgent!.check)), "gone")
      assert.strictEqual(yield* asked, 1)
      for (const [seconds, times] of [
        [1, 2],
        [2, 3],
        [4, 4],
        [7, 4],
        [1, 5]
      ]) {
        yield* TestClock.adjust(Duration.seconds(seconds!))
        assert.strictEqual(yield* asked, times)
      }
      yield* TestClock.adjust("10 minutes")
      assert.isAtMost(yield* asked, 7 + Duration.toMillis("10 minutes") / Duration.toMillis(pauses.longest))
      yield* Ref.set(down, undefined)
      yield* TestClock.adjust(pauses.longest)
      assert.isTrue(Option.isSome(yield* embedQuery("north")))
      const tries = yield* asked
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* asked, tries, "nobody asks what answers")
    })
  )

  it.scoped("is known to be down to every embedder of the same server and model, and to no other", () =>
    Effect.gen(function* () {
      const { down, embedder } = yield* counting
      const { guard } = yield* breakers
      const [one, same, other] = yield* Effect.forEach(["a", "a", "b"], (name) =>
        guard({ name, patience: "5 seconds", embedder: Effect.succeed(embedder) })
      )
      yield* Ref.set(down, "gone")
      yield* reason(one!.embedQuery("north"))
      assert.include(yield* reason(same!.embedQuery("north")), "next retry")
      assert.strictEqual(yield* reason(other!.embedQuery("north")), "gone")
    })
  )

  it.scoped("still gets passages to be stored, and their vectors prove it to be back", () =>
    Effect.gen(function* () {
      const { down, embedder } = yield* counting
      const { embedPassages, embedQuery } = yield* guarded(embedder)
      yield* Ref.set(down, "gone")
      yield* reason(embedQuery("north"))
      yield* Ref.set(down, undefined)
      yield* reason(embedQuery("north"))
      yield* embedPassages(["south"])
      assert.isTrue(Option.isSome(yield* embedQuery("north")))
    })
  )

  it.scoped("is not one that refuses one text", () =>
    Effect.gen(function* () {
      const { embedder } = yield* counting
      const { embedQuery } = yield* guarded({
        ...embedder,
        embedQuery: (text) =>
          text === "long" ? new EmbedderUnavailable({ reason: "too long", refused: true }) : embedder.embedQuery(text)
      })
      assert.strictEqual(yield* reason(embedQuery("long")), "too long")
      assert.isTrue(Option.isSome(yield* embedQuery("north")))
    })
  )
})

it.scoped("an embedder that does not say what it is within its time is down for who cannot wait", () =>
  Effect.gen(function* () {
    const { embedder } = yield* counting
    const answer = yield* Deferred.make<typeof compass>()
    const { identity, urgent } = yield* guarded({ ...embedder, identity: Deferred.await(answer) })
    const patient = yield* Effect.fork(identity)
    const first = yield* Effect.fork(Effect.flip(urgent!.identity))
    yield* TestClock.adjust("5 seconds")
    assert.include((yield* Fiber.join(first)).reason, "no answer within 5000 ms")
    assert.include(yield* reason(urgent!.identity), "next retry")
    yield* Deferred.succeed(answer, compass)
    assert.deepStrictEqual(yield* Fiber.join(patient), compass)
    assert.deepStrictEqual(yield* urgent!.identity, compass)
  })
)

it.scoped("asks an embedder whether it answers only where it has not answered lately", () =>
  Effect.gen(function* () {
    const { asked, down, embedder } = yield* counting
    const { embedQuery, urgent } = yield* guarded(embedder)
    yield* urgent!.check
    yield* urgent!.check
    assert.strictEqual(yield* asked, 1)
    yield* TestClock.adjust("10 seconds")
    yield* embedQuery("north")
    yield* TestClock.adjust("10 seconds")
    yield* urgent!.check
    assert.strictEqual(yield* asked, 2)
    yield* TestClock.adjust("15 seconds")
    yield* Ref.set(down, "gone")
    assert.strictEqual(yield* reason(Effect.asVoid(urgent!.check)), "gone")
  })
)

it.scopedLive("of a server that hangs, nothing is left under way when the process's embedders end", () =>
  Effect.gen(function* () {
    const { faults, state, url } = yield* startOllama()
    faults.silent = true
    const scope = yield* Scope.make()
    const { guard } = yield* Scope.extend(breakers, scope)
    const embedder = Ollama.make({
      url,
      model: "all-minilm",
      prefixes: { query: "", passage: "" },
      batchSize: 8,
      turns: makeTurns(4),
      timeoutMs: 600_000
    })
    const { embedQuery, urgent } = yield* guard({ name: "all-minilm", patience: 50, embedder })
    assert.include(yield* reason(urgent!.identity), "no answer within 50 ms")
    assert.include(yield* reason(embedQuery("north")), "next retry")
    yield* eventually("the request goes on, by which the server may load its model", () => state.inFlight === 1)
    yield* Scope.close(scope, Exit.void)
    yield* eventually("nobody asks it any more", () => state.inFlight === 0)
  })
)
