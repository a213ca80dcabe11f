import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { type Answer, ask, start } from "./server.ts"

const indexed = Effect.gen(function* () {
  const documents = Array.from({ length: 25 }, (_, n) => ({
    content: `tide number ${n}`,
    metadata: { source: `docs/${String(n).padStart(2, "0")}.md`, title: `T${n}`, even: n % 2 === 0 }
  }))
  return (yield* start({ documents })).port
})

const sources = ({ json }: Answer): ReadonlyArray<string> =>
  json.documents.map(({ source }: { source: string }) => source)

it.scopedLive("lists documents page by page", () =>
  Effect.gen(function* () {
    const port = yield* indexed
    const seen: Array<string> = []
    let cursor = ""
    for (let pages = 1; ; pages++) {
      const page = yield* ask(port, "GET", `/documents?limit=10${cursor}`)
      assert.strictEqual(page.status, 200, page.text)
      seen.push(...sources(page))
      if (page.json.next_cursor === undefined) {
        assert.strictEqual(pages, 3)
        break
      }
      cursor = `&cursor=${encodeURIComponent(page.json.next_cursor)}`
    }
    assert.deepStrictEqual(
      seen,
      Array.from({ length: 25 }, (_, n) => `docs/${String(n).padStart(2, "0")}.md`)
    )
    const filtered = yield* ask(port, "GET", `/documents?filter=${encodeURIComponent('{"even":false}')}`)
    assert.lengthOf(sources(filtered), 12)
    // One deletes what one has listed, and goes on.
    const begun = yield* ask(port, "GET", "/documents?limit=10")
    yield* ask(port, "DELETE", "/documents?source=docs%2F09.md")
    const next = yield* ask(port, "GET", `/documents?limit=2&cursor=${begun.json.next_cursor}`)
    assert.deepStrictEqual(sources(next), ["docs/10.md", "docs/11.md"])
    assert.deepInclude(filtered.json.documents[0], { source: "docs/01.md", title: "T1", chunks: 1 })
    for (const wrong of [
      "limit=0",
      "limit=x",
      "limit=0x10",
      "limit=%205",
      "limit=1001",
      "cursor=nope",
      "filter=x",
      'filter={"a":{"in":1}}'
    ]) {
      const answer = yield* ask(port, "GET", `/documents?${encodeURI(wrong)}`)
      assert.strictEqual(answer.status, 400, wrong)
      assert.include(answer.json.errors[0].path, wrong.split("=")[0])
    }
    assert.strictEqual((yield* ask(port, "GET", "/documents?collection=nope")).status, 404)
  })
)

it.scopedLive("lists nothing where nothing was indexed", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    assert.deepStrictEqual((yield* ask(port, "GET", "/documents")).json, { documents: [] })
  })
)

it.scopedLive("deletes what a filter matches, and never all by an empty one", () =>
  Effect.gen(function* () {
    const port = yield* indexed
    const remove = (body: object) => ask(port, "DELETE", "/documents", { body })
    const every = [{}, { and: [{}] }, { or: [{ even: true }, {}] }, { and: [{ or: [{}] }] }, { source: { not: [] } }]
    for (const filter of every) {
      assert.strictEqual((yield* remove({ filter })).status, 400, JSON.stringify(filter))
      const listed = yield* ask(port, "GET", `/documents?filter=${encodeURIComponent(JSON.stringify(filter))}`)
      assert.lengthOf(sources(listed), 25, JSON.stringify(filter))
    }
    assert.strictEqual((yield* remove({ filter: { even: true }, source: "x" })).status, 400)
    assert.strictEqual((yield* remove({})).status, 400)
    const some = yield* remove({ filter: { even: true, source: { not: "docs/00.md" } } })
    assert.deepStrictEqual(some.json, { deleted_documents: 12, deleted_chunks: 12 })
    assert.lengthOf(sources(yield* ask(port, "GET", "/documents")), 13)
    assert.strictEqual((yield* remove({ filter: { nobody: 1 } })).json.deleted_documents, 0)
  })
)

it.scopedLive("keeps what has the key, whatever JSON it has, when it deletes what has it not", () =>
  Effect.gen(function* () {
    const values: ReadonlyArray<unknown> = ["x", "", 0, false, null, { name: "Ada" }, {}, ["x"], [], [{ a: 1 }], [null]]
    const documents = [
      ...values.map((author, n) => ({ content: `tide ${n}`, metadata: { source: JSON.stringify(author), author } })),
      { content: "tide without", metadata: { source: "none" } }
    ]
    const { port } = yield* start({ documents })
    const filter = { author: { exists: false } }
    const { json } = yield* ask(port, "DELETE", "/documents", { body: { filter } })
    assert.strictEqual(json.deleted_documents, 1)
    const left = sources(yield* ask(port, "GET", "/documents"))
    assert.deepStrictEqual([...left].sort(), values.map((value) => JSON.stringify(value)).sort())
    // What only objects have is not denied.
    yield* ask(port, "POST", "/index", {
      body: { documents: [{ content: "lunar tide", metadata: { source: "moon", moon: { phase: "new" } } }] }
    })
    const empty = yield* ask(port, "POST", "/query", {
      body: { query: "tide", filter: { moon: "new", author: "nobody" } }
    })
    assert.deepStrictEqual(empty.json.results, [])
    assert.notInclude(empty.json.hint ?? "", "no document has the metadata key")
  })
)

it.scopedLive("goes on where the page before of a question ended", () =>
  Effect.gen(function* () {
    const port = yield* indexed
    const found = (body: object) =>
      Effect.map(ask(port, "POST", "/query", { body: { query: "tide number", hybrid: true, ...body } }), ({ json }) =>
        json.results.map(({ metadata }: { metadata: { source: string } }) => metadata.source)
      )
    const all = yield* found({ top_k: 25 })
    assert.lengthOf(all, 25)
    assert.deepStrictEqual(yield* found({ top_k: 10, offset: 10 }), all.slice(10, 20))
    assert.deepStrictEqual(yield* found({ top_k: 10, offset: 20 }), all.slice(20))
    assert.deepStrictEqual(yield* found({ top_k: 10, offset: 100 }), [])
    assert.strictEqual((yield* ask(port, "POST", "/query", { body: { query: "x", offset: 101 } })).status, 400)
  })
)

it.scopedLive("sixteen batches are indexed or wait for it; the next is told when to come again, and a job waits", () =>
  Effect.gen(function* () {
    const writing = yield* Deferred.make<void>()
    const { url } = yield* start({ writing })
    const index = (n: number, headers = {}) =>
      fetch(`${url}/index`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ documents: [{ content: `batch ${n}`, doc_id: `${n}` }] })
      })
    const all = Array.from({ length: 17 }, (_, n) => index(n))
    const refused = yield* Effect.promise(() => Promise.race(all))
    assert.strictEqual(refused.status, 503)
    assert.strictEqual(refused.headers.get("retry-after"), "5")
    assert.include(yield* Effect.promise(() => refused.text()), "IndexingBusy")
    const job = yield* Effect.promise(() => index(18, { prefer: "respond-async" }))
    const events = yield* Effect.promise(() =>
      fetch(`${url}${job.headers.get("location")}`, { headers: { accept: "text/event-stream" } })
    )
    yield* Deferred.succeed(writing, undefined)
    assert.include(yield* Effect.promise(() => events.text()), '"state":"done"')
    const statuses = (yield* Effect.promise(() => Promise.all(all))).map(({ status }) => status)
    assert.lengthOf(
      statuses.filter((status) => status === 200),
      16
    )
    assert.strictEqual((yield* Effect.promise(() => index(17))).status, 200)
  })
)

it.scopedLive("sorts by figures, page by page, and finds sources by a part of them", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const documents = Array.from({ length: 23 }, (_, n) => ({
      content: Array.from({ length: 1 + (n % 3) }, (_, at) => `# Part ${at}\n\n${`tide ${n} `.repeat(150)}`).join(
        "\n\n"
      ),
      metadata: { source: `Docs/${String(n).padStart(2, "0")}.md`, even: n % 2 === 0 }
    }))
    for (const from of [12, 0]) {
      yield* ask(port, "POST", "/index", { body: { documents: documents.slice(from, from + 12) } })
    }
    const all = Effect.fnUntraced(function* (query: string) {
      const seen: Array<{ source: string; chunks: number; indexed_at: number }> = []
      for (let cursor = ""; ;) {
        const page = yield* ask(port, "GET", `/documents?limit=4&${query}${cursor}`)
        assert.strictEqual(page.status, 200, page.text)
        assert.isAtMost(page.json.documents.length, 4)
        seen.push(...page.json.documents)
        if (page.json.next_cursor === undefined) return seen
        cursor = `&cursor=${encodeURIComponent(page.json.next_cursor)}`
      }
    })
    const sorted = yield* all("sort=source")
    assert.lengthOf(sorted, 23)
    for (const [by, figure] of [
      ["passages", "chunks"],
      ["indexed_at", "indexed_at"]
    ] as const) {
      for (const filter of ["", `&filter=${encodeURIComponent('{"even":true}')}`]) {
        const rising = yield* all(`sort=${by}${filter}`)
        assert.lengthOf(rising, filter === "" ? 23 : 12)
        assert.strictEqual(new Set(rising.map(({ source }) => source)).size, rising.length)
        const figures = rising.map((one) => one[figure])
        assert.deepStrictEqual(
          figures,
          figures.toSorted((a, b) => a - b)
        )
        assert.deepStrictEqual(yield* all(`sort=-${by}${filter}`), rising.toReversed())
      }
    }
    assert.deepStrictEqual(yield* all("sort=-source"), sorted.toReversed())
    const found = yield* all("source=oCS%2F1&sort=-source")
    assert.deepStrictEqual(
      found.map(({ source }) => source),
      Array.from({ length: 10 }, (_, n) => `Docs/${19 - n}.md`)
    )
    assert.deepStrictEqual(yield* all("source=nowhere"), [])
    const { json } = yield* ask(port, "GET", "/documents?limit=4&sort=passages")
    const wrong = yield* ask(port, "GET", `/documents?cursor=${json.next_cursor}`)
    assert.strictEqual(wrong.status, 400)
    assert.include(wrong.json.detail, "another sort")
    assert.strictEqual((yield* ask(port, "GET", "/documents?sort=size")).status, 400)
  })
)

it.scopedLive("shows a document's passages as they were cut", () =>
  Effect.gen(function* () {
    const content = Array.from({ length: 5 }, (_, n) => `# Part ${n}\n\n${`tide ${n} `.repeat(150)}`).join("\n\n")
    const { port } = yield* start({
      documents: [{ content, doc_id: "a/b", metadata: { source: "tides.md", title: "Tides" } }]
    })
    const whole = yield* ask(port, "GET", "/documents/a%2Fb/passages")
    assert.strictEqual(whole.status, 200, whole.text)
    const { passages, ...head } = whole.json
    assert.deepStrictEqual(head, { doc_id: "a/b", source: "tides.md", title: "Tides", total: passages.length })
    assert.isAbove(passages.length, 3)
    for (const [at, { chunk_index, end, heading, start, text }] of passages.entries()) {
      assert.strictEqual(chunk_index, at)
      assert.strictEqual(content.slice(start, end), text)
      assert.match(heading, /^Part \d$/)
    }
    const page = yield* ask(port, "GET", "/documents/a%2Fb/passages?offset=1&limit=2")
    assert.deepStrictEqual(page.json, { ...head, passages: passages.slice(1, 3) })
    assert.deepStrictEqual((yield* ask(port, "GET", "/documents/a%2Fb/passages?offset=99")).json.passages, [])
    assert.strictEqual((yield* ask(port, "GET", "/documents/a%2Fb/passages?limit=201")).status, 400)
    assert.strictEqual((yield* ask(port, "GET", "/documents/nope/passages")).json._tag, "DocumentNotFound")
    assert.strictEqual((yield* ask(port, "GET", "/documents/a%2Fb/passages?collection=nope")).status, 404)
  })
)
