import { assert, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Llm } from "../../src/Llm.ts"
import { formatPrompt } from "../../src/citations/prompt.ts"
import { hit } from "../hits.ts"

const hits = [
  hit({ text: "Knead the dough. Bake it in a hot oven until the crust is brown." }),
  hit({ text: "Twice a day the water rises. The spring tide is highest when sun and moon stand in a line." })
]
const query = "when is the spring tide highest"
const { system, user: prompt } = formatPrompt(query, hits)
const question = { query, hits, system, prompt }

export interface LlmUnderTest {
  readonly llm: Llm["Type"]
  /** How often something upstream was asked to write; undefined: nothing is upstream. */
  readonly asked?: (() => number) | undefined
  /** Makes what is upstream write slowly, or at once again. */
  readonly slow?: ((slowly: boolean) => void) | undefined
  /** Done when what was asked upstream has been let go of. */
  readonly letGo?: Effect.Effect<unknown> | undefined
}

/** What every Llm promises. */
export const llmContract = (name: string, make: Effect.Effect<LlmUnderTest, unknown, Scope.Scope>) => {
  const promise = (what: string, test: (under: LlmUnderTest) => Effect.Effect<void, unknown, Scope.Scope>) =>
    it.scopedLive(`Llm: ${name}: ${what}`, () => Effect.flatMap(make, test))

  promise("says who answers, before and with the answer alike", ({ llm }) =>
    Effect.gen(function* () {
      const identity = yield* llm.identity()
      assert.isNotEmpty(identity.backend)
      assert.strictEqual(identity.backend === "extractive", identity.model === undefined)
      assert.deepStrictEqual(yield* llm.identity(), identity)
      assert.deepStrictEqual((yield* llm.answer(question)).llm, identity)
    })
  )

  promise("starts nothing until the fragments are asked for, and then once", ({ asked, llm }) =>
    Effect.gen(function* () {
      const before = asked?.()
      const { fragments } = yield* llm.answer(question)
      assert.strictEqual(asked?.(), before)
      yield* Stream.runDrain(fragments)
      if (asked !== undefined) assert.strictEqual(asked(), before! + 1)
    })
  )

  promise(
    "gives at least one word, in fragments that are not empty, and knows at the end whether it was cut",
    ({ llm }) =>
      Effect.gen(function* () {
        const { fragments, isCut } = yield* llm.answer(question)
        const all = Chunk.toReadonlyArray(yield* Stream.runCollect(fragments))
        assert.match(all.join(""), /\p{L}/u)
        assert.isTrue(all.every((fragment) => fragment !== ""))
        assert.isFalse(yield* isCut)
      })
  )

  promise("answers several at once, each whole", ({ llm }) =>
    Effect.gen(function* () {
      const answer = Effect.flatMap(llm.answer(question), ({ fragments }) => Stream.mkString(fragments))
      const [first, ...others] = yield* Effect.all([answer, answer, answer], { concurrency: "unbounded" })
      for (const other of others) assert.strictEqual(other, first)
    })
  )

  promise("stops upstream where the reader leaves, and answers the next", ({ letGo, llm, slow }) =>
    Effect.gen(function* () {
      slow?.(true)
      const { fragments } = yield* llm.answer(question)
      assert.lengthOf(yield* Stream.runCollect(Stream.take(fragments, 1)), 1)
      yield* letGo ?? Effect.void
      slow?.(false)
      const again = yield* llm.answer(question)
      assert.isNotEmpty(yield* Stream.mkString(again.fragments))
    })
  )

  promise("names the model that a request names, or says why it cannot", ({ llm }) =>
    Effect.gen(function* () {
      const { fragments, llm: who } = yield* llm.answer({ ...question, model: "small" })
      const outcome = yield* Effect.either(Stream.runDrain(fragments))
      if (outcome._tag === "Left") assert.include(outcome.left.reason, "small")
      else assert.strictEqual(who.model, "small")
    })
  )
}
