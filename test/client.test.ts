import { assert, it, vi } from "@effect/vitest"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import * as Client from "../src/client.ts"
import * as Ollama from "../src/Llm/Ollama.ts"
import { start } from "./http/server.ts"
import { eventually, startOllama } from "./ollama.ts"

const page = readFileSync(new URL("../docs/client.md", import.meta.url), "utf8")
const [promises = "", asking = "", waiting = "", working = "", effects = ""] = [
  ...page.matchAll(/```ts\n([\s\S]*?)```/g)
].map((match) => match[1]!)

/** A page's example as a function of what it imports and of `url`, that gives back some of its names. */
const example = (code: string, names: string): ((scope: object) => Promise<any>) => {
  const body = code.replace(/^import .*$/gm, "")
  // oxlint-disable-next-line no-new-func
  return new Function("scope", `with (scope) { return (async () => { ${body}\nreturn { ${names} } })() }`) as never
}

it.scopedLive("does as docs/client.md says, with promises", () =>
  Effect.gen(function* () {
    const { url } = yield* start({ apiKey: "secret" })
    const logged: Array<unknown> = []
    const console = { log: (...args: ReadonlyArray<unknown>) => logged.push(...args) }
    const run = example(promises, "found, document, clew")
    const { clew, document, found } = yield* Effect.promise(() => run({ ...Client, url, console }))
    assert.strictEqual(found.metadata.source, "bread.md")
    assert.strictEqual(document.metadata.title, "Bread")
    assert.deepStrictEqual(logged, [404, "CollectionNotFound"])
    assert.deepInclude(yield* Effect.promise(() => clew.stats()), { documents: 1 })
  })
)

it.scopedLive("gives an answer as it is written, as docs/client.md says", () =>
  Effect.gen(function* () {
    const { url } = yield* start({ apiKey: "secret" })
    const clew = Client.connect({ url, apiKey: "secret" })
    yield* Effect.promise(() => clew.index({ documents: [{ content: "You bake the bread in an oven." }] }))
    const { answer, sources } = yield* Effect.promise(() =>
      example(`let answer = ""; const sources = []; ${asking}`, "answer, sources")({ clew })
    )
    assert.lengthOf(sources, 1)
    assert.match(answer, /You bake the bread in an oven\..*\[1\]/)

    const verified: Array<Client.AskEvent> = []
    yield* Effect.promise(async () => {
      for await (const event of clew.ask({ query: "bake", verify: true })) verified.push(event)
    })
    assert.strictEqual(verified.at(-1)?.type, "citations")
  })
)

it.scopedLive("tells an answer that was refused, that broke off, and that nobody waits for", () =>
  Effect.gen(function* () {
    const ollama = yield* startOllama(["one ", "two ", "three"])
    const { url } = yield* start({
      llm: Ollama.make({
        url: ollama.url,
        model: "small",
        temperature: 0.2,
        maxTokens: 64,
        contextTokens: 4096,
        timeoutMs: 60_000
      })
    })
    const clew = Client.connect({ url })
    yield* Effect.promise(() => clew.index({ documents: [{ content: "a document" }] }))
    const failureOf = (request: Parameters<typeof clew.ask>[0]) =>
      Effect.promise(async () => {
        try {
          for await (const _ of clew.ask(request)) continue
        } catch (error) {
          return error as Client.Problem
        }
        return undefined
      })
    assert.deepInclude({ ...(yield* failureOf({ query: "a", collection: "nowhere" })) }, { _tag: "CollectionNotFound" })
    assert.include((yield* failureOf({ query: "" }))?.message, "query must not be empty")
    assert.deepInclude({ ...(yield* failureOf({ query: "a", model: "missing" })) }, { _tag: "AnswerFailed" })

    ollama.faults.silent = true
    const { closed } = ollama.state
    yield* Effect.promise(async () => {
      for await (const event of clew.ask({ query: "document" })) {
        assert.strictEqual(event.type, "source")
        await Effect.runPromise(eventually("the model was asked", () => ollama.state.inFlight === 1))
        break
      }
    })
    yield* eventually("the model's connection is closed", () => ollama.state.closed > closed)
  })
)

it.scopedLive("does as docs/client.md says, with Effect", () =>
  Effect.gen(function* () {
    const { url } = yield* start({ apiKey: "secret" })
    const connected = Client.connect({ url, apiKey: "secret" })
    yield* Effect.promise(() => connected.index({ documents: [{ content: "bake the bread" }] }))
    const { program } = yield* Effect.promise(() =>
      example(effects, "program")({ Clew: Client, Effect, FetchHttpClient, url })
    )
    assert.lengthOf(yield* program as Effect.Effect<ReadonlyArray<unknown>>, 1)
  })
)

it.scopedLive("has every operation, and types what goes wrong", () =>
  Effect.gen(function* () {
    const { url } = yield* start()
    const clew = Client.connect({ url })
    const client = yield* Effect.provide(Client.make({ url }), FetchHttpClient.layer)
    const promise = <A>(run: () => Promise<A>) => Effect.promise(run)

    assert.strictEqual((yield* promise(clew.health)).status, "ok")
    assert.strictEqual((yield* promise(() => clew.createCollection("papers"))).name, "papers")
    const documents = [{ content: "a document", doc_id: "a/b c?%", metadata: { source: "s" } }] as const
    assert.strictEqual((yield* promise(() => clew.index({ documents, collection: "papers" }))).indexed, 1)
    assert.strictEqual((yield* promise(() => clew.getDocument("a/b c?%", "papers"))).content, "a document")
    assert.include(
      (yield* promise(() => clew.prompt({ query: "document", collection: "papers" }))).prompt,
      "a document"
    )
    assert.deepStrictEqual(
      (yield* promise(clew.collections)).map(({ documents, name }) => [name, documents]),
      [["papers", 1]]
    )
    const collection = "papers"
    const { passages, total } = yield* promise(() => clew.passages("a/b c?%", { collection, limit: 1 }))
    assert.deepStrictEqual([total, passages.map(({ text }) => text)], [1, ["a document"]])
    const listed = yield* promise(() => clew.listDocuments({ collection, sort: "-passages", source: "S" }))
    assert.lengthOf(listed.documents, 1)
    const { facets } = yield* promise(() => clew.query({ query: "document", collection, facets: ["collection"] }))
    assert.deepStrictEqual(facets, { collection: { values: [{ value: "papers", count: 1 }], others: 0 } })
    const why = yield* promise(() => clew.why({ query: "document", source: "s", alpha: 0.5, filter: { source: "s" } }))
    assert.strictEqual(why.hybrid?.rank, 1)
    const compared = yield* promise(() => clew.compare({ query: "document", a: {}, b: { hybrid: true } }))
    assert.strictEqual(compared.overlap, 1)
    assert.deepStrictEqual((yield* promise(() => clew.suggest({ prefix: "x", limit: 3 }))).suggestions, [])
    assert.isTrue((yield* promise(() => clew.entities({ collection, limit: 3, cursor: "0" }))).complete)
    for (const asked of [
      () => clew.entity("nobody", { collection, hops: 2 }),
      () => clew.entity("no/../body?#", { collection }),
      () => clew.path("nobody", "nothing", collection)
    ]) {
      const { error } = yield* Effect.flip(Effect.tryPromise<unknown>(asked))
      assert.strictEqual((error as Client.Problem)._tag, "EntityNotFound")
    }
    const judgement = { query: "document", source: "s", grade: 2 }
    assert.strictEqual((yield* promise(() => clew.judge({ judgements: [judgement] }))).saved, 1)
    assert.deepInclude((yield* promise(() => clew.judged("document")))[0], judgement)
    assert.strictEqual((yield* promise(() => clew.deleteDocument("a/b c?%", "papers"))).deleted_documents, 1)
    assert.strictEqual((yield* promise(() => clew.dropCollection("papers"))).deleted_documents, 0)
    const ready = yield* client.system.ready({})
    assert.strictEqual(ready.status, "ready")

    const missing = yield* client.documents
      .getDocument({ path: { doc_id: "nope" as never }, urlParams: {} })
      .pipe(Effect.catchTag("DocumentNotFound", (error) => Effect.succeed(error)))
    assert.instanceOf(missing, Client.Problem)
    assert.deepInclude({ ...(missing as Client.Problem) }, { _tag: "DocumentNotFound", status: 404 })

    // What cannot be right is not even sent.
    const wrong = yield* Effect.promise(() =>
      clew.query({ query: "", top_k: 5 }).then(
        () => undefined,
        (error: Error) => error
      )
    )
    assert.include(wrong?.message, "query must not be empty")
  })
)

const failureOf = (run: () => Promise<unknown>): Effect.Effect<Client.Problem> =>
  Effect.promise(() =>
    run().then(
      () => assert.fail("it did not fail"),
      (error) => error
    )
  )

const isProblem = (problem: Client.Problem, expected: { readonly _tag: string; readonly status: number }) => {
  assert.instanceOf(problem, Client.Problem)
  assert.deepStrictEqual({ _tag: problem._tag, status: problem.status }, expected)
}

it.scopedLive("rejects with a problem, whatever goes wrong", () =>
  Effect.gen(function* () {
    const { stop, url } = yield* start()
    const clew = Client.connect({ url })
    const bad = "bad name!"
    for (const [run, path] of [
      [() => clew.query({ query: "x", top_k: 0 }), "top_k"],
      [() => clew.getDocument(""), "doc_id"],
      [() => clew.deleteDocument("x", bad), "collection"],
      [() => clew.deleteSource(""), "source"],
      [() => clew.stats(bad), "collection"],
      [() => clew.createCollection(bad), "name"],
      [() => clew.dropCollection(bad), "name"],
      [() => clew.passages("x", { limit: 0 }), "limit"],
      [() => clew.why({ query: "", source: "s" }), "query"],
      [() => clew.entity("x", { hops: 99 }), "hops"],
      [() => clew.entity(""), "name"],
      [() => clew.entity(".."), "name"],
      [() => clew.entity("\ud800"), "name"],
      [() => clew.begin({ kind: "reindex", collection: ".." }), "collection"],
      [() => clew.follow("..")[Symbol.asyncIterator]().next(), "id"],
      [() => clew.suggest({ prefix: "a", limit: -1 }), "limit"],
      [() => clew.judged(""), "query"],
      [() => clew.job(""), "id"],
      [() => clew.files({ files: [{ name: "a.md", content: undefined as never }] }), "files[0].content"],
      [() => clew.begin({ kind: "files" } as never), "files"],
      [() => clew.ask({ query: "x", temperature: 3 })[Symbol.asyncIterator]().next(), "temperature"]
    ] as const) {
      const problem = yield* failureOf(run)
      isProblem(problem, { _tag: "InvalidRequest", status: 400 })
      assert.deepStrictEqual(
        problem.errors.map((error) => error.path),
        [path]
      )
    }
    yield* stop
    const gone = yield* failureOf(() => clew.query({ query: "x" }))
    isProblem(gone, { _tag: "Unreachable", status: 0 })
    assert.include(gone.message, url)
    isProblem(yield* failureOf(() => clew.ask({ query: "x" })[Symbol.asyncIterator]().next()), {
      _tag: "Unreachable",
      status: 0
    })
  })
)

it.scopedLive("keeps to the path of its address, and tells a proxy's errors from Clew's", () =>
  Effect.gen(function* () {
    const asked: Array<string> = []
    const answer = { status: 404 }
    const proxy = Http.createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`)
      response.writeHead(answer.status, { "content-type": "text/html" }).end("<h1>No</h1>")
    })
    yield* Effect.async<void>((resume) => void proxy.listen(0, "127.0.0.1", () => resume(Effect.void)))
    yield* Effect.addFinalizer(() => Effect.sync(() => proxy.close()))
    const { port } = proxy.address() as AddressInfo
    for (const end of ["", "/"]) {
      const clew = Client.connect({ url: `http://127.0.0.1:${port}/clew${end}` })
      for (const status of [404, 502, 200]) {
        answer.status = status
        const run = [() => clew.query({ query: "x" }), () => clew.getDocument("x"), () => clew.stats()]
        for (const each of run) {
          const problem = yield* failureOf(each)
          assert.strictEqual(problem._tag, "Unreachable")
          if (status !== 200) assert.strictEqual(problem.status, status)
        }
        if (status !== 200) {
          const problem = yield* failureOf(() => clew.ask({ query: "x" })[Symbol.asyncIterator]().next())
          isProblem(problem, { _tag: "Unreachable", status })
        }
      }
    }
    assert.sameMembers(
      [...new Set(asked)],
      ["POST /clew/query", "GET /clew/documents/x", "GET /clew/stats", "POST /clew/ask"]
    )
  })
)

it.scopedLive("waits, gives up and ends early as docs/client.md says", () =>
  Effect.gen(function* () {
    const { url } = yield* start({ apiKey: "secret" })
    const { page, reason } = yield* Effect.promise(() => example(waiting, "page, reason")({ ...Client, url }))
    assert.deepStrictEqual(page, { documents: [] })
    assert.strictEqual(reason, "nobody waits")
  })
)

it.scopedLive("hands long work to the server, and follows it, as docs/client.md says", () =>
  Effect.gen(function* () {
    const { url } = yield* start({ files: true })
    const clew = Client.connect({ url })
    const { job } = yield* Effect.promise(() => example(`let job; ${working}`, "job")({ clew }))
    assert.deepInclude(job, { state: "done", progress: { done: 1, total: 1, unit: "files" } })
    assert.deepInclude(job.result, { indexed: 1 })
    yield* Effect.promise(async () => {
      assert.deepStrictEqual(
        (await clew.jobs()).map(({ id }) => id),
        [job.id]
      )
      assert.deepStrictEqual(await clew.job(job.id), job)
      assert.deepStrictEqual(await clew.cancelJob(job.id), job)
      assert.deepInclude(await clew.files({ files: [{ name: "b.md", content: new Blob(["Bees."]) }], prefix: "in" }), {
        indexed: 1
      })
      assert.deepInclude(await clew.reindex("default"), { changed: false })
      assert.deepInclude(await clew.buildGraph(), { collection: "default" })
      for (const work of [
        { kind: "index", documents: [{ content: "Kestrels hover." }] },
        { kind: "reindex", collection: "default", force: true },
        { kind: "graph" },
        { kind: "import", lines: "no export" }
      ] as const) {
        let last: Client.Job | undefined
        for await (const state of clew.follow((await clew.begin(work)).id)) last = state
        assert.strictEqual(last?.state, work.kind === "import" ? "failed" : "done", work.kind)
      }
      assert.deepInclude(await clew.whoami(), { authenticated: false })
      assert.deepInclude((await clew.report()).stats, { documents: 3 })
      for (const none of ["none", "../documents?source=in/b.md"]) {
        for (const asked of [clew.job(none), clew.cancelJob(none)]) {
          assert.strictEqual((await asked.catch((error) => error))._tag, "JobNotFound")
        }
      }
      assert.deepInclude(await clew.stats(), { documents: 3 })
      const unknown = await clew.begin({ kind: "reindex", collection: "no such" }).catch((error) => error)
      assert.strictEqual(unknown.status, 400)
    })
  })
)

it.scopedLive("sends again what came at a bad time, and says when nobody answers in time", () =>
  Effect.gen(function* () {
    const statuses = [429, 503]
    const silent = new Set<Http.ServerResponse>()
    const server = Http.createServer((request, response) => {
      if (request.url === "/collections") return void silent.add(response)
      assert.notProperty(request.headers, "traceparent")
      const status = statuses.shift() ?? 200
      const body = { type: "about:blank", title: "Busy", status, detail: "busy", _tag: "TooManyRequests" }
      response.writeHead(status, {
        "content-type": status === 200 ? "application/json" : "application/problem+json",
        "retry-after": "0"
      })
      response.end(JSON.stringify(status === 200 ? { status: "ok", version: "1" } : body))
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () => Effect.sync(() => (server.closeAllConnections(), server.close()))
    )
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const health = yield* Effect.promise(() => Client.connect({ url }).health())
    assert.deepStrictEqual(health, { status: "ok", version: "1" })
    statuses.push(429, 429, 429)
    for (const retries of [NaN, -1, 0]) {
      isProblem(yield* failureOf(() => Client.connect({ url, retries }).stats()), {
        _tag: "TooManyRequests",
        status: 429
      })
    }
    const late = yield* Effect.flip(Effect.tryPromise(() => Client.connect({ url, timeoutMs: 50 }).collections()))
    assert.deepInclude(late.error as object, { _tag: "TimedOut", detail: "No answer within 50 ms" })
  })
)

it.scopedLive("tells an answer that was cut short, in whatever words the runtime's fetch says so", () =>
  Effect.gen(function* () {
    const headers = { "content-type": "text/event-stream" }
    const lost = () => new ReadableStream({ pull: (controller) => controller.error(new Error("Network lost")) })
    const fetching = vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response(lost(), { headers }))
    yield* Effect.addFinalizer(() => Effect.sync(() => fetching.mockRestore()))
    const clew = Client.connect({ url: "http://127.0.0.1:8484" })
    for (const run of [clew.health, () => clew.follow("job")[Symbol.asyncIterator]().next()])
      isProblem(yield* failureOf(run), { _tag: "AnswerFailed", status: 200 })
  })
)

it.scopedLive("tells an answer that was cut short, and waits for its beginning as long as it was told", () =>
  Effect.gen(function* () {
    const job = { id: "j", kind: "index", state: "running", created_at: 1, progress: { done: 1, unit: "files" } }
    const event = `event: progress\ndata: ${JSON.stringify(job)}\n\n`
    const server = Http.createServer((request, response) => {
      const asked = request.url!
      if (asked.startsWith("/jobs/") || asked === "/ask") {
        response.writeHead(200, { "content-type": "text/event-stream" })
        if (asked === "/jobs/silent" || asked === "/ask") return response.flushHeaders()
        response.write(event, () => (asked === "/jobs/ends" ? response.end() : response.destroy()))
        return
      }
      response.writeHead(200, { "content-type": "application/json", "content-length": 100 })
      response.write("{", () => response.destroy())
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () => Effect.sync(() => (server.closeAllConnections(), server.close()))
    )
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const [clew, hasty] = [Client.connect({ url }), Client.connect({ url, timeoutMs: 300 })]
    const followed = (id: string) => async () => {
      for await (const state of (id === "silent" ? hasty : clew).follow(id)) assert.strictEqual(state.id, "j")
    }
    for (const run of [clew.health, followed("ends"), followed("breaks")]) {
      isProblem(yield* failureOf(run), { _tag: "AnswerFailed", status: 200 })
    }
    for (const run of [followed("silent"), () => hasty.ask({ query: "x" })[Symbol.asyncIterator]().next()]) {
      isProblem(yield* failureOf(run), { _tag: "TimedOut", status: 0 })
    }
  })
)
