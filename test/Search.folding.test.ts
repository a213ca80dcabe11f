import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SearchConfig } from "../src/Config.ts"
import { defaultCollection } from "../src/model/Collection.ts"
import { Reranker } from "../src/Reranker.ts"
import { Search } from "../src/Search.ts"
import { Store } from "../src/Store.ts"
import { why } from "../src/Why.ts"
import { document } from "./contracts/Store.ts"
import { compass, embeddersLayer, makeEmbedder, searchConfig } from "./fakes.ts"
import { layerMemory } from "../src/Store/Sqlite.ts"

/** Eighty copies of a text, and ten texts of their own that rank below them. */
const setUp = Effect.gen(function* () {
  const { embedder } = yield* makeEmbedder()
  const store = yield* Store
  yield* store.createCollection(defaultCollection, compass)
  const put = (source: string, text: string) =>
    Effect.flatMap(embedder.embedPassages([text]), ([vector]) =>
      store.put(defaultCollection, [document(text, { source, vectors: [Option.getOrUndefined(vector!)] })])
    )
  for (let n = 0; n < 80; n++) yield* put(`copy-${n}.md`, n % 2 === 0 ? "North wind!" : "north   wind")
  for (let n = 0; n < 10; n++) yield* put(`own-${n}.md`, `north wind ${"south ".repeat(n + 1)}`)
  return (over: Partial<typeof SearchConfig.Service>) =>
    Effect.provide(
      Search,
      Search.Default.pipe(Layer.provide(Layer.merge(embeddersLayer(embedder), searchConfig(over))))
    )
})

it.effect("asks for more where copies leave places, and gives them back where nothing else matches", () =>
  Effect.gen(function* () {
    const searching = yield* setUp
    const search = yield* searching({})
    const plain = yield* searching({ fold: false })
    for (const request of [{}, { fusion: "rrf" as const }, { alpha: 0 }, { hybrid: false }]) {
      const query = "north wind"
      const unfolded = yield* plain.run({ ...request, query })
      assert.isTrue(unfolded.hits.every(({ document }) => document.source.startsWith("copy")))
      const { hits } = yield* search.run({ ...request, query })
      assert.strictEqual(hits.length, 5)
      assert.deepStrictEqual(
        hits.map(({ document }) => document.source.startsWith("copy")),
        [true, false, false, false, false]
      )
      assert.strictEqual(hits[0]!.similar?.length, 79)
      assert.isTrue(hits.every(({ relevance }) => relevance !== undefined))

      const all = (yield* search.run({ ...request, query, topK: 100 })).hits
      assert.strictEqual(all.length, 90)
      assert.strictEqual(new Set(all.map(({ document }) => document.source)).size, 90)
      assert.isTrue(all.every(({ similar }) => similar === undefined))
      assert.deepStrictEqual(
        all.slice(0, 5).map(({ document }) => document.source),
        hits.map(({ document }) => document.source)
      )
      const next = yield* search.run({ ...request, query, offset: 2, topK: 3 })
      assert.deepStrictEqual(
        next.hits.map(({ document }) => document.source),
        hits.slice(2).map(({ document }) => document.source)
      )
    }
  }).pipe(Effect.provide(layerMemory))
)

it.effect("puts nothing that repeats a better hit before what says something else, with a reranker too", () =>
  Effect.gen(function* () {
    const searching = yield* setUp
    // The shortest text is best, which all copies are.
    const search = yield* Effect.provideService(searching({}), Reranker, {
      name: "short",
      top: 30,
      rerank: (_, texts) => Effect.succeed(texts.map(({ length }) => -length))
    })
    for (const request of [{ alpha: 0 }, {}, { hybrid: false }]) {
      const sources = (topK: number) =>
        Effect.map(search.run({ ...request, query: "north wind", topK }), ({ hits }) =>
          hits.map(({ document }) => document.source)
        )
      const few = yield* sources(3)
      assert.match(few[0]!, /^copy/)
      assert.deepStrictEqual(few.slice(1), ["own-0.md", "own-1.md"])
      const many = yield* sources(15)
      assert.deepStrictEqual(
        many.map((source) => source.startsWith("copy")),
        Array.from({ length: 15 }, (_, at) => at === 0 || at > 10)
      )
    }
  }).pipe(Effect.provide(layerMemory))
)

it.effect("says where words and meaning alone rank a document, whatever a reranker makes of it", () =>
  Effect.gen(function* () {
    const searching = yield* setUp
    // The worst of the best is best.
    const reranked = yield* Effect.provideService(searching({}), Reranker, {
      name: "reverse",
      top: 30,
      rerank: (_, texts) => Effect.succeed(texts.map((_, at) => at))
    })
    const store = yield* Store
    const [own] = yield* store.list(defaultCollection, { limit: 1, filter: { source: "own-0.md" } })
    const wanted = { collection: defaultCollection, docId: own!.docId }
    const standing = (search: Search) => Effect.provideService(why({ query: "north wind" }, wanted), Search, search)
    const plain = yield* standing(yield* searching({}))
    const after = yield* standing(reranked)
    assert.deepStrictEqual([after.vector.leg, after.keyword.leg], [plain.vector.leg, plain.keyword.leg])
    assert.notDeepEqual(after.hybrid.leg, plain.hybrid.leg)
  }).pipe(Effect.provide(layerMemory))
)

it.effect("explains a hit that neighbours are joined to by its own words", () =>
  Effect.gen(function* () {
    const searching = yield* setUp
    const store = yield* Store
    const content = "wharf wharf crane tides wharf"
    const passage = (start: number, end: number) => ({
      text: content.slice(start, end),
      heading: [],
      start,
      end,
      startLine: 1,
      endLine: 1,
      vector: Option.none()
    })
    const quay = { ...document(content, { source: "quay.md" }), passages: [passage(0, 17), passage(12, 29)] }
    const others = ["one", "two", "three", "four"].map((name) => document(`The wharf ${name}.`, { source: name }))
    yield* store.put(defaultCollection, [quay, ...others])
    const search = yield* searching({})
    const { hits } = yield* search.run({ query: "wharf", alpha: 0, explain: true })
    const hit = hits.find(({ document }) => document.source === "quay.md")
    assert.strictEqual(hit?.spans?.length, 2)
    assert.strictEqual(hit?.explain?.keyword?.terms[0]?.text, 2)
  }).pipe(Effect.provide(layerMemory))
)
