import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { CollectionName, type EmbedderIdentity } from "../../src/model/Collection.ts"
import type { Filter } from "../../src/model/Filter.ts"
import type { Hit } from "../../src/model/SearchResult.ts"
import type { PreparedDocument } from "../../src/model/Stored.ts"
import { type Whole, whole } from "../../src/Store.ts"
import * as OpenSearch from "../../src/Store/OpenSearch.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { document } from "../contracts/Store.ts"
import { newIndex, options, removed } from "./index.ts"
import { type RankedRequest, ranked } from "../ranked.ts"

const name = CollectionName.make("c")
const width = 32
const embedder: EmbedderIdentity = {
  backend: "builtin",
  model: "drawn",
  dimensions: width,
  queryPrefix: "",
  passagePrefix: ""
}

/** Numbers from 0 to 1, the same for the same seed. */
const drawing = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

const vocabulary =
  "tide moon harbour snake_case parseTree v1.2.3 C++ the of größe Straße 所有权 山の上 naïve boats fishing nets".split(
    " "
  )

const drawn = (draw: () => number) => {
  const word = () => vocabulary[Math.floor(draw() ** 2 * vocabulary.length)]!
  const line = () => Array.from({ length: 3 + Math.floor(draw() * 60) }, word).join(" ")
  const vector = () => {
    const values = Float32Array.from({ length: width }, () => draw() - 0.5)
    const norm = Math.hypot(...values)
    return values.map((value) => value / norm)
  }
  return (source: string): PreparedDocument => {
    const lines = Array.from({ length: 1 + Math.floor(draw() * 3) }, line)
    const made = document(lines.join("\n"), {
      source,
      ...(draw() < 0.5 ? { title: `${word()} ${word()}` } : {}),
      metadata: { year: 1990 + Math.floor(draw() * 30), lang: draw() < 0.3 ? "de" : "en", tags: [word(), word()] }
    })
    return {
      ...made,
      fingerprint: `${source} ${draw()}`,
      passages: made.passages.map((passage) => ({
        ...passage,
        vector: draw() < 0.05 ? Option.none() : Option.some(vector())
      }))
    }
  }
}

/** Two stores that go through the same: documents come, are replaced and deleted. */
const alike = Effect.fnUntraced(function* (
  stores: ReadonlyArray<Whole>,
  seed: number,
  sources: number,
  rounds: number
) {
  const draw = drawing(seed)
  const next = drawn(draw)
  for (const store of stores) yield* store.createCollection(name, embedder)
  for (let round = 0; round < rounds; round++) {
    const chosen = new Set(
      Array.from({ length: 40 }, () => `dir${Math.floor(draw() * 5)}/${Math.floor(draw() * sources)}.md`)
    )
    const batch = [...chosen].map(next)
    const gone = `dir${Math.floor(draw() * 5)}/${Math.floor(draw() * sources)}.md`
    for (const store of stores) {
      yield* store.put(name, batch)
      yield* store.deleteSource(name, gone)
    }
  }
})

const queries = [
  "tide moon",
  "the größe of boats",
  "snake_case",
  "parse tree",
  "v1.2.3 C++",
  "所有权",
  "山",
  "fishing nets harbour naive strasse",
  "tide tide of the moon"
]

const filters: ReadonlyArray<Filter> = [
  {},
  { lang: "de" },
  { year: { gte: 2000, lt: 2010 } },
  { source: "dir1/*" },
  { tags: "moon" },
  { or: [{ lang: "de" }, { year: { lt: 1995 } }], source: { not: "*/1*.md" } }
]

const request = (given: RankedRequest) => ({
  collection: name,
  alpha: 0.4,
  fusion: "score" as const,
  limit: 100,
  ...given
})

const keyOf = (hit: {
  readonly document: { readonly docId: string }
  readonly passage: { readonly ordinal: number }
}) => `${hit.document.docId}#${hit.passage.ordinal}`

/** Scores of one list are those of the other, place by place and passage by passage, but for rounding. */
const sameScores = (found: ReadonlyArray<Hit>, expected: ReadonlyArray<Hit>, what: string): void => {
  assert.strictEqual(found.length, expected.length, what)
  const scores = new Map(expected.map((hit) => [keyOf(hit), hit.score]))
  for (const [at, hit] of found.entries()) {
    assert.closeTo(hit.score, expected[at]!.score, 1e-6, what)
    // At the end of a list that is cut, equals may have other places.
    const own = scores.get(keyOf(hit))
    if (own !== undefined) assert.closeTo(hit.score, own, 1e-6, what)
    else assert.closeTo(hit.score, expected.at(-1)!.score, 1e-6, what)
  }
}

const bothStores = Effect.gen(function* () {
  const file = yield* Effect.provide(whole, yield* Layer.build(Sqlite.layerMemory))
  const cluster = yield* Effect.provide(whole, yield* Layer.build(newIndex))
  return { file, cluster }
})

it.scoped(
  "after anything that documents go through, it says what a file says: words, filters, lists and meanings",
  () =>
    Effect.gen(function* () {
      const { cluster, file } = yield* bothStores
      yield* alike([file, cluster], 7, 40, 8)
      const [inFile, inCluster] = [yield* file.stats(name), yield* cluster.stats(name)]
      assert.deepStrictEqual([inCluster.documents, inCluster.passages], [inFile.documents, inFile.passages])

      for (const filter of filters) {
        const listed = (store: Whole) =>
          Effect.map(store.list(name, { limit: 1000, filter }), (all) => all.map(({ docId }) => docId))
        assert.deepStrictEqual(yield* listed(cluster), yield* listed(file), JSON.stringify(filter))
        assert.strictEqual(yield* cluster.filtered([name], filter), yield* file.filtered([name], filter))
        for (const keyword of queries) {
          const expected = yield* ranked(file, request({ keyword, filter }))
          const found = yield* ranked(cluster, request({ keyword, filter }))
          sameScores(found, expected, `${keyword} ${JSON.stringify(filter)}`)
        }
      }

      const draw = drawing(99)
      let same = 0
      let wanted = 0
      for (let n = 0; n < 40; n++) {
        const vector = Float32Array.from({ length: width }, () => draw() - 0.5)
        const filter = filters[n % filters.length]!
        const expected = yield* ranked(file, request({ vector, filter, limit: 10 }))
        const found = yield* ranked(cluster, request({ vector, filter, limit: 10 }))
        assert.strictEqual(found.length, expected.length)
        const keys = new Set(found.map(keyOf))
        wanted += expected.length
        same += expected.filter((hit) => keys.has(keyOf(hit))).length
        const hybrid = request({ vector, keyword: queries[n % queries.length]!, filter, limit: 10, context: true })
        assert.deepStrictEqual((yield* ranked(cluster, hybrid)).map(keyOf), (yield* ranked(file, hybrid)).map(keyOf))
      }
      assert.isAtLeast(same / wanted, 0.98)
    }),
  300_000
)

it.scoped(
  "three shards say what one says",
  () =>
    Effect.gen(function* () {
      const opened = (shards: number) =>
        Effect.gen(function* () {
          const given = options({ shards })
          yield* Effect.addFinalizer(() => Effect.promise(() => removed(given.prefix)))
          return yield* Effect.provide(whole, yield* Layer.build(OpenSearch.layer(given)))
        })
      const [one, three] = [yield* opened(1), yield* opened(3)]
      yield* alike([one, three], 11, 30, 4)
      for (const keyword of queries) {
        const expected = yield* ranked(one, request({ keyword }))
        const found = yield* ranked(three, request({ keyword }))
        sameScores(found, expected, keyword)
      }
      const vector = Float32Array.from({ length: width }, (_, at) => at - 12)
      const hits = [yield* ranked(one, request({ vector })), yield* ranked(three, request({ vector }))]
      assert.deepStrictEqual(hits[1]!.map(keyOf), hits[0]!.map(keyOf))
    }),
  300_000
)

it.scoped("what one server writes, another finds, also without forcing it", () =>
  Effect.gen(function* () {
    const given = options({ refresh: "wait", shards: 2 })
    yield* Effect.addFinalizer(() => Effect.promise(() => removed(given.prefix)))
    const first = yield* Effect.provide(whole, yield* Layer.build(OpenSearch.layer(given)))
    yield* first.createCollection(name, embedder)
    const second = yield* Effect.provide(whole, yield* Layer.build(OpenSearch.layer({ ...given, mode: "readonly" })))
    yield* first.put(name, [document("a quince", { source: "a", vectors: [undefined] })])
    const found = Effect.map(ranked(second, request({ keyword: "quince" })), (hits) =>
      hits.map(({ passage }) => passage.text)
    )
    assert.deepStrictEqual(yield* found, ["a quince"])
    yield* first.put(name, [document("another quince", { source: "a", vectors: [undefined] })])
    assert.deepStrictEqual(yield* found, ["another quince"])
    assert.strictEqual((yield* second.list(name, { limit: 5 })).length, 1)
    yield* first.deleteSource(name, "a")
    assert.deepStrictEqual(yield* found, [])
  })
)

it.scoped(
  "a server that runs knows what is like what in a collection that has grown, as one that has just begun does",
  () =>
    Effect.gen(function* () {
      const given = options()
      yield* Effect.addFinalizer(() => Effect.promise(() => removed(given.prefix)))
      const opened = Effect.flatMap(Layer.build(OpenSearch.layer(given)), (layer) => Effect.provide(whole, layer))
      const store = yield* opened
      // The packaged model's vectors have no direction in common.
      yield* store.createCollection(name, { ...embedder, backend: "ollama" })
      const draw = drawn(drawing(5))
      const many = (of: string) => Array.from({ length: 60 }, (_, at) => draw(`${of}${at}`))
      const towards = (direction: number, { passages, ...of }: PreparedDocument): PreparedDocument => ({
        ...of,
        passages: passages.map((passage) => ({
          ...passage,
          vector: Option.map(passage.vector, (vector) => vector.map((value, at) => (at === direction ? 1 : value)))
        }))
      })
      const found = (of: Whole) =>
        Effect.map(
          ranked(of, { collection: name, vector: Float32Array.from({ length: width }, (_, at) => (at < 2 ? 1 : 0.1)) }),
          (hits) => hits.map(({ document: { source }, score }) => [source, score])
        )
      yield* store.put(
        name,
        many("a").map((each) => towards(0, each))
      )
      yield* found(store)
      yield* store.put(
        name,
        many("b").map((each) => towards(1, each))
      )
      assert.deepStrictEqual(yield* found(store), yield* found(yield* opened))
    })
)

it.scoped("documents that go from a file to a cluster and back are the same", () =>
  Effect.gen(function* () {
    const { cluster, file } = yield* bothStores
    const back = yield* Effect.provide(whole, yield* Layer.build(Layer.fresh(Sqlite.layerMemory)))
    yield* alike([file], 5, 20, 3)
    yield* file.put(name, [document(" \n", { source: "empty" })])
    for (const store of [cluster, back]) yield* store.createCollection(name, embedder)
    const moved = Effect.fnUntraced(function* (from: Whole, to: Whole) {
      for (let next: Parameters<Whole["exported"]>[1]["from"]; ;) {
        const page = yield* from.exported(name, { limit: 7, from: next })
        yield* to.put(
          name,
          page.documents.map((each) => ({ ...each, language: "en" }))
        )
        next = page.next
        if (next === undefined) return
      }
    })
    const all = Effect.fnUntraced(function* (store: Whole) {
      const found: Array<unknown> = []
      for (let next: Parameters<Whole["exported"]>[1]["from"]; ;) {
        const page = yield* store.exported(name, { limit: 100, from: next })
        found.push(...page.documents)
        next = page.next
        if (next === undefined) return found
      }
    })
    yield* moved(file, cluster)
    yield* moved(cluster, back)
    const expected = yield* all(file)
    assert.isAbove(expected.length, 20)
    assert.deepStrictEqual(yield* all(cluster), expected)
    assert.deepStrictEqual(yield* all(back), expected)
  })
)

it.scoped("changes its embedder beside the vectors in use, and switches at once", () =>
  Effect.gen(function* () {
    const { cluster } = yield* bothStores
    yield* alike([cluster], 3, 10, 2)
    const next = { ...embedder, model: "next", dimensions: 4 }
    const { total } = yield* cluster.beginReindex(name, next)
    const before = (yield* ranked(cluster, request({ keyword: "tide", limit: 5 }))).map(keyOf)
    for (;;) {
      const { passages, position } = yield* cluster.unembedded(name, next, 20)
      if (passages.length === 0) break
      yield* cluster.putReindexed(
        name,
        passages.map(({ id }) => ({ id, vector: Option.some(Float32Array.of(1, 0, 0, id % 7)) })),
        position
      )
    }
    assert.strictEqual((yield* cluster.collection(name)).next?.done, total)
    // A document that comes meanwhile has to get its vector first.
    yield* cluster.put(name, [document("late tide", { source: "late", vectors: [undefined] })])
    assert.isFalse((yield* cluster.finishReindex(name, next)).changed)
    const { passages, position } = yield* cluster.unembedded(name, next, 20)
    yield* cluster.putReindexed(
      name,
      passages.map(({ id }) => ({ id, vector: Option.some(Float32Array.of(0, 1, 0, 0)) })),
      position
    )
    assert.isTrue((yield* cluster.finishReindex(name, next)).changed)
    assert.deepStrictEqual((yield* cluster.collection(name)).embedder, next)
    const [hit] = yield* ranked(cluster, request({ vector: Float32Array.of(0, 1, 0, 0), limit: 1 }))
    assert.strictEqual(hit!.passage.text, "late tide")
    assert.includeMembers((yield* ranked(cluster, request({ keyword: "tide", limit: 50 }))).map(keyOf), before)
  })
)
