import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { stacked } from "../../src/runtime/stacked.ts"

class Low extends Context.Tag("Low")<Low, string>() {}
class High extends Context.Tag("High")<High, string>() {}

it.effect("stacked layers are made once from the lowest up, and end from the highest down", () =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    const kept = <Name, A>(tag: Context.Tag<Name, A>, value: A) =>
      Effect.acquireRelease(
        Effect.sync(() => (seen.push(`+${tag.key}`), value)),
        () => Effect.sync(() => seen.push(`-${tag.key}`))
      )
    const low = Layer.scoped(Low, kept(Low, "low"))
    const high = Layer.scoped(
      High,
      Effect.flatMap(Low, (below) => kept(High, `high on ${below}`))
    )
    const raised = Layer.effect(
      Low,
      Effect.map(High, (high) => `low below ${high}`)
    )
    const of = (layer: Layer.Layer<Low | High>) => Effect.provide(Effect.all([Low, High]), layer)
    assert.deepStrictEqual(yield* of(stacked(low, high)), ["low", "high on low"])
    assert.deepStrictEqual(seen.splice(0), ["+Low", "+High", "-High", "-Low"])
    // A later one takes the place of an earlier one, and who comes twice is made once.
    assert.deepStrictEqual(yield* of(stacked(low, stacked(low, high), raised)), [
      "low below high on low",
      "high on low"
    ])
    assert.deepStrictEqual(seen, ["+Low", "+High", "-High", "-Low"])
  })
)
