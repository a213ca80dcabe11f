import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { Embedder } from "../../src/Embedder.ts"
import * as Embedders from "../../src/Embedders.ts"
import { defaultCollection, type EmbedderIdentity } from "../../src/model/Collection.ts"
import { Reindexer } from "../../src/upkeep/Reindexer.ts"
import { nextTurn } from "../../src/runtime/EventLoop.ts"
import { ReindexStore, whole } from "../../src/Store.ts"
import { compass, embeddersLayer, makeEmbedder, chunkerOf } from "../fakes.ts"
import { Indexer } from "../../src/Indexer.ts"
import { layerMemory } from "../../src/Store/Sqlite.ts"
import { ranked } from "../ranked.ts"

const documents = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ content: `north ${index}`, metadata: { source: `s${index}` } }))

/** A store with so many documents, and reindexers on it, each configured with a model of its own. */
const setUp = Effect.fnUntraced(function* (count: number, storing: Effect.Effect<void> = Effect.void) {
  const { embedder } = yield* makeEmbedder()
  const quick = yield* Layer.build(layerMemory)
  const reindexing = Context.get(quick, ReindexStore)
  const store = Context.add(quick, ReindexStore, {
    ...reindexing,
    putReindexed: (...args) => Effect.zipRight(storing, reindexing.putReindexed(...args))
  })
  const chunker = chunkerOf(256, 0)
  const indexer = yield* Layer.build(
    Indexer.Default.pipe(Layer.provide(Layer.mergeAll(embeddersLayer(embedder), chunker, Layer.succeedContext(store))))
  )
  yield* Effect.provide(
    Effect.flatMap(Indexer, (indexer) => indexer.index(documents(count))),
    indexer
  )

  /** Gives every text the same direction, another one for each model; `during` runs once, while the first are embedded. */
  const service = (
    model: string,
    axis: number,
    during: Effect.Effect<unknown, unknown> = Effect.void,
    insists = true,
    calls = Ref.unsafeMake(0)
  ) =>
    Effect.gen(function* () {
      const next = Embedder.of({
        identity: Effect.succeed({ ...compass, model }),
        embedQuery: () => Effect.succeedNone,
        embedPassages: (texts) =>
          Effect.gen(function* () {
            if ((yield* Ref.getAndUpdate(calls, (n) => n + 1)) === 0) yield* Effect.orDie(during)
            return texts.map(() => Option.some(Float32Array.from({ length: 4 }, (_, at) => Number(at === axis))))
          })
      })
      const named = (identity: EmbedderIdentity) => Embedder.of({ ...next, identity: Effect.succeed(identity) })
      const embedders = Embedders.layer({
        insists,
        open: (identity) => Effect.succeed(named(identity)),
        meanwhile: embedder
      }).pipe(Layer.provide(Layer.succeed(Embedder, next)))
      const context = yield* Layer.build(
        Reindexer.Default.pipe(Layer.provide(Layer.merge(Layer.succeedContext(store), embedders)))
      )
      return yield* Effect.provide(Reindexer, context)
    })
  const reindexer = (...args: Parameters<typeof service>) =>
    Effect.map(service(...args), ({ run }) =>
      Effect.map(Stream.runCollect(run(defaultCollection)), (all) => [...all].at(-1)!)
    )

  const opened = yield* Effect.provide(whole, store)
  /** How many passages have a vector along the axis, and how many have one at all. */
  const along = (axis: number) =>
    Effect.map(
      ranked(opened, { vector: Float32Array.from({ length: 4 }, (_, at) => Number(at === axis)), limit: 2 * count }),
      (hits) => [hits.filter(({ score }) => score > 0.99).length, hits.length]
    )
  return { store: opened, reindexer, service, along }
})

it.scoped("of two changes to different models, the later one takes over and their vectors never mix", () =>
  Effect.gen(function* () {
    const { along, reindexer, store } = yield* setUp(600)
    const later = yield* reindexer("later", 2)
    const earlier = yield* reindexer("earlier", 1, later)
    const error = yield* Effect.flip(earlier)
    assert.strictEqual(error._tag, "ReindexTakenOver")
    assert.match(error.message, /to test later.*took over.*to test earlier/)
    assert.strictEqual((yield* store.collection(defaultCollection)).embedder.model, "later")
    assert.deepStrictEqual(yield* along(2), [600, 600])
  })
)

it.scoped("a change that another one took over puts nothing in among its vectors", () =>
  Effect.gen(function* () {
    const { along, reindexer, store } = yield* setUp(600)
    // Begins, and is broken off after its first step.
    const begun = yield* reindexer("later", 2)
    const later = Effect.zipRight(store.beginReindex(defaultCollection, { ...compass, model: "later" }), Effect.void)
    const earlier = yield* reindexer("earlier", 1, later)
    assert.strictEqual((yield* Effect.flip(earlier))._tag, "ReindexTakenOver")
    const { changed, done } = yield* begun
    assert.isTrue(changed)
    assert.strictEqual(done, 600)
    assert.deepStrictEqual(yield* along(2), [600, 600])
  })
)

it.scoped("of two changes to the same model, the one that is behind says so and stops", () =>
  Effect.gen(function* () {
    const { along, reindexer, store } = yield* setUp(600)
    const first = yield* reindexer("next", 1)
    const second = yield* reindexer("next", 1, first)
    assert.strictEqual((yield* Effect.flip(second))._tag, "ReindexTakenOver")
    assert.strictEqual((yield* store.collection(defaultCollection)).embedder.model, "next")
    assert.deepStrictEqual(yield* along(1), [600, 600])
  })
)

it.scoped("a store that answers slowly gets no smaller steps, which would not be quicker", () =>
  Effect.gen(function* () {
    const { service, along } = yield* setUp(600, TestClock.adjust("5 seconds"))
    const calls = yield* Ref.make(0)
    const { run } = yield* service("next", 1, Effect.void, true, calls)
    yield* Stream.runDrain(run(defaultCollection))
    assert.deepStrictEqual(yield* along(1), [600, 600])
    // 32, 64, 128, 256 and the rest; then nothing is left.
    assert.strictEqual(yield* Ref.get(calls), 6)
  })
)

it.scoped("in the background a change waits while another process makes it, and goes on when that has stopped", () =>
  Effect.gen(function* () {
    const { service, store } = yield* setUp(600)
    const other = yield* service("next", 1)
    const step = Stream.runDrain(Stream.take(other.run(defaultCollection), 2))
    yield* store.beginReindex(defaultCollection, { ...compass, model: "next" })
    const calls = yield* Ref.make(0)
    const { inBackground } = yield* service("next", 1, step, true, calls)
    const passing = (seconds: number) =>
      Effect.repeatN(Effect.zipRight(TestClock.adjust("1 second"), nextTurn), seconds - 1)
    yield* inBackground
    yield* passing(8)
    yield* step
    yield* passing(9)
    assert.strictEqual(yield* Ref.get(calls), 1)
    yield* passing(5)
    assert.strictEqual((yield* store.collection(defaultCollection)).embedder.model, "next")
  })
)

it.scoped("where the configuration insists on no embedder, a collection keeps its own", () =>
  Effect.gen(function* () {
    const { reindexer, store } = yield* setUp(3)
    const { changed, from, insists, to } = yield* yield* reindexer("whatever answers now", 1, Effect.void, false)
    assert.isFalse(changed)
    assert.isFalse(insists)
    assert.deepStrictEqual(to, from)
    assert.deepStrictEqual((yield* store.collection(defaultCollection)).embedder, compass)
  })
)

it.scoped("where the configuration insists on no embedder, a change that was broken off still goes on", () =>
  Effect.gen(function* () {
    const { along, reindexer, store } = yield* setUp(3)
    yield* store.beginReindex(defaultCollection, { ...compass, model: "begun" })
    const { changed, to } = yield* yield* reindexer("whatever answers now", 1, Effect.void, false)
    assert.isTrue(changed)
    assert.strictEqual(to.model, "begun")
    assert.strictEqual((yield* store.collection(defaultCollection)).embedder.model, "begun")
    assert.deepStrictEqual(yield* along(1), [3, 3])
  })
)

it.scoped("a change that was broken off is given up once the server has the first model again", () =>
  Effect.gen(function* () {
    const { reindexer, store } = yield* setUp(3)
    yield* store.beginReindex(defaultCollection, { ...compass, model: "begun" })
    const { changed } = yield* yield* reindexer(compass.model, 1)
    assert.isFalse(changed)
    assert.isTrue(Option.isNone(yield* store.reindexing(defaultCollection)))
    assert.deepStrictEqual((yield* store.collection(defaultCollection)).embedder, compass)
  })
)
