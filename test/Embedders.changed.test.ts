import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import { Embedder } from "../src/Embedder.ts"
import * as Embedders from "../src/Embedders.ts"
import { defaultCollection, type EmbedderIdentity } from "../src/model/Collection.ts"
import { Search } from "../src/Search.ts"
import { whole } from "../src/Store.ts"
import { compass, searchConfig, chunkerOf } from "./fakes.ts"
import { Indexer } from "../src/Indexer.ts"
import { layerMemory } from "../src/Store/Sqlite.ts"
import { ranked } from "./ranked.ts"

/** A model that gives all texts one direction: its own, so that no vectors of two models are near. */
const model = (name: string, axis: number, dimensions: number) => ({
  identity: { ...compass, model: name, dimensions } satisfies EmbedderIdentity,
  vector: Float32Array.from({ length: dimensions }, (_, at) => Number(at === axis))
})
type Model = ReturnType<typeof model>

const before = model("before", 0, 4)

/** An index of the model `before`; with `armed`, the next text that it embeds is followed by the switch to `after`. */
const setUp = Effect.fnUntraced(function* (after: Model) {
  const armed = yield* Ref.make(false)
  const store = yield* Layer.build(layerMemory)
  const port = yield* Effect.provide(whole, store)
  const reindexed = Effect.gen(function* () {
    const { identity, vector } = after
    yield* port.beginReindex(defaultCollection, identity)
    const { passages, position } = yield* port.unembedded(defaultCollection, identity, 100)
    const embedded = passages.map(({ id }) => ({ id, vector: Option.some(vector) }))
    yield* port.putReindexed(defaultCollection, embedded, position)
    yield* port.finishReindex(defaultCollection, identity)
  })
  const embedderOf = ({ identity, vector }: Model) => {
    const embedded = <A>(value: A) =>
      Effect.flatMap(Ref.getAndSet(armed, false), (now) =>
        Effect.as(now ? Effect.orDie(reindexed) : Effect.void, value)
      )
    return Embedder.of({
      identity: Effect.succeed(identity),
      embedQuery: () => embedded(Option.some(vector)),
      embedPassages: (texts) => embedded(texts.map(() => Option.some(vector)))
    })
  }
  const embedders = Embedders.layer({
    insists: false,
    open: (identity) => Effect.succeed(embedderOf(identity.model === after.identity.model ? after : before))
  }).pipe(Layer.provide(Layer.succeed(Embedder, embedderOf(before))))
  const chunker = chunkerOf(256, 0)
  const context = yield* Layer.build(
    Layer.merge(Layer.provide(Search.Default, searchConfig()), Indexer.Default).pipe(
      Layer.provide(Layer.mergeAll(embedders, chunker, Layer.succeedContext(store)))
    )
  )
  const { index } = yield* Effect.provide(Indexer, context)
  const { run } = yield* Effect.provide(Search, context)
  yield* index(["one", "two"].map((content) => ({ content, metadata: { source: content } })))
  return { armed, port, index, run }
})

for (const [width, after] of [
  ["the same width", model("after", 1, 4)],
  ["another width", model("after", 1, 8)]
] as const) {
  it.scoped(`embeds a query again whose collection switches to a model of ${width} meanwhile`, () =>
    Effect.gen(function* () {
      const { armed, port, run } = yield* setUp(after)
      for (const alpha of [1, 0.4, 0]) {
        yield* Ref.set(armed, alpha === 1)
        const { degraded, hits } = yield* run({ query: "one", alpha })
        assert.isUndefined(degraded)
        assert.isAbove(hits.length, 0)
        for (const { similarity } of alpha === 0 ? [] : hits) assert.closeTo(similarity!, 1, 1e-6)
      }
      assert.strictEqual((yield* port.collection(defaultCollection)).embedder.model, "after")
    })
  )

  it.scoped(`embeds documents again whose collection switches to a model of ${width} meanwhile`, () =>
    Effect.gen(function* () {
      const { armed, index, run } = yield* setUp(after)
      yield* Ref.set(armed, true)
      // More than one slice.
      const more = Array.from({ length: 40 }, (_, at) => ({ content: `more ${at}`, metadata: { source: `more${at}` } }))
      const outcomes = yield* index(more)
      assert.isTrue(outcomes.every(({ status }) => status === "created"))
      const { hits } = yield* run({ query: "more", hybrid: false, topK: 50 })
      assert.strictEqual(hits.length, 42)
      for (const { similarity } of hits) assert.closeTo(similarity!, 1, 1e-6)
    })
  )
}

it.scoped("ranks no vector with those of another model, also if nobody embeds again", () =>
  Effect.gen(function* () {
    const { port } = yield* setUp(model("after", 1, 4))
    const { identity: embedder, vector } = before
    assert.strictEqual((yield* ranked(port, { vector, embedder })).length, 2)
    const stale = { ...before.identity, model: "older" }
    assert.strictEqual((yield* Effect.flip(ranked(port, { vector, embedder: stale })))._tag, "EmbedderChanged")
  })
)
