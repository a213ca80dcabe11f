import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as TestClock from "effect/TestClock"
import { Embedder, EmbedderUnavailable } from "../src/Embedder.ts"
import { limits } from "../src/model/Limits.ts"
import { defaultCollection } from "../src/model/Collection.ts"
import { Search } from "../src/Search.ts"
import { whole } from "../src/Store.ts"
import { document } from "./contracts/Store.ts"
import { compass, makeEmbedder, searchLayer } from "./fakes.ts"

const texts = {
  north: "north wind over the harbour",
  copy: "North wind, over the harbour!",
  ne: "north and east wind",
  east: "east of the mill",
  south: "south of the river",
  wind: "wind alone"
}

const setUp = Effect.gen(function* () {
  const { embedded, embedder: present } = yield* makeEmbedder()
  const isGone = yield* Ref.make(false)
  const identity = Effect.if(Ref.get(isGone), {
    onTrue: () => Effect.fail(new EmbedderUnavailable({ reason: "gone" })),
    onFalse: () => present.identity
  })
  const embedder = Embedder.of({ ...present, identity })
  const context = yield* Layer.build(searchLayer(embedder))
  const store = yield* Effect.provide(whole, context)
  yield* store.createCollection(defaultCollection, compass)
  for (const [source, text] of Object.entries(texts)) {
    const [vector] = yield* embedder.embedPassages([text])
    yield* store.put(defaultCollection, [document(text, { source, vectors: [Option.getOrUndefined(vector!)] })])
    yield* TestClock.adjust("1 hour")
  }
  yield* Ref.set(embedded, 0)
  return { embedded, isGone, search: yield* Effect.provide(Search, context) }
})

const sourcesOf = ({ hits }: { readonly hits: ReadonlyArray<{ readonly document: { readonly source: string } }> }) =>
  hits.map(({ document }) => document.source)

it.scoped("fuses what several queries find, each passage once, and says which found it", () =>
  Effect.gen(function* () {
    const { search } = yield* setUp
    const found = yield* search.run({ query: "east mill", queries: ["river south", "mill"], topK: 3, explain: true })
    const [first, ...others] = found.hits
    assert.strictEqual(first!.document.source, "east")
    assert.include(first!.foundBy!, 0)
    assert.include(first!.foundBy!, 2)
    assert.include(sourcesOf(found), "south")
    assert.strictEqual(new Set(sourcesOf(found)).size, found.hits.length)
    const parts = first!.explain!.queries!
    assert.closeTo(
      parts.reduce((sum, { contribution }) => sum + contribution, 0),
      first!.score,
      1e-9
    )
    assert.isTrue(others.every(({ score }, at) => score <= found.hits[at]!.score))
    assert.strictEqual(found.explain!.passages, Object.keys(texts).length)
    // A short list is the head of a long one, and a page goes on where the one before ended.
    const long = yield* search.run({ query: "east mill", queries: ["river south", "mill"], topK: 50 })
    assert.deepStrictEqual(sourcesOf(found), sourcesOf(long).slice(0, 3))
    const next = yield* search.run({ query: "east mill", queries: ["river south", "mill"], topK: 2, offset: 1 })
    assert.deepStrictEqual(sourcesOf(next), sourcesOf(long).slice(1, 3))
  })
)

it.scoped("pages neither repeat nor miss a passage, however far they go", () =>
  Effect.gen(function* () {
    const { embedder } = yield* makeEmbedder()
    const context = yield* Layer.build(searchLayer(embedder))
    const store = yield* Effect.provide(whole, context)
    yield* store.createCollection(defaultCollection, compass)
    const words = ["mill", "river", "harbour", "wind"]
    const documents = Array.from({ length: 180 }, (_, n) => {
      const text = words.map((word, at) => `${word} `.repeat((n * (7 + at * 4)) % 13)).join("")
      return document(`${text}w${n} x${n} y${n} z${n}`, { source: `s${n}`, vectors: [undefined] })
    })
    yield* store.put(defaultCollection, documents)
    const search = yield* Effect.provide(Search, context)
    const asked = { query: "mill", queries: ["river", "harbour wind"], alpha: 0 }
    const pages = yield* Effect.forEach([0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100], (offset) =>
      Effect.map(search.run({ ...asked, topK: 10, offset }), sourcesOf)
    )
    const paged = pages.flat()
    assert.lengthOf(new Set(paged), 110)
    assert.deepStrictEqual(sourcesOf(yield* search.run({ ...asked, topK: 100 })), paged.slice(0, 100))
  })
)

it.scoped("takes a passage that one query folds into another's for the same", () =>
  Effect.gen(function* () {
    const { search } = yield* setUp
    const { hits } = yield* search.run({ query: "north wind harbour", queries: ["harbour"] })
    const both = hits.filter(({ document }) => ["north", "copy"].includes(document.source))
    assert.lengthOf(both, 1)
    assert.deepStrictEqual(both[0]!.foundBy, [0, 1])
  })
)

it.scoped("finds nothing with a reason, and is as one query where there is no other", () =>
  Effect.gen(function* () {
    const { search } = yield* setUp
    const none = yield* search.run({ query: "x", queries: ["y"], filter: { source: "gone" } })
    assert.deepStrictEqual(none.hits, [])
    assert.include(none.hint, "gone")
    const plain = yield* search.run({ query: "north" })
    assert.deepStrictEqual(
      { ...(yield* search.run({ query: "north", queries: [] })), queryTimeMs: 0 },
      { ...plain, queryTimeMs: 0 }
    )
    assert.isTrue(plain.hits.every(({ foundBy }) => foundBy === undefined))
  })
)

it.scoped("finds only what was indexed since a time, by a duration or a date", () =>
  Effect.gen(function* () {
    const { search } = yield* setUp
    // The clock of the tests begins where another test has left it.
    const now = yield* Clock.currentTimeMillis
    const ago = (hours: number) => new Date(now - hours * 3_600_000).toISOString()
    const since = (since: string) => Effect.map(search.run({ query: "wind north", since, topK: 10 }), sourcesOf)
    assert.sameMembers(yield* since("90m"), ["wind"])
    assert.includeMembers(yield* since("7d"), ["north", "ne", "wind"])
    assert.sameMembers(yield* since(ago(1.5)), ["wind"])
    assert.deepStrictEqual(yield* since("2999-01-01"), [])
    const both = yield* search.run({ query: "wind north", since: "90m", filter: { source: { not: "wind" } } })
    assert.deepStrictEqual(both.hits, [])
    const before = yield* search.run({ query: "wind north", filter: { indexed_at: { lt: ago(5.5) } } })
    assert.deepStrictEqual(sourcesOf(before), ["north"])
  })
)

it.scoped("finds passages like one by its stored vector, without itself and its copies", () =>
  Effect.gen(function* () {
    const { embedded, search } = yield* setUp
    for (const named of [{ source: "north" }, { source: "north:1" }, { source: "north", chunkIndex: 0 }]) {
      const found = yield* search.similar({ ...named, topK: 3, explain: true })
      assert.strictEqual(sourcesOf(found)[0], "ne")
      assert.notIncludeMembers(sourcesOf(found), ["north", "copy"])
      assert.isDefined(found.hits[0]!.explain?.vector)
      assert.strictEqual(found.mode, "hybrid")
    }
    assert.strictEqual(yield* Ref.get(embedded), 0)
    // The copy is left out although a filter leaves the passage itself out before.
    const others = yield* search.similar({ source: "north", filter: { source: { not: "north" } }, topK: 10 })
    assert.notInclude(sourcesOf(others), "copy")
    const page = yield* search.similar({ source: "north", topK: 2, offset: 1 })
    const all = yield* search.similar({ source: "north", topK: limits.topK.max })
    assert.deepStrictEqual(sourcesOf(page), sourcesOf(all).slice(1, 3))
  })
)

it.scoped("finds them although the embedder does not answer, which it needs for a text", () =>
  Effect.gen(function* () {
    const { isGone, search } = yield* setUp
    yield* Ref.set(isGone, true)
    for (const hybrid of [true, false]) {
      const found = yield* search.similar({ source: "north", topK: 3, hybrid })
      assert.strictEqual(sourcesOf(found)[0], "ne")
      assert.strictEqual(found.mode, hybrid ? "hybrid" : "vector")
      assert.isUndefined(found.degraded)
    }
    const text = search.similar({ text: "north wind", hybrid: false })
    assert.strictEqual((yield* Effect.flip(text))._tag, "EmbedderUnavailable")
  })
)

it.scoped("finds passages like a text, its copies among them", () =>
  Effect.gen(function* () {
    const { embedded, search } = yield* setUp
    const found = yield* search.similar({ text: "north wind over the harbour", topK: 3 })
    assert.include(["north", "copy"], sourcesOf(found)[0])
    assert.strictEqual(yield* Ref.get(embedded), 1)
  })
)

it.scoped("says which passages there are where it is asked for another", () =>
  Effect.gen(function* () {
    const { search } = yield* setUp
    for (const [named, message] of [
      [{ source: "north", chunkIndex: 3 }, "passages 0 to 0, in lines 1 to 1"],
      [{ source: "north:7" }, "passages 0 to 0"],
      [{ source: "nowhere" }, '"nowhere"']
    ] as const) {
      const error = yield* Effect.flip(search.similar(named))
      assert.strictEqual(error._tag, "PassageNotFound")
      assert.include(error.message, message)
    }
  })
)
