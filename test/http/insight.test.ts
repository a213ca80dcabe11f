import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { ask, start } from "./server.ts"

const documents = [
  { content: "# Tides\n\nThe spring tide is highest at new moon.", metadata: { source: "docs/tides.md", lang: "en" } },
  { content: "# Moon\n\nThe moon pulls the sea.", metadata: { source: "docs/moon.md", lang: "en" } },
  { content: "# Bread\n\nKnead the dough.", metadata: { source: "docs/bread.md", lang: "de" }, doc_id: "bread" }
]

const served = Effect.map(start({ documents }), ({ port }) => ({
  why: (params: Record<string, string>) => ask(port, "GET", `/why?${new URLSearchParams(params).toString()}`),
  post: (path: string, body: object) => ask(port, "POST", path, { body })
}))

it.scopedLive("says why a document has its rank", () =>
  Effect.gen(function* () {
    const { why } = yield* served
    const query = "when is the spring tide highest"
    const tides = yield* why({ query, source: "docs/tides.md" })
    assert.strictEqual(tides.status, 200, tides.text)
    const { doc_id, terms, ...rest } = tides.json
    assert.isString(doc_id)
    assert.deepInclude(rest, { source: "docs/tides.md", indexed: true, collection: "default", ahead: [] })
    assert.strictEqual(rest.hybrid.rank, 1)
    assert.strictEqual(rest.keyword.rank, 1)
    assert.isAbove(rest.vector.score, 0)
    assert.isAbove(terms.find(({ term }: { term: string }) => term === "tide").score, 0)

    const bread = (yield* why({ query, doc_id: "bread", filter: '{"lang":"en"}' })).json
    assert.deepInclude(bread, { source: "docs/bread.md", filtered_out: true })
    assert.notProperty(bread.hybrid, "rank")
    assert.isAbove(bread.ahead.length, 0)
    // All by words: the fused score is theirs.
    const words = (yield* why({ query, source: "docs/tides.md", alpha: "0", fusion: "score" })).json
    assert.deepStrictEqual(words.hybrid, words.keyword)
  })
)

it.scopedLive("says that a document is not indexed, and refuses what names none or two", () =>
  Effect.gen(function* () {
    const { why } = yield* served
    const missing = yield* why({ query: "tide", source: "docs/tide.md" })
    assert.deepStrictEqual([missing.status, missing.json.indexed], [200, false])
    assert.include(missing.json.reason, 'did you mean "docs/tides.md"?')
    assert.deepStrictEqual((yield* why({ query: "tide", doc_id: "nope" })).json, {
      source: "nope",
      indexed: false,
      reason: "no document has this doc_id"
    })
    for (const params of [
      {},
      { source: "a", doc_id: "b" },
      { source: "a", alpha: "2" },
      { source: "a", filter: "x" }
    ]) {
      assert.strictEqual((yield* why({ query: "tide", ...params } as Record<string, string>)).status, 400)
    }
    assert.strictEqual((yield* why({ query: "tide", source: "a", collection: "nope" })).status, 404)
  })
)

it.scopedLive("compares what two settings find", () =>
  Effect.gen(function* () {
    const { post } = yield* served
    const query = "the moon and the spring tide"
    const compared = yield* post("/compare", {
      query,
      top_k: 3,
      a: { hybrid: true, alpha: 0 },
      b: {}
    })
    assert.strictEqual(compared.status, 200, compared.text)
    const { a, b, moves, overlap } = compared.json
    const alone = [
      yield* post("/query", { query, top_k: 3, hybrid: true, alpha: 0 }),
      yield* post("/query", { query, top_k: 3 })
    ]
    for (const [at, side] of [a, b].entries()) {
      assert.deepStrictEqual(side.results, alone[at]!.json.results)
      assert.strictEqual(side.mode, at === 0 ? "keyword" : "vector")
    }
    assert.lengthOf(a.results, 2)
    assert.lengthOf(b.results, 3)
    assert.closeTo(overlap, 2 / 3, 1e-9)
    assert.lengthOf(moves, 3)
    for (const { a: inA, b: inB, chunk_index, doc_id } of moves) {
      for (const [rank, { results }] of [
        [inA, a],
        [inB, b]
      ]) {
        const at = results.findIndex(
          ({ metadata }: any) => metadata.doc_id === doc_id && metadata.chunk_index === chunk_index
        )
        assert.strictEqual(rank, at === -1 ? undefined : at + 1)
      }
    }
    const nothing = yield* post("/compare", { query, filter: { lang: "xx" }, a: {}, b: { hybrid: true } })
    assert.deepInclude(nothing.json, { overlap: 1, moves: [] })
    for (const wrong of [
      { a: {} },
      { a: {}, b: { alpha: 2 } },
      { a: {}, b: { top_k: 3 } },
      { a: {}, b: {}, facets: [] }
    ]) {
      assert.strictEqual((yield* post("/compare", { query, ...wrong })).status, 400)
    }
  })
)
