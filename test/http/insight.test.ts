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

it.scopedLive("suggests titles, headings and names by their beginnings", () =>
  Effect.gen(function* () {
    const { port } = yield* start({
      documents: [
        {
          content: "# Tidal pools\n\nCrabs of Tidewater Bay.",
          metadata: { source: "a.md", title: "Tides of the North Sea" }
        },
        {
          content: "Again Tidewater Bay, said Ada Lovelace.",
          metadata: { source: "b.md", title: "tides of the north sea" }
        },
        {
          content: "# Überfahrt\n\nWe cross.",
          metadata: { title: "Über das Meer, und was es in dieser langen Nacht alles mit sich nimmt" }
        },
        ...Array.from({ length: 12 }, (_, n) => ({ content: `note ${n}`, metadata: { title: "The tidy desk" } }))
      ]
    })
    const suggested = (prefix: string, more = "") =>
      Effect.map(ask(port, "GET", `/suggest?prefix=${encodeURIComponent(prefix)}${more}`), ({ json, status, text }) => {
        assert.strictEqual(status, 200, text)
        return json.suggestions as ReadonlyArray<{
          text: string
          kind: string
          source?: string
          doc_id: string
          collection: string
        }>
      })
    const told = (prefix: string, more = "") =>
      Effect.map(suggested(prefix, more), (all) => all.map(({ kind, text }) => [kind, text]))
    const tid = [
      ["title", "Tides of the North Sea"],
      ["title", "The tidy desk"],
      ["heading", "Tidal pools"],
      ["name", "Tidewater Bay"]
    ]
    assert.deepStrictEqual(yield* told("TID"), tid)
    assert.deepStrictEqual(yield* told("tid", "&limit=2"), [tid[0]!, tid[2]!])
    assert.deepStrictEqual(yield* told("tide"), [tid[0]!, tid[3]!])
    // A leading article is not looked at.
    assert.deepStrictEqual(yield* told("the t"), [tid[1], tid[0], tid[2], tid[3]])
    assert.deepStrictEqual(yield* told("ada"), [["name", "Ada Lovelace"]])
    assert.deepStrictEqual(yield* told("über"), [
      ["title", "Über das Meer, und was es in dieser langen Nacht alles mit sich nimmt"],
      ["heading", "Überfahrt"]
    ])
    assert.deepInclude((yield* suggested("ada"))[0]!, { source: "b.md", collection: "default" })
    for (const nothing of ["x", " ", "?", "%", "ides", "[", "\u{10ffff}"]) {
      assert.deepStrictEqual(yield* suggested(nothing), [], nothing)
    }
    // What was deleted is suggested no more.
    yield* ask(port, "DELETE", "/documents", { body: { source: "b.md" } })
    assert.deepStrictEqual(yield* told("ada"), [])
    assert.deepStrictEqual(yield* told("tid"), tid)
    yield* ask(port, "DELETE", "/documents", { body: { source: "a.md" } })
    assert.deepStrictEqual(yield* told("tid"), [["title", "The tidy desk"]])
    assert.strictEqual((yield* ask(port, "GET", "/suggest?prefix=")).status, 400)
    assert.strictEqual((yield* ask(port, "GET", "/suggest?prefix=a&limit=51")).status, 400)
    assert.strictEqual((yield* ask(port, "GET", "/suggest?prefix=a&collection=nope")).status, 404)
  })
)

it.scopedLive("suggests and explains nothing where nothing was indexed", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    for (const where of ["", "&collection=default"]) {
      assert.deepStrictEqual((yield* ask(port, "GET", `/suggest?prefix=a${where}`)).json, { suggestions: [] })
      const { json } = yield* ask(port, "GET", `/why?query=tide&source=a.md${where}`)
      assert.deepStrictEqual(json, { source: "a.md", indexed: false, reason: "no document has this source" })
    }
    const { json } = yield* ask(port, "POST", "/compare", { body: { query: "tide", a: {}, b: {} } })
    assert.deepInclude(json, { overlap: 1, moves: [] })
  })
)
