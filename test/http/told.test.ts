import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { ask, over, start } from "./server.ts"

const documents = [
  { content: "Configuration of the harbour lights", metadata: { source: "lights.md", lang: "en" } },
  { content: "Tides and the moon", metadata: { source: "tides.md", lang: "en" } }
]

const misspelt = { query: "configuratoin", hybrid: true }
const mistyped = { query: "harbour", hybrid: true, filter: { lan: "en" } }
const why = 'no document has the metadata key "lan" (did you mean "lang"?)'

const filled = Effect.map(start({ documents }), ({ port }) => port)

it.scopedLive("says which keys of a filter no document has, one or several", () =>
  Effect.gen(function* () {
    const port = yield* filled
    const hintOf = (filter: object) =>
      Effect.map(ask(port, "POST", "/query", { body: { query: "harbour", filter } }), ({ json }) => json.hint)
    assert.include(yield* hintOf({ lan: "en" }), why)
    assert.include(
      yield* hintOf({ year: 1, lan: "en" }),
      'any of the metadata keys "year", "lan" (did you mean "lang"?);'
    )
    // A document may have a key of its own that is named like one of Clew's.
    yield* ask(port, "POST", "/index", { body: { documents: [{ content: "A pier", metadata: { doc_id: "pier" } }] } })
    const existing = 'existing keys: "source", "title", "doc_id", "indexed_at", "lang"'
    assert.include(yield* hintOf({ year: 1 }), existing)
  })
)

it.scopedLive("says that nothing is indexed, at all or in a collection", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const hints = (body: object) =>
      Effect.map(ask(port, "POST", "/query", { body: { query: "harbour", ...body } }), ({ json }) => json.hint)
    assert.strictEqual(yield* hints({}), "no documents are indexed")
    yield* ask(port, "POST", "/index", { body: { documents, collection: "notes" } })
    yield* ask(port, "DELETE", "/documents", { body: { filter: { source: "*" }, collection: "notes" } })
    assert.strictEqual(yield* hints({}), "no documents are indexed")
    assert.strictEqual(
      yield* hints({ collection: "notes", filter: { lang: "en" } }),
      "collection notes has no documents"
    )
  })
)

/** The message that ends the answer to one over a WebSocket. */
const told = (port: number, message: object) => Effect.map(over(port, message), (all) => all.at(-1))

it.scopedLive("names the words searched for besides, at every door", () =>
  Effect.gen(function* () {
    const port = yield* filled
    for (const path of ["/query", "/prompt"]) {
      const { json } = yield* ask(port, "POST", path, { body: misspelt })
      assert.deepStrictEqual(json.also_searched, ["configuration"], path)
      const right = yield* ask(port, "POST", path, { body: { ...misspelt, query: "configuration" } })
      assert.notProperty(right.json, "also_searched")
    }
    const best = yield* ask(port, "POST", "/query", { body: { ...misspelt, alpha: 0 } })
    assert.deepStrictEqual(
      best.json.results.map(({ metadata }: any) => metadata.source),
      ["lights.md"]
    )
    // Meaning alone has no words to look for.
    const vector = yield* ask(port, "POST", "/query", { body: { query: misspelt.query } })
    assert.notProperty(vector.json, "also_searched")
    for (const type of ["search", "prompt"]) {
      assert.deepStrictEqual((yield* told(port, { type, ...misspelt })).also_searched, ["configuration"], type)
    }
    const answer = yield* ask(port, "POST", "/ask", { body: { ...misspelt, verify: true } })
    assert.include(answer.text, ": also searched: configuration\n")
    assert.include(answer.text, '"also_searched":["configuration"]')
  })
)

it.scopedLive("names such words only as a result writes them", () =>
  Effect.gen(function* () {
    const content = "Copyright, see https://purl.org/dc/terms for what each field says"
    const { port } = yield* start({ documents: [...documents, { content, metadata: { source: "licence.md" } }] })
    const asked = (query: string, more: object = {}) =>
      Effect.map(
        ask(port, "POST", "/query", { body: { query, hybrid: true, ...more } }),
        ({ json }) => json.also_searched
      )
    // It differs from "terming" by one letter, which nobody wrote.
    assert.deepStrictEqual(yield* asked("Termine"), ["terms"])
    assert.isUndefined(yield* asked("Termine", { filter: { source: "tides.md" } }))
  })
)

it.scopedLive("reads quotes, -word and field:word at every door, and says how", () =>
  Effect.gen(function* () {
    const port = yield* filled
    const asked = { query: '"the harbour" -tides lang:en', hybrid: true }
    const read = { words: "the harbour", phrases: ["the harbour"], without: ["tides"], fields: ["lang:en"] }
    const { json } = yield* ask(port, "POST", "/query", { body: { ...asked, explain: true } })
    assert.deepStrictEqual(
      json.results.map(({ metadata }: any) => metadata.source),
      ["lights.md"]
    )
    assert.deepStrictEqual(json.read_as, read)
    assert.deepStrictEqual(json.explain.read_as, read)
    const prompt = yield* ask(port, "POST", "/prompt", { body: asked })
    assert.deepStrictEqual(prompt.json.sources, ["lights.md"])
    assert.deepStrictEqual(prompt.json.read_as, read)
    for (const type of ["search", "prompt"]) {
      const done = yield* told(port, { type, ...asked })
      assert.strictEqual(done.count, 1, type)
      assert.deepStrictEqual(done.read_as, read, type)
    }
    const answer = yield* ask(port, "POST", "/ask", { body: { ...asked, verify: true } })
    assert.include(answer.text, ": read as: the harbour (with “the harbour”, without “tides”, lang:en)\n")
    assert.include(answer.text, `"read_as":${JSON.stringify(read)}`)
    assert.notInclude(answer.text, "tides.md")
    const pasted = yield* ask(port, "POST", "/query", {
      body: { query: 'error: no "harbour pilot" tides', hybrid: true }
    })
    assert.lengthOf(pasted.json.results, 2)
    assert.isString(pasted.json.read_as.as_words)
    for (const query of ['"', "-", "a:", ":b", '-"', 'lang:"', "http://x:80"]) {
      const odd = yield* ask(port, "POST", "/query", { body: { query, hybrid: true } })
      assert.strictEqual(odd.status, 200, query)
      assert.notProperty(odd.json, "read_as", query)
    }
  })
)

it.scopedLive("explains scores where that is asked for", () =>
  Effect.gen(function* () {
    const port = yield* filled
    const { json } = yield* ask(port, "POST", "/query", {
      body: { ...mistyped, filter: { lang: "en" }, explain: true }
    })
    for (const { explain, score } of json.results) {
      assert.closeTo((explain.vector?.contribution ?? 0) + (explain.keyword?.contribution ?? 0), score, 1e-9)
    }
    assert.deepInclude(json.results[0].explain.keyword.terms[0], { term: "harbour", text: 1 })
    assert.deepInclude(json.explain, { passages: 2, filtered: 2, rrf_k: 10 })
    assert.deepStrictEqual(Object.keys(json.explain.stages_us).sort(), [
      "context",
      "embed",
      "fuse",
      "keyword",
      "mask",
      "read",
      "vector"
    ])
    assert.notProperty((yield* ask(port, "POST", "/query", { body: misspelt })).json, "explain")
    const done = yield* told(port, { type: "search", ...misspelt, explain: true })
    assert.strictEqual(done.explain.passages, 2)
    assert.strictEqual((yield* ask(port, "POST", "/query", { body: { query: "x", explain: "yes" } })).status, 400)
  })
)

it.scopedLive("says at every door what about a filter may be why nothing was found", () =>
  Effect.gen(function* () {
    const port = yield* filled
    for (const path of ["/query", "/prompt"]) {
      assert.include((yield* ask(port, "POST", path, { body: mistyped })).json.hint, why, path)
    }
    for (const type of ["search", "prompt"]) assert.include((yield* told(port, { type, ...mistyped })).hint, why, type)
    assert.include((yield* ask(port, "POST", "/ask", { body: mistyped })).text, `: nothing found: ${why}`)
    const { query: content, filter: wrong } = mistyped
    const chat = { model: "clew", messages: [{ role: "user", content }], filter: wrong }
    for (const stream of [false, true]) {
      const { text } = yield* ask(port, "POST", "/v1/chat/completions", { body: { ...chat, stream } })
      assert.include(text, JSON.stringify(why).slice(1, -1))
    }
    const filter = encodeURIComponent(JSON.stringify(mistyped.filter))
    const listed = yield* ask(port, "GET", `/documents?filter=${filter}`)
    assert.include(listed.json.hint, why)
    const deleted = yield* ask(port, "DELETE", "/documents", { body: { filter: mistyped.filter } })
    assert.strictEqual(deleted.json.deleted_documents, 0)
    assert.include(deleted.json.hint, why)
    const known = encodeURIComponent(JSON.stringify({ lang: "de" }))
    const unmatched = yield* ask(port, "GET", `/documents?filter=${known}`)
    assert.strictEqual(unmatched.json.hint, "no document matches the filter")
    // Where something is found, there is nothing to say.
    assert.notProperty((yield* ask(port, "GET", "/documents")).json, "hint")
    assert.notProperty((yield* ask(port, "POST", "/query", { body: misspelt })).json, "hint")
  })
)

it.scopedLive("says at every door that a filter matches no document, and how to write a source that would", () =>
  Effect.gen(function* () {
    const documents = [
      { content: "spring tide in the harbour", metadata: { source: "/home/ada/work/docs/tides.md", lang: "en" } },
      { content: "neap tide in the harbour", metadata: { source: "docs.example/tides", lang: "de" } }
    ]
    const { port } = yield* start({ documents })
    const query = "harbour"
    const hintOf = (filter: object, path = "/query") =>
      Effect.map(ask(port, "POST", path, { body: { query, filter } }), ({ json }) => json.hint)
    const none = "no document matches the filter"
    const would = (given: string, glob: string) =>
      `${none}; no source is "${given}": a filter compares the whole source, and "${glob}" would match`
    const relative = would("docs/*", "*/docs/*")
    for (const path of ["/query", "/prompt"]) assert.strictEqual(yield* hintOf({ source: "docs/*" }, path), relative)
    for (const type of ["search", "prompt"]) {
      assert.strictEqual((yield* told(port, { type, query, filter: { source: "docs/*" } })).hint, relative)
    }
    assert.include(
      (yield* ask(port, "POST", "/ask", { body: { query, filter: { source: "docs/*" } } })).text,
      `: nothing found: ${relative}`
    )
    const asked = encodeURIComponent(JSON.stringify({ source: "docs/*" }))
    assert.strictEqual((yield* ask(port, "GET", `/documents?filter=${asked}`)).json.hint, relative)
    const deleted = yield* ask(port, "DELETE", "/documents", { body: { filter: { source: "docs/*" } } })
    assert.deepStrictEqual(deleted.json, { deleted_documents: 0, deleted_chunks: 0, hint: relative })
    // The end of a path, a folder of it, a path from elsewhere, under other conditions.
    assert.strictEqual(yield* hintOf({ source: "docs/tides.md" }), would("docs/tides.md", "*/docs/tides.md"))
    assert.strictEqual(yield* hintOf({ source: "./docs/*" }), would("./docs/*", "*/docs/*"))
    assert.strictEqual(yield* hintOf({ or: [{ source: "/docs/*" }, { lang: "fr" }] }), would("/docs/*", "*/docs/*"))
    assert.strictEqual(yield* hintOf({ source: "tides*" }), would("tides*", "*/tides*"))
    assert.strictEqual(yield* hintOf({ source: "papers/*" }), `${none}; no source is "papers/*"`)
    const mistyped = encodeURIComponent(JSON.stringify({ source: "tdies.md" }))
    assert.strictEqual(
      (yield* ask(port, "GET", `/documents?filter=${mistyped}`)).json.hint,
      `${none}; no source is "tdies.md" (did you mean "/home/ada/work/docs/tides.md"?)`
    )
    assert.strictEqual(yield* hintOf({ source: ["x", "y", "z", "v"] }), `${none}; no source is "x" or "y" or "z", …`)
    assert.strictEqual(yield* hintOf({ lang: "en", source: "docs.example/*" }), none)
    assert.strictEqual(yield* hintOf({ lang: "fr" }), none)
    assert.strictEqual(yield* hintOf({ title: { exists: true } }), none)
    // A relative source matches nothing but itself: no filter matches more than it says, least of all one to delete by.
    const left = yield* ask(port, "GET", "/documents")
    assert.lengthOf(left.json.documents, 2)
    // Something matches, but not the words.
    const words = { query: "zeppelin", alpha: 0, hybrid: true, filter: { lang: "en" } }
    assert.notProperty((yield* ask(port, "POST", "/query", { body: words })).json, "hint")
  })
)

it.scopedLive("tells how relevant results are at every door, and where all are weak", () =>
  Effect.gen(function* () {
    const port = yield* filled
    const { json } = yield* ask(port, "POST", "/query", { body: { query: "harbour lights", hybrid: true } })
    assert.isAbove(json.results[0].relevance, 0.3)
    assert.notProperty(json, "weak")
    // The same in every mode, as far as the mode knows what meaning says.
    for (const body of [{ hybrid: false }, { hybrid: true, fusion: "score" }]) {
      const other = yield* ask(port, "POST", "/query", { body: { query: "harbour lights", ...body } })
      assert.closeTo(other.json.results[0].relevance, json.results[0].relevance, 1e-6)
    }
    const kept = yield* ask(port, "POST", "/query", {
      body: { query: "harbour lights", hybrid: true, min_relevance: json.results[0].relevance - 0.01 }
    })
    assert.lengthOf(kept.json.results, 1)
    const none = yield* ask(port, "POST", "/query", { body: { query: "harbour", hybrid: true, min_relevance: 0.99 } })
    assert.deepStrictEqual(none.json.results, [])
    assert.match(none.json.hint, /^the best match has a relevance of 0\.\d+, less than 0\.99$/)
    const refused = yield* ask(port, "POST", "/query", { body: { query: "harbour", min_relevance: 2 } })
    assert.strictEqual(refused.status, 400)
    assert.include(refused.text, "min_relevance")

    const off = { query: "quarterly revenue of semiconductor companies on the moon", hybrid: true, alpha: 0 }
    for (const path of ["/query", "/prompt"]) {
      assert.isTrue((yield* ask(port, "POST", path, { body: off })).json.weak, path)
    }
    for (const type of ["search", "prompt"]) assert.isTrue((yield* told(port, { type, ...off })).weak, type)
  })
)
