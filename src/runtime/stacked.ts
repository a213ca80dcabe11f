import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

type Any = Layer.Layer<never, unknown, unknown>

/** What layers need that none below them gives. */
type Needs<Layers, Given = never> = Layers extends readonly [infer First extends Any, ...infer Rest]
  ? Exclude<Layer.Layer.Context<First>, Given> | Needs<Rest, Given | Layer.Layer.Success<First>>
  : never

/**
 * Layers made one after the other, each with what those before it give, as by `Layer.provideMerge`. That takes five
 * further layers for each, of a hundred steps each, and `Layer.mergeAll` a fiber: a third of the steps of a start.
 */
export const stacked = <const Layers extends ReadonlyArray<Any>>(...layers: Layers) => {
  type Given = { [At in keyof Layers]: Layer.Layer.Success<Layers[At]> }[number]
  type Made = Effect.Effect<Context.Context<Given>, Layer.Layer.Error<Layers[number]>, Needs<Layers>>
  const made: Made = Effect.gen(function* () {
    const scope = yield* Effect.scope
    const memo = yield* Layer.CurrentMemoMap
    let given = Context.empty() as Context.Context<unknown>
    for (const layer of layers) {
      const one = Effect.mapInputContext(Layer.buildWithMemoMap(layer, memo, scope), (around) =>
        Context.merge(around, given)
      )
      given = Context.merge(given, yield* one)
    }
    return given
  }) as never
  return Layer.scopedContext(made)
}
