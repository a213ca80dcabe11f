import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { ask, start } from "./server.ts"

const documents = [
  {
    content: "# Thread\n\nThe clew leads out of the maze.",
    metadata: { source: "docs/maze.md", title: "The maze", year: 2020 }
  },
  { content: "Bees make honey.", metadata: { source: "docs/bees.md", lang: ["en", "de"] }, doc_id: "bees" },
  { content: "No source here, but words." }
]

const filled = Effect.gen(function* () {
  const server = yield* start()
  const indexed = yield* ask(server.port, "POST", "/index", { body: { documents } })
  return { ...server, indexed }
})

it.scopedLive("says what became of each document", () =>
  Effect.gen(function* () {
    const { indexed, port } = yield* filled
    assert.strictEqual(indexed.status, 200)
    const { index_time_ms, ...rest } = indexed.json
    assert.isTrue(Number.isInteger(index_time_ms))
    const derived = rest.documents[2].doc_id
    assert.deepStrictEqual(rest, {
      indexed: 3,
      unchanged: 0,
      chunks: 3,
      documents: [
        { doc_id: rest.documents[0].doc_id, source: "docs/maze.md", status: "created", chunks: 1 },
        { doc_id: "bees", source: "docs/bees.md", status: "created", chunks: 1 },
        { doc_id: derived, status: "created", chunks: 1 }
      ]
    })
    const again = yield* ask(port, "POST", "/index", {
      body: { documents: [documents[0], { ...documents[1], content: "Bees make honey and wax." }] }
    })
    assert.deepStrictEqual(
      again.json.documents.map((it: { status: string }) => it.status),
      ["unchanged", "updated"]
    )
    assert.deepInclude(again.json, { indexed: 1, unchanged: 1, chunks: 1 })
  })
)

it.scopedLive("finds passages with their place and the document's own keys", () =>
  Effect.gen(function* () {
    const { port } = yield* filled
    const { json, status } = yield* ask(port, "POST", "/query", { body: { query: "leads out of the maze", top_k: 1 } })
    assert.strictEqual(status, 200)
    assert.strictEqual(json.mode, "vector")
    assert.isTrue(Number.isInteger(json.query_time_ms))
    assert.lengthOf(json.results, 1)
    const [{ metadata, score, text }] = json.results
    assert.isAbove(score, 0)
    const original = documents[0]!.content
    assert.strictEqual(original.slice(metadata.start, metadata.end), text)
    assert.deepInclude(metadata, {
      source: "docs/maze.md",
      title: "The maze",
      year: 2020,
      chunk_index: 0,
      heading: "Thread"
    })
    assert.isString(metadata.doc_id)
    assert.isAtLeast(metadata.start_line, 1)
    assert.isAtLeast(metadata.end_line, metadata.start_line)
  })
)

it.scopedLive("searches as the request says", () =>
  Effect.gen(function* () {
    const { port } = yield* filled
    const query = (body: object) => Effect.map(ask(port, "POST", "/query", { body }), ({ json }) => json)
    const hybrid = yield* query({ query: "honey", hybrid: true })
    assert.strictEqual(hybrid.mode, "hybrid")
    assert.strictEqual(hybrid.fusion, "rrf")
    assert.strictEqual(hybrid.results[0].metadata.doc_id, "bees")
    const keyword = yield* query({ query: "honey", hybrid: true, alpha: 0 })
    assert.strictEqual(keyword.mode, "keyword")
    assert.lengthOf(keyword.results, 1)
    for (const filter of [{ source: "docs/b*" }, { lang: "de" }, { lang: ["fr", "en"] }]) {
      const { results } = yield* query({ query: "anything", filter })
      assert.deepStrictEqual(
        results.map((it: { metadata: { doc_id: string } }) => it.metadata.doc_id),
        ["bees"]
      )
    }
    const ranged = yield* query({ query: "anything", filter: { year: { gte: 2020, lt: 2021 } } })
    assert.lengthOf(ranged.results, 1)
    const all = yield* query({ query: "anything", filter: {} })
    assert.lengthOf(all.results, 3)
    assert.strictEqual(all.results.find((it: any) => it.text.startsWith("No source")).metadata.source.length, 32)
  })
)

it.scopedLive("writes a prompt, and says what a budget leaves out", () =>
  Effect.gen(function* () {
    const { port } = yield* filled
    const prompt = (body: object) => Effect.map(ask(port, "POST", "/prompt", { body }), ({ json }) => json)
    const whole = yield* prompt({ query: "honey", top_k: 2 })
    assert.include(whole.prompt, "Context:")
    assert.include(whole.prompt, "Question: honey")
    assert.strictEqual(whole.sources[0], "docs/bees.md")
    assert.lengthOf(whole.sources, 2)
    assert.notProperty(whole, "omitted")
    // A budget without room for a passage is refused, and the least told that has it.
    const refused = yield* prompt({ query: "honey", top_k: 3, max_tokens: 20 })
    assert.deepInclude(refused, { status: 400, _tag: "BudgetTooSmall" })
    assert.strictEqual(refused.errors[0].path, "max_tokens")
    const least = Number(/give at least (\d+)/.exec(refused.detail)![1])
    const short = yield* prompt({ query: "honey", top_k: 3, max_tokens: least })
    assert.strictEqual(short.omitted, 2)
    assert.lengthOf(short.sources, 1)
    assert.strictEqual((yield* prompt({ query: "honey", top_k: 3, max_tokens: least - 1 })).status, 400)
  })
)

it.scopedLive("gives a document back, and deletes it by id", () =>
  Effect.gen(function* () {
    const id = "a/b c?d#é%"
    const document = {
      content: "One line.\nAnother line.",
      metadata: { source: "x", title: "T", own: { deep: [1] } },
      doc_id: id
    }
    const { port } = yield* start({ documents: [document] })
    const path = `/documents/${encodeURIComponent(id)}`
    const { json, status } = yield* ask(port, "GET", path)
    assert.strictEqual(status, 200)
    const { indexed_at, passages, ...rest } = json
    assert.deepStrictEqual(rest, document)
    assert.closeTo(indexed_at, Date.now(), 60_000)
    assert.deepStrictEqual(passages, [{ chunk_index: 0, start: 0, end: 23, start_line: 1, end_line: 2 }])
    const deleted = yield* ask(port, "DELETE", path)
    assert.deepStrictEqual(deleted.json, { deleted_documents: 1, deleted_chunks: 1 })
    assert.strictEqual((yield* ask(port, "GET", path)).status, 404)
    assert.strictEqual((yield* ask(port, "DELETE", path)).json._tag, "DocumentNotFound")
  })
)

it.scopedLive("deletes by source from the body and from the query string, exactly", () =>
  Effect.gen(function* () {
    const { port } = yield* filled
    const remove = (path: string, body?: object) =>
      Effect.map(ask(port, "DELETE", path, body === undefined ? {} : { body }), ({ json, status }) => ({
        json,
        status
      }))
    assert.deepStrictEqual((yield* remove("/documents?source=docs/*")).json, {
      deleted_documents: 0,
      deleted_chunks: 0
    })
    assert.deepStrictEqual((yield* remove("/documents?source=docs%2Fmaze.md")).json, {
      deleted_documents: 1,
      deleted_chunks: 1
    })
    assert.deepStrictEqual((yield* remove("/documents", { source: "docs/bees.md", collection: "default" })).json, {
      deleted_documents: 1,
      deleted_chunks: 1
    })
    assert.strictEqual((yield* remove("/documents?source=a&source=b")).status, 400)
    assert.strictEqual((yield* remove("/documents?source=a", { source: "b" })).status, 400)
    assert.strictEqual((yield* remove("/documents", {})).status, 400)
    assert.strictEqual((yield* remove("/documents?source=a&collection=nope")).status, 404)
  })
)

it.scopedLive("keeps collections apart", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const created = yield* ask(port, "POST", "/collections", { body: { name: "papers" } })
    assert.strictEqual(created.status, 201)
    assert.deepInclude(created.json, { name: "papers", documents: 0, chunks: 0 })
    assert.deepStrictEqual(created.json.embedding, { backend: "test", model: "words", dimensions: 32 })
    yield* ask(port, "POST", "/index", { body: { documents: [{ content: "in papers" }], collection: "papers" } })
    yield* ask(port, "POST", "/index", { body: { documents: [{ content: "in default" }, { content: "and more" }] } })
    const { json } = yield* ask(port, "GET", "/collections")
    assert.deepStrictEqual(
      json.collections.map((it: { name: string; documents: number }) => [it.name, it.documents]),
      [
        ["default", 2],
        ["papers", 1]
      ]
    )
    const found = yield* ask(port, "POST", "/query", { body: { query: "in", collection: "papers" } })
    assert.lengthOf(found.json.results, 1)
    assert.strictEqual(found.json.results[0].metadata.collection, "papers")
    const everywhere = yield* ask(port, "POST", "/query", { body: { query: "in" } })
    assert.sameMembers(
      everywhere.json.results.map((it: any) => it.metadata.collection),
      ["papers", "default", "default"]
    )
    const prompted = yield* ask(port, "POST", "/prompt", { body: { query: "in papers", top_k: 1 } })
    assert.match(prompted.json.prompt, /collection: papers/)
    const stats = yield* ask(port, "GET", "/stats?collection=papers")
    assert.deepInclude(stats.json, { documents: 1, chunks: 1, collections: 2, read_only: false })
    assert.strictEqual((yield* ask(port, "DELETE", "/collections/papers")).json.deleted_documents, 1)
    assert.strictEqual((yield* ask(port, "GET", "/stats?collection=papers")).status, 404)
    assert.strictEqual((yield* ask(port, "DELETE", "/collections/papers")).json._tag, "CollectionNotFound")
    assert.strictEqual((yield* ask(port, "DELETE", "/collections/default")).json._tag, "CollectionProtected")
  })
)

it.scopedLive("says how files are followed, where this process does", () =>
  Effect.gen(function* () {
    const still = yield* start()
    assert.notProperty((yield* ask(still.port, "GET", "/stats")).json, "watch")
    assert.notInclude((yield* ask(still.port, "GET", "/metrics")).text, "clew_watch")
    const { port } = yield* start({
      watch: {
        paths: ["/notes", '/a "b"'],
        state: "polling",
        last_scan_at: 1_700_000_000_500,
        last_scan_ms: 250,
        waiting: 3,
        failed: 1,
        held: ["/notes"]
      }
    })
    assert.deepStrictEqual((yield* ask(port, "GET", "/stats")).json.watch, {
      paths: ["/notes", '/a "b"'],
      state: "polling",
      last_scan_at: 1_700_000_000_500,
      last_scan_ms: 250,
      waiting: 3,
      failed: 1,
      held: ["/notes"]
    })
    const lines = (yield* ask(port, "GET", "/metrics")).text.split("\n")
    assert.includeMembers(lines, [
      'clew_watch_path_present{path="/notes"} 0',
      'clew_watch_path_present{path="/a \\"b\\""} 1',
      "clew_watch_events 0",
      "clew_watch_files_waiting 3",
      "clew_watch_files_failed 1",
      "clew_watch_last_scan_timestamp_seconds 1700000000.5",
      "clew_watch_last_scan_duration_seconds 0.25"
    ])
  })
)

it.scopedLive("answers on an empty index", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    assert.deepStrictEqual((yield* ask(port, "GET", "/health")).json.status, "ok")
    const { store, ...ready } = (yield* ask(port, "GET", "/ready")).json
    assert.deepStrictEqual(ready, {
      status: "ready",
      checks: { store: { status: "ok" }, embedder: { status: "ok" } }
    })
    assert.deepStrictEqual(store, (yield* ask(port, "GET", "/stats")).json.store)
    assert.deepStrictEqual([store.backend, store.capabilities.backup], ["sqlite", true])
    assert.deepInclude((yield* ask(port, "GET", "/stats")).json, { documents: 0, chunks: 0, collections: 0 })
    assert.deepInclude((yield* ask(port, "GET", "/stats?collection=default")).json, { documents: 0, chunks: 0 })
    assert.deepStrictEqual((yield* ask(port, "GET", "/collections")).json, { collections: [] })
    assert.deepStrictEqual((yield* ask(port, "POST", "/query", { body: { query: "x" } })).json.results, [])
    assert.deepStrictEqual((yield* ask(port, "DELETE", "/documents?source=a")).json.deleted_documents, 0)
    assert.strictEqual((yield* ask(port, "GET", "/documents/x")).status, 404)
  })
)

it.scopedLive("indexes a thousand documents in parts, in order", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const many = Array.from({ length: 1000 }, (_, n) => ({ content: `document number ${n}`, doc_id: `d${n}` }))
    const { json } = yield* ask(port, "POST", "/index", { body: { documents: many } })
    assert.strictEqual(json.indexed, 1000)
    assert.deepStrictEqual(
      json.documents.map((it: { doc_id: string }) => it.doc_id),
      many.map(({ doc_id }) => doc_id)
    )
    const over = yield* ask(port, "POST", "/index", { body: { documents: [...many, { content: "one more" }] } })
    assert.strictEqual(over.status, 400)
    assert.deepStrictEqual(over.json.errors, [
      { path: "documents", message: "a batch may have at most 1000 documents (limits.max_batch), got 1001" }
    ])
  })
)

it.scopedLive("skips documents that hold no text, as files are", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const index = (...documents: ReadonlyArray<object>) => ask(port, "POST", "/index", { body: { documents } })
    yield* index({ content: "north", doc_id: "a" })
    const { json, status } = yield* index({ content: " \n", doc_id: "a" }, { content: "south", doc_id: "b" })
    assert.strictEqual(status, 200)
    assert.deepInclude(json, { indexed: 1, unchanged: 0, skipped: 1, chunks: 1 })
    assert.deepInclude(json.documents[0], { doc_id: "a", status: "skipped", chunks: 0 })
    assert.strictEqual((yield* ask(port, "GET", "/documents/a")).status, 404)
    assert.strictEqual((yield* ask(port, "GET", "/stats")).json.documents, 1)
  })
)

it.scopedLive("stores nothing of a batch that contradicts itself", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const many = Array.from({ length: 100 }, (_, n) => ({ content: `document number ${n}`, doc_id: `d${n}` }))
    const twice = yield* ask(port, "POST", "/index", {
      body: { documents: [...many, { content: "again", doc_id: "d0" }] }
    })
    assert.strictEqual(twice.status, 400)
    assert.strictEqual(twice.json._tag, "DocumentConflict")
    assert.deepStrictEqual(twice.json.errors, [
      { path: "documents[100]", message: "is the same document as documents[0]" }
    ])
    assert.strictEqual((yield* ask(port, "GET", "/stats")).json.documents, 0)
  })
)

it.scopedLive("answers with documents whose metadata have the service's names for something else", () =>
  Effect.gen(function* () {
    const own = { page: true, slide: "no", heading: 3, locator: {}, sheet: [1], table_header: null, year: 2020 }
    const bee = { content: "Bees make honey.", metadata: { ...own, title: "Bees" } }
    const { port } = yield* start({ documents: [bee, { content: "Bees.", metadata: { page: 7 } }] })
    const { json, status } = yield* ask(port, "POST", "/query", { body: { query: "honey of bees" } })
    assert.strictEqual(status, 200)
    const [bees, page] = json.results.map((result: any) => result.metadata)
    assert.strictEqual(bees.year, 2020)
    assert.strictEqual(bees.title, "Bees")
    for (const key of ["page", "slide", "heading", "locator", "sheet", "table_header"]) assert.notProperty(bees, key)
    assert.strictEqual(page.page, 7)
  })
)

it.scopedLive("fuses several queries, finds what is new, and what is like a passage, over HTTP", () =>
  Effect.gen(function* () {
    const { port } = yield* filled
    const post = (path: string, body: object) => ask(port, "POST", path, { body })
    const several = yield* post("/query", { query: "maze", queries: ["honey"], hybrid: true })
    const foundBy = new Map(several.json.results.map((it: any) => [it.metadata.source, it.found_by]))
    assert.include(foundBy.get("docs/maze.md") as Array<number>, 0)
    assert.include(foundBy.get("docs/bees.md") as Array<number>, 1)
    const recent = yield* post("/query", { query: "maze", since: "1h" })
    assert.isNotEmpty(recent.json.results)
    const future = yield* post("/query", { query: "maze", since: "2099-01-01", filter: { year: 2020 } })
    assert.isEmpty(future.json.results)
    assert.include(future.json.hint, "no document matches")
    const listed = yield* ask(port, "GET", "/documents?since=1h")
    assert.lengthOf(listed.json.documents, 3)
    assert.isNumber(listed.json.documents[0].indexed_at)
    assert.isEmpty((yield* ask(port, "GET", "/documents?since=2099-01-01")).json.documents)
    const like = yield* post("/similar", { source: "docs/maze.md:3", hybrid: true })
    assert.strictEqual(like.status, 200)
    assert.isNotEmpty(like.json.results)
    assert.notInclude(
      like.json.results.map((it: any) => it.metadata.source),
      "docs/maze.md"
    )
    const text = yield* post("/similar", { text: "bees and honey" })
    assert.strictEqual(text.json.results[0].metadata.source, "docs/bees.md")
    assert.isEmpty((yield* post("/similar", { text: "bees", filter: { source: { not: "*" } } })).json.results)
    for (const [path, body, status, part] of [
      ["/similar", {}, 400, "give one of source, doc_id and text"],
      ["/similar", { text: "x", doc_id: "bees" }, 400, "give one of source, doc_id and text"],
      ["/similar", { text: "x", chunk_index: 1 }, 400, "chunk_index"],
      ["/similar", { source: "nowhere" }, 404, "nowhere"],
      ["/similar", { doc_id: "bees", chunk_index: 9 }, 404, "passages 0 to 0"],
      ["/similar", { doc_id: "bees", query: "x" }, 400, "query"],
      ["/query", { query: "x", since: "tomorrow" }, 400, "since must be a duration like"],
      [
        "/query",
        { query: "x", queries: ["a", "b", "c", "d", "e", "f"] },
        400,
        "queries must have at most 5 items, got 6"
      ],
      ["/query", { query: "x", queries: [""] }, 400, "query must not be empty"],
      ["/query", { query: "x", queries: null }, 400, "queries must be a list of texts, got null"],
      ["/query", { query: "x", queries: "y" }, 400, "queries must be a list of texts, got"],
      ["/query", { query: "x", filter: { indexed_at: { gte: "soon" } } }, 400, "indexed_at must be compared"]
    ] as const) {
      const refused = yield* post(path, body)
      assert.strictEqual(refused.status, status, JSON.stringify(refused.json))
      assert.include(JSON.stringify(refused.json), part)
    }
    const sections = ["Bees", "Maze"].map((title) => `# ${title}\n${`${title} are here. `.repeat(500)}`)
    yield* post("/index", { documents: [{ content: sections.join("\n\n\n"), metadata: { source: "long.md" } }] })
    for (const [line, status] of [
      [2, 200],
      [4, 200],
      [9, 404]
    ] as const) {
      assert.strictEqual((yield* post("/similar", { source: `long.md:${line}` })).status, status, String(line))
    }
  })
)
