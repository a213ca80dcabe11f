import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import { Embedder, EmbedderUnavailable } from "../src/Embedder.ts"
import * as Embedders from "../src/Embedders.ts"
import { CollectionName, defaultCollection, type EmbedderIdentity } from "../src/model/Collection.ts"
import type { SearchRequest } from "../src/model/Query.ts"
import { Search } from "../src/Search.ts"
import { Store } from "../src/Store.ts"
import { document } from "./contracts/Store.ts"
import { compass, makeEmbedder, searchConfig } from "./fakes.ts"
import { layerMemory } from "../src/Store/Sqlite.ts"

const notes = CollectionName.make("notes")
const papers = CollectionName.make("papers")
const gyroscope: EmbedderIdentity = { ...compass, model: "gyroscope" }

/** A store with two embedders, of which each collection is opened with its own. */
const setUp = Effect.gen(function* () {
  const one = yield* makeEmbedder()
  const two = yield* makeEmbedder(gyroscope)
  const context = yield* Layer.build(
    Search.Default.pipe(
      Layer.provide(
        Layer.merge(
          Embedders.layer({
            insists: false,
            open: ({ model }) =>
              model === "compass"
                ? Effect.succeed(one.embedder)
                : model === "gyroscope"
                  ? Effect.succeed(two.embedder)
                  : Effect.fail(new EmbedderUnavailable({ reason: `${model} is not there` }))
          }).pipe(Layer.provide(Layer.succeed(Embedder, one.embedder))),
          searchConfig()
        )
      ),
      Layer.provideMerge(layerMemory)
    )
  )
  const store = yield* Effect.provide(Store, context)
  const search = yield* Effect.provide(Search, context)
  return {
    store,
    one,
    two,
    fill: (name: CollectionName, embedder: EmbedderIdentity, texts: Readonly<Record<string, string>>) =>
      Effect.gen(function* () {
        yield* store.createCollection(name, embedder)
        for (const [source, text] of Object.entries(texts)) {
          const [vector] = yield* one.embedder.embedPassages([text])
          yield* store.put(name, [document(text, { source, vectors: [Option.getOrUndefined(vector!)] })])
        }
      }),
    find: (query: string, more: Partial<SearchRequest> = {}) =>
      Effect.map(search.run({ query, ...more }), ({ hits, ...rest }) => ({
        ...rest,
        scores: hits.map(({ score }) => score),
        found: hits.map(({ collection, document: { source } }) => `${collection}/${source}`)
      }))
  }
})

it.scoped("searches all collections where none is named, only the named one where one is", () =>
  Effect.gen(function* () {
    const { fill, find } = yield* setUp
    yield* fill(notes, compass, { n: "north north", e: "east" })
    assert.deepStrictEqual((yield* find("north", { topK: 1 })).found, ["notes/n"])
    assert.deepStrictEqual((yield* find("north", { collection: defaultCollection })).found, [])
    yield* fill(defaultCollection, compass, { n: "north", s: "south south" })
    yield* fill(papers, compass, { w: "west", e: "north east" })
    for (const mode of [{ hybrid: false }, { alpha: 0 }, { fusion: "rrf" }, { fusion: "score" }] as const) {
      const { found, scores } = yield* find("north", { topK: 3, ...mode })
      assert.sameMembers(found, ["default/n", "notes/n", "papers/e"], JSON.stringify(mode))
      assert.strictEqual(found[2], "papers/e")
      assert.deepStrictEqual(
        scores,
        scores.toSorted((a, b) => b - a)
      )
    }
    assert.sameMembers((yield* find("north", { collection: papers })).found, ["papers/e", "papers/w"])
  })
)

it.scoped("ranks collections of one embedder as though they were one", () =>
  Effect.gen(function* () {
    const texts: Record<string, string> = {}
    for (let n = 0; n < 30; n++) {
      texts[`d${String(n).padStart(2, "0")}`] =
        `${"north ".repeat((n % 5) + 1)}${"east ".repeat((n * 7) % 4)}${"wind ".repeat((n * 3) % 7)}word${n % 11}`
    }
    const whole = yield* setUp
    yield* whole.fill(defaultCollection, compass, texts)
    const parted = yield* setUp
    const entries = Object.entries(texts)
    yield* parted.fill(notes, compass, Object.fromEntries(entries.filter((_, index) => index % 3 === 0)))
    yield* parted.fill(defaultCollection, compass, Object.fromEntries(entries.filter((_, index) => index % 3 !== 0)))
    for (const mode of [{ hybrid: false }, { alpha: 0 }, { fusion: "rrf" }, { fusion: "score" }] as const) {
      for (const query of ["north wind", "east word3", "word7 north east"]) {
        const expected = yield* whole.find(query, { topK: 30, ...mode })
        const { found, scores } = yield* parted.find(query, { topK: 30, ...mode })
        assert.deepStrictEqual(
          found.map((each) => each.replace(/^notes/, "default")),
          expected.found
        )
        assert.deepStrictEqual(scores, expected.scores)
        assert.deepStrictEqual((yield* parted.find(query, { topK: 7, ...mode })).found, found.slice(0, 7))
      }
    }
  })
)

it.scoped("fuses collections of different embedders by rank, each asked by its own", () =>
  Effect.gen(function* () {
    const { fill, find, two } = yield* setUp
    yield* fill(defaultCollection, compass, { a: "north north east", b: "north east east", c: "east" })
    yield* fill(papers, gyroscope, { a: "north", b: "north east", c: "south" })
    const first = yield* find("north", { hybrid: false, topK: 6 })
    assert.deepStrictEqual(first.found, ["default/a", "papers/a", "default/b", "papers/b", "default/c", "papers/c"])
    assert.deepStrictEqual(yield* find("north", { hybrid: false, topK: 6 }), first)
    yield* Ref.set(two.down, "asleep")
    const { degraded, found, mode } = yield* find("north", { hybrid: false, topK: 6 })
    assert.strictEqual(mode, "vector")
    assert.deepStrictEqual(found, ["default/a", "default/b", "default/c"])
    assert.strictEqual(degraded, "collection papers not searched: embedder unavailable: asleep")
    const hybrid = yield* find("north", { topK: 6 })
    assert.strictEqual(hybrid.degraded, "collection papers searched by keywords only: embedder unavailable: asleep")
    assert.includeMembers([...hybrid.found], ["papers/a", "papers/b"])
  })
)

it.scoped("gives k passages where k match the filter, wherever they are", () =>
  Effect.gen(function* () {
    const { fill, find, store } = yield* setUp
    yield* fill(
      defaultCollection,
      compass,
      Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`x${n}`, "north"]))
    )
    yield* fill(notes, compass, { "y/1": "south", "y/2": "south north" })
    yield* fill(papers, gyroscope, { "y/3": "west" })
    for (const mode of [{ hybrid: false }, {}, { fusion: "score" as const }]) {
      const { found } = yield* find("north", { filter: { source: "y/*" }, topK: 3, ...mode })
      assert.sameMembers(found, ["notes/y/1", "notes/y/2", "papers/y/3"])
    }
    yield* store.dropCollection(notes)
    assert.deepStrictEqual((yield* find("north", { filter: { source: "y/*" } })).found, ["papers/y/3"])
  })
)

it.scoped("orders equal passages by doc_id, then collection", () =>
  Effect.gen(function* () {
    const { fill, find } = yield* setUp
    for (const name of [papers, notes, defaultCollection]) yield* fill(name, compass, { b: "north", a: "north " })
    for (const mode of [{ hybrid: false }, { alpha: 0 }, {}]) {
      assert.deepStrictEqual((yield* find("north", { topK: 6, ...mode })).found, [
        "default/a",
        "notes/a",
        "papers/a",
        "default/b",
        "notes/b",
        "papers/b"
      ])
    }
  })
)
