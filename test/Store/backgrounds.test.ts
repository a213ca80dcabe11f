import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Embedder } from "../../src/Embedder.ts"
import { CollectionName, type EmbedderIdentity, defaultCollection } from "../../src/model/Collection.ts"
import { Search } from "../../src/Search.ts"
import { whole } from "../../src/Store.ts"
import { cosine, randomVectors } from "../codes/random.ts"
import { document } from "../contracts/Store.ts"
import { searchLayer } from "../fakes.ts"

const width = 64
const identity: EmbedderIdentity = {
  backend: "ollama",
  model: "multilingual-cone",
  dimensions: width,
  queryPrefix: "",
  passagePrefix: ""
}

/** Vectors around one direction, as many transformers make them: no two have a cosine below .8. */
const cone = (count: number, seed: number): ReadonlyArray<Float32Array> =>
  randomVectors(count, width, seed).map((vector) => {
    const length = Math.hypot(...vector)
    const near = vector.map((value, d) => (d === 0 ? 2.5 : 0) + value / length)
    const all = Math.hypot(...near)
    return near.map((value) => value / all)
  })

const filler = (n: number) => `harbour ${n} of ships and masts`

/** A collection of documents with these vectors. */
const fill = Effect.fnUntraced(function* (
  vectors: ReadonlyArray<Float32Array>,
  name = defaultCollection,
  embedder = identity,
  text = filler
) {
  const store = yield* whole
  yield* store.createCollection(name, embedder)
  yield* store.put(
    name,
    vectors.map((vector, n) => document(text(n), { source: `${name}/${n}`, vectors: [vector] }))
  )
})

/** Search with a model that gives every question this vector. */
const searching = (vector: Float32Array, embedder = identity) =>
  searchLayer(
    Embedder.of({
      identity: Effect.succeed(embedder),
      embedQuery: () => Effect.succeed(Option.some(vector)),
      embedPassages: () => Effect.succeed([])
    })
  )

const found = (query: string, more: object = {}) =>
  Effect.flatMap(Search, ({ run }) => run({ query, topK: 100, hybrid: false, ...more }))

const mean = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0) / values.length

it.effect("is taken off similarities: 1 is equality, and 0 what unrelated texts have", () => {
  const vectors = cone(80, 1)
  return Effect.gen(function* () {
    yield* fill(vectors)
    assert.isAbove(Math.min(...vectors.slice(1).map((other) => cosine(vectors[0]!, other))), 0.6)
    const { hits } = yield* found("anything")
    const [first, ...others] = hits.map(({ similarity }) => similarity!)
    assert.strictEqual(hits[0]!.document.source, "default/0")
    assert.closeTo(first!, 1, 1e-5)
    assert.closeTo(mean(others), 0, 0.1)
  }).pipe(Effect.provide(searching(vectors[0]!)))
})

it.effect("is that of all searched collections with one embedder, so that a small one is not first for it", () => {
  const vectors = cone(90, 2)
  const small = CollectionName.make("small")
  return Effect.gen(function* () {
    yield* fill(vectors.slice(0, 80))
    yield* fill(vectors.slice(80), small)
    const together = yield* found("anything")
    const alone = yield* found("anything", { collection: small })
    assert.closeTo(mean(together.hits.map(({ similarity }) => similarity!)), 0, 0.1)
    assert.isTrue(together.hits.slice(0, 5).some(({ collection }) => collection === defaultCollection))
    // So few vectors have no mean worth the name.
    assert.isAbove(Math.min(...alone.hits.map(({ similarity }) => similarity!)), 0.6)
    assert.isUndefined(alone.weak)
  }).pipe(Effect.provide(searching(vectors[0]!)))
})

it.effect("moves as the collection grows", () => {
  const north = cone(80, 3)
  const other = cone(80, 4).map((vector) => vector.map((_, d) => vector[(d + 1) % width]!))
  return Effect.gen(function* () {
    yield* fill(north)
    const before = yield* found("anything")
    yield* (yield* whole).put(
      defaultCollection,
      other.map((vector, n) => document(`later ${n}`, { source: `later/${n}`, vectors: [vector] }))
    )
    const after = yield* found("anything")
    const similarity = ({ hits }: typeof after) =>
      hits.find(({ document }) => document.source === "default/1")!.similarity!
    // Beside vectors of quite another direction, those of the first are like each other.
    assert.isAbove(similarity(after), similarity(before) + 0.2)
  }).pipe(Effect.provide(searching(north[0]!)))
})

it.effect("is not taken off static vectors", () => {
  const vectors = cone(80, 5)
  const embedder = { ...identity, backend: "builtin" }
  return Effect.gen(function* () {
    yield* fill(vectors, defaultCollection, embedder)
    const { hits } = yield* found("anything")
    for (const { document, similarity } of hits) {
      const at = Number(document.source!.split("/")[1])
      assert.closeTo(similarity!, cosine(vectors[0]!, vectors[at]!), 1e-5)
    }
  }).pipe(Effect.provide(searching(vectors[0]!, embedder)))
})

it.effect("lets the program say that nothing it found answers, with any model", () => {
  const vectors = cone(80, 6)
  const stranger = cone(1, 7)[0]!
  return Effect.gen(function* () {
    yield* fill(vectors)
    assert.isTrue((yield* found("quarterly revenue", { hybrid: true, topK: 3 })).weak)
    assert.isUndefined((yield* found("ships and masts", { hybrid: true, topK: 3 })).weak)
  }).pipe(Effect.provide(searching(stranger)))
})

it.effect("makes meaning decide where few of a question's words occur, for a model of many languages", () => {
  const vectors = cone(80, 8)
  const english = { ...identity, model: "cone-en" }
  // The words that passage 9 happens to share with a question in another language.
  const text = (n: number) => (n === 9 ? "le port" : filler(n))
  const first = (embedder: EmbedderIdentity, query: string) =>
    Effect.gen(function* () {
      yield* fill(vectors, defaultCollection, embedder, text)
      const { hits } = yield* found(query, { hybrid: true, alpha: 0.2, topK: 3 })
      return hits[0]!.document.source
    }).pipe(Effect.provide(Layer.fresh(searching(vectors[0]!, embedder))))
  return Effect.gen(function* () {
    const foreign = "où se trouvent les navires amarrés dans le port"
    assert.strictEqual(yield* first(identity, foreign), "default/0")
    assert.strictEqual(yield* first(english, foreign), "default/9")
    assert.strictEqual(yield* first(identity, "le port"), "default/9")
  })
})
