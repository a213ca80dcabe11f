import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { createHash } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConfigError } from "../../src/Config/Problems.ts"
import type { Right, ServerKey } from "../../src/model/Key.ts"
import { CollectionName } from "../../src/model/Collection.ts"
import { secondEra } from "../mcp/client.ts"
import { ask, type Ask, type Given, type Line, open, over, start } from "./server.ts"

const hashOf = (key: string) => `sha256:${createHash("sha256").update(key).digest("hex")}`

const key = (
  name: string,
  rights: readonly [Right, ...ReadonlyArray<Right>],
  collections?: readonly [string, ...ReadonlyArray<string>]
): ServerKey => ({
  name,
  hash: hashOf(`key of ${name}`),
  rights,
  ...(collections && {
    collections: collections.map((each) => CollectionName.make(each)) as unknown as readonly [CollectionName]
  })
})

const keys = [
  key("reader", ["read"]),
  key("writer", ["write"]),
  key("editor", ["read", "write"]),
  key("ops", ["read", "admin"]),
  key("docs", ["read", "write"], ["docs"]),
  key("docs-admin", ["read", "write", "admin"], ["docs"])
]

const rpc = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params })

const by = (name: string) => ({ headers: { authorization: `Bearer key of ${name}` } })

/** A stream of MCP that tells when the statistics change. */
const listen = (port: number, name: string) =>
  fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    body: JSON.stringify(
      rpc("subscriptions/listen", {
        _meta: secondEra,
        notifications: { resourceSubscriptions: ["service://index/stats"] }
      })
    ),
    headers: {
      ...by(name).headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "subscriptions/listen"
    }
  })

const given: Given = { apiKey: "the whole key", settings: { server: { keys } } }

const whole = { authorization: "Bearer the whole key" }

const filled = Effect.fnUntraced(function* (more: Given = {}) {
  const running = yield* start({ ...given, ...more })
  for (const [collection, content, source] of [
    ["default", "Bees make honey in hives.", "bees.md"],
    ["docs", "Kestrels hover over fields of honey.", "kestrels.md"],
    ["secret", "The honey is buried under the oak.", "oak.md"]
  ]) {
    const treasure = collection === "secret" ? { treasure: true } : {}
    const body = { documents: [{ content, metadata: { source, ...treasure } }], collection }
    assert.strictEqual((yield* ask(running.port, "POST", "/index", { body, headers: whole })).status, 200)
  }
  return running
})

const documents = [{ content: "A new one.", metadata: { source: "new.md" } }]

const routes: ReadonlyArray<readonly [method: string, path: string, right: Right, body?: object]> = [
  ["GET", "/collections", "read"],
  ["GET", "/stats", "read"],
  ["GET", "/metrics", "read"],
  ["GET", "/documents", "read"],
  ["POST", "/query", "read", { query: "honey" }],
  ["POST", "/prompt", "read", { query: "honey" }],
  ["POST", "/ask", "read", { query: "honey" }],
  ["POST", "/v1/chat/completions", "read", { messages: [{ role: "user", content: "honey?" }] }],
  ["GET", "/graph/entities", "read"],
  ["GET", "/jobs", "read"],
  ["GET", "/ws", "read"],
  ["POST", "/mcp", "read", {}],
  ["POST", "/index", "write", { documents }],
  ["POST", "/files", "write"],
  ["DELETE", "/documents?source=none", "write"],
  ["DELETE", "/jobs/none", "write"],
  ["POST", "/collections", "write", { name: "made" }],
  ["POST", "/graph/build", "write"],
  ["POST", "/import", "admin"],
  ["POST", "/collections/default/reindex", "admin"],
  ["DELETE", "/collections/none", "admin"],
  ["GET", "/health/report", "admin"]
]

it.scopedLive("lets each key do what it has the right to, and says what is missing", () =>
  Effect.gen(function* () {
    const { port } = yield* filled()
    for (const { name, rights } of keys.filter(({ collections }) => collections === undefined)) {
      for (const [method, path, right, body] of routes) {
        const { json, status } = yield* ask(port, method, path, { ...by(name), ...(body && { body }) })
        const what = `${name}: ${method} ${path}`
        if (rights.includes(right)) assert.notInclude([401, 403], status, what)
        else {
          assert.strictEqual(status, 403, what)
          const said: string = json.detail ?? json.error.message
          assert.include(said, `The key ${name} lacks the right ${right}`, what)
        }
      }
    }
    for (const token of ["key of nobody", "the whole kez"]) {
      const { status } = yield* ask(port, "GET", "/stats", { headers: { authorization: `Bearer ${token}` } })
      assert.strictEqual(status, 401)
    }
  })
)

it.scopedLive("names nothing to a key that may only write", () =>
  Effect.gen(function* () {
    const { port } = yield* filled()
    for (const filter of [{ nokey: 1 }, { source: "oak.m" }]) {
      const body = { filter, collection: "secret" }
      const answers = yield* Effect.forEach(["writer", "editor"], (name) =>
        ask(port, "DELETE", "/documents", { ...by(name), body })
      )
      const [blind, told] = answers.map(({ text }) => text)
      assert.notMatch(blind!, /source|oak/)
      assert.match(told!, /source|oak/)
    }
  })
)

it.scopedLive("shows a key its collections alone, at every door", () =>
  Effect.gen(function* () {
    const { port } = yield* filled()
    const get = (path: string) => ask(port, "GET", path, by("docs"))
    const post = (path: string, body: object) => ask(port, "POST", path, { ...by("docs"), body })
    const sourcesOf = ({ json }: { readonly json: any }) =>
      json.results.map(({ metadata }: { metadata: { source: string } }) => metadata.source)

    assert.deepStrictEqual(sourcesOf(yield* post("/query", { query: "honey", hybrid: true })), ["kestrels.md"])
    assert.deepStrictEqual(sourcesOf(yield* post("/query", { query: "honey", collection: "docs" })), ["kestrels.md"])
    assert.deepStrictEqual(
      (yield* get("/collections")).json.collections.map(({ name }: { name: string }) => name),
      ["docs"]
    )
    assert.include((yield* get("/stats")).json, { documents: 1, collections: 1, chunks: 1 })
    assert.include((yield* get("/stats?collection=docs")).json, { documents: 1, collections: 1, chunks: 1 })
    assert.deepStrictEqual((yield* get("/documents?collection=docs")).json.documents.length, 1)
    const prompt = yield* post("/prompt", { query: "honey" })
    assert.deepStrictEqual(prompt.json.sources, ["kestrels.md"])
    const answer = yield* post("/ask", { query: "where is the honey buried?" })
    assert.notInclude(answer.text, "oak")
    const chat = yield* post("/v1/chat/completions", { messages: [{ role: "user", content: "honey?" }] })
    assert.notInclude(chat.text, "oak")
    assert.notInclude(chat.text, "hives")

    for (const answer of [
      yield* post("/query", { query: "honey", collection: "secret" }),
      yield* post("/index", { documents, collection: "secret" }),
      yield* post("/index", { documents }),
      yield* post("/collections", { name: "made" }),
      yield* post("/graph/build", { collection: "secret" }),
      yield* post("/graph/build", {}),
      yield* get("/documents?collection=secret"),
      yield* get("/documents"),
      yield* get("/documents/x?collection=secret"),
      yield* get("/stats?collection=secret"),
      yield* get("/graph/entities"),
      yield* get("/graph/entities?collection=secret"),
      yield* ask(port, "DELETE", "/documents?source=oak.md&collection=secret", by("docs")),
      yield* ask(port, "DELETE", "/collections/secret", by("docs-admin")),
      yield* ask(port, "POST", "/collections/secret/reindex", by("docs-admin"))
    ]) {
      assert.deepInclude(answer.json, { status: 403, _tag: "NotPermitted" }, answer.text)
      assert.match(answer.json.detail, /may not use collection (secret|default|made|docs), only docs/)
    }
    for (const path of ["/metrics", "/judgements?query=x", "/health/report"]) {
      const { json } = yield* ask(port, "GET", path, by("docs-admin"))
      assert.match(json.detail, /needs a key for all collections/, path)
    }
    // Nor which metadata others have.
    for (const key of ["treasure", "nothing"]) {
      const { json } = yield* post("/query", { query: "honey", filter: { [key]: true } })
      assert.include(json.hint, `no document has the metadata key "${key}"`)
      assert.notProperty((yield* post("/query", { query: `${key}:true honey` })).json, "read_as")
    }
    assert.strictEqual((yield* post("/query", { query: "or:other honey" })).status, 200)
    const everything = yield* ask(port, "POST", "/query", { headers: whole, body: { query: "honey", hybrid: true } })
    assert.strictEqual(everything.json.results.length, 3)
  })
)

it.scopedLive("shows a key its collections alone over a WebSocket", () =>
  Effect.gen(function* () {
    const { port } = yield* filled()
    const found = yield* over(port, { type: "search", query: "honey", hybrid: true }, by("docs").headers)
    assert.deepStrictEqual(
      found.filter(({ type }) => type === "result").map(({ result }) => result.metadata.source),
      ["kestrels.md"]
    )
    const refused = yield* over(port, { type: "search", query: "honey", collection: "secret" }, by("docs").headers)
    assert.strictEqual(refused.at(-1).error._tag, "NotPermitted")
  })
)

it.scopedLive("ends sessions of MCP of the key that has most, and of no other", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ settings: { server: { keys } }, mcp: { mostSessions: 4 } })
    const headersOf = (name: string) => ({ ...by(name).headers, accept: "application/json, text/event-stream" })
    const initialize = rpc("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "test", version: "1" }
    })
    const begin = (name: string) =>
      Effect.map(ask(port, "POST", "/mcp", { headers: headersOf(name), body: initialize }), ({ headers }) => ({
        ...headersOf(name),
        "mcp-session-id": String(headers["mcp-session-id"])
      }))
    const ping = (headers: Record<string, string>) =>
      Effect.map(ask(port, "POST", "/mcp", { headers, body: rpc("ping", {}) }), ({ status }) => status)
    const first = yield* begin("editor")
    const readers = yield* Effect.forEach(["reader", "reader", "reader", "reader"], begin)
    const second = yield* begin("editor")
    const all = [first, second, ...readers]
    assert.deepStrictEqual(yield* Effect.forEach(all, ping), [200, 200, 404, 404, 200, 200])
  })
)

it.scopedLive("shows a key its collections and its tools alone over MCP", () =>
  Effect.gen(function* () {
    const { port } = yield* filled()
    const headersOf = (name: string) => ({
      ...by(name).headers,
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-06-18"
    })
    const dataOf = (text: string) => JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)
    const session = Effect.fnUntraced(function* (name: string) {
      const headers = headersOf(name)
      const hello = yield* ask(port, "POST", "/mcp", {
        headers,
        body: {
          jsonrpc: "2.0",
          id: 0,
          method: "initialize",
          params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } }
        }
      })
      const id = String(hello.headers["mcp-session-id"])
      const call = (method: string, params: object, as = headers) =>
        Effect.map(
          ask(port, "POST", "/mcp", {
            headers: { ...as, "mcp-session-id": id },
            body: { jsonrpc: "2.0", id: 1, method, params }
          }),
          ({ status, text }) => ({ status, ...dataOf(text) })
        )
      return { hello: dataOf(hello.text), call }
    })
    const docs = yield* session("docs")
    assert.notInclude(JSON.stringify(docs.hello), "secret")
    const found = yield* docs.call("tools/call", { name: "search", arguments: { query: "honey" } })
    const text = JSON.stringify(found)
    assert.include(text, "kestrels.md")
    assert.notInclude(text, "oak.md")
    assert.notInclude(text, "bees.md")
    const secret = yield* docs.call("tools/call", {
      name: "search",
      arguments: { query: "honey", collection: "secret" }
    })
    assert.match(JSON.stringify(secret), /may not use collection secret/)
    const first = yield* docs.call("tools/call", {
      name: "search",
      arguments: { query: "honey", collection: "default" }
    })
    assert.match(JSON.stringify(first), /may not use collection default/)
    const read = yield* docs.call("tools/call", { name: "get_document", arguments: { source: "kestrels.md" } })
    assert.include(JSON.stringify(read), "Kestrels hover")
    const body = { documents: Array.from({ length: 25 }, (_, n) => ({ content: `One of the others, ${n}.` })) }
    assert.strictEqual((yield* ask(port, "POST", "/index", { body, headers: whole })).status, 200)
    // What others write is not told.
    const answer = yield* Effect.promise(() => listen(port, "docs"))
    const listening = yield* Effect.fork(
      Effect.promise(async () => {
        let heard = ""
        for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
          heard += part
          if (heard.includes("resources/updated")) break
        }
      })
    )
    yield* Effect.sleep("300 millis")
    for (const [collection, told] of [
      ["secret", false],
      ["docs", true]
    ] as const) {
      const body = { documents: [{ content: `Another one of ${collection}.` }], collection }
      assert.strictEqual((yield* ask(port, "POST", "/index", { body, headers: whole })).status, 200)
      if (told) yield* Fiber.join(listening)
      else yield* Effect.sleep("1300 millis")
      assert.strictEqual(Option.isSome(yield* Fiber.poll(listening)), told, collection)
    }
    const newest = JSON.stringify(yield* docs.call("resources/list", {}))
    assert.include(newest, "kestrels.md")
    assert.notInclude(newest, "oak.md")
    const info = yield* docs.call("tools/call", { name: "collection_info", arguments: {} })
    assert.notInclude(JSON.stringify(info), "secret")

    const reader = yield* session("reader")
    const listed = yield* reader.call("tools/list", {})
    const tools = listed.result.tools.map(({ name }: { name: string }) => name)
    assert.include(tools, "search")
    assert.notInclude(tools, "index_documents")
    const { error } = yield* reader.call("tools/call", { name: "index_documents", arguments: { documents } })
    assert.deepStrictEqual(error, {
      code: -32600,
      message: "The key reader lacks the right write that this needs; it has read"
    })
    const stolen = yield* docs.call("tools/list", {}, headersOf("reader"))
    assert.strictEqual(stolen.status, 404)
    const more = yield* docs.call("tools/list", {})
    assert.include(JSON.stringify(more), "index_documents")
  })
)

it.scopedLive("shows jobs to those who may see their collection, and lets others' be cancelled by admins", () =>
  Effect.gen(function* () {
    const { port } = yield* filled()
    const begin = (name: string, collection: string) =>
      ask(port, "POST", "/index", {
        headers: { ...by(name).headers, prefer: "respond-async" },
        body: { documents, collection }
      })
    const ofEditor = yield* begin("editor", "secret")
    const ofDocs = yield* begin("docs", "docs")
    const seen = (name: string) =>
      Effect.map(ask(port, "GET", "/jobs", by(name)), ({ json }) => json.jobs.map(({ by }: { by: string }) => by))
    assert.deepStrictEqual(yield* seen("docs"), ["docs"])
    assert.deepStrictEqual(yield* seen("reader"), ["docs", "editor"])
    const path = (job: typeof ofEditor) => String(job.headers["location"])
    assert.strictEqual((yield* ask(port, "GET", path(ofEditor), by("docs"))).status, 404)
    assert.strictEqual((yield* ask(port, "DELETE", path(ofDocs), by("editor"))).status, 403)
    assert.strictEqual((yield* ask(port, "DELETE", path(ofDocs), by("docs-admin"))).status, 200)
    assert.strictEqual((yield* ask(port, "DELETE", path(ofEditor), by("editor"))).status, 200)
  })
)

it.scopedLive("says who asks, and what they may do", () =>
  Effect.gen(function* () {
    const { port } = yield* filled()
    const who = (asked: Ask) => Effect.map(ask(port, "GET", "/whoami", asked), ({ json }) => json)
    assert.deepStrictEqual(yield* who(by("docs")), {
      name: "docs",
      rights: ["read", "write"],
      collections: ["docs"],
      authenticated: true,
      read_only: false
    })
    const all = { rights: ["read", "write", "admin"], read_only: false }
    assert.deepStrictEqual(yield* who({ headers: whole }), { ...all, authenticated: true })
    assert.deepStrictEqual(yield* who({}), { rights: [], authenticated: false, read_only: false })
    assert.deepInclude(yield* who(by("nobody")), { status: 401, _tag: "Unauthorized" })
    const open = yield* start({ settings: { server: { read_only: true } } })
    assert.deepStrictEqual((yield* ask(open.port, "GET", "/whoami")).json, {
      ...all,
      authenticated: false,
      read_only: true
    })
  })
)

it.scopedLive("writes down who wrote what, and never a key", () =>
  Effect.gen(function* () {
    const log: Array<Line> = []
    const { port } = yield* filled({ log, settings: { server: { keys }, log: { format: "json" } } })
    const body = { documents: [...documents, { content: "Another.", metadata: { source: "b.md" } }] }
    yield* ask(port, "POST", "/index", { ...by("editor"), body })
    yield* ask(port, "DELETE", "/documents?source=new.md", by("editor"))
    yield* ask(port, "DELETE", "/collections/secret", by("ops"))
    yield* ask(port, "POST", "/index", { ...by("reader"), body })
    const written = log.filter(({ message }) => message === "write").map(({ annotations }) => annotations)
    const mine = written.filter(({ key }) => key !== "SERVICE_API_KEY")
    assert.strictEqual(written.length, 3 + 3)
    assert.deepInclude(mine[0], {
      key: "editor",
      action: "index",
      collection: "default",
      outcome: "done",
      indexed: 2,
      chunks: 2
    })
    assert.deepInclude(mine[1], { key: "editor", action: "delete", documents: 1 } as object)
    assert.deepInclude(mine[2], { key: "ops", action: "drop collection", collection: "secret" })
    assert.isString(mine[0]!["request_id"])
    const all = JSON.stringify(log)
    for (const { hash, name } of keys) {
      assert.notInclude(all, `key of ${name}`)
      assert.notInclude(all, hash)
    }
    assert.notInclude(all, "the whole key")
  })
)

it.scopedLive("reads its keys again when their file has changed", () =>
  Effect.gen(function* () {
    const folder = mkdtempSync(join(tmpdir(), "clew-keys-"))
    yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true })))
    const path = join(folder, "clew.toml")
    writeFileSync(path, "one")
    let now: ReadonlyArray<ServerKey> | undefined = [key("old", ["read", "write"])]
    let ms = Date.now()
    const real = Clock.make()
    const clock: Clock.Clock = {
      ...real,
      unsafeCurrentTimeMillis: () => ms,
      currentTimeMillis: Effect.sync(() => ms),
      // The time between two looks at the key of an open stream.
      sleep: (duration) => real.sleep(Duration.toMillis(duration) === 5000 ? Duration.millis(50) : duration),
      unsafeCurrentTimeNanos: () => real.unsafeCurrentTimeNanos(),
      currentTimeNanos: real.currentTimeNanos
    }
    const log: Array<Line> = []
    const { port } = yield* start({
      settings: { server: { keys: now } },
      log,
      clock,
      writing: yield* Deferred.make<void>(),
      keysFile: {
        path,
        read: Effect.suspend(() =>
          now === undefined ? new ConfigError({ problems: [{ where: path, detail: "is wrong" }] }) : Effect.succeed(now)
        )
      }
    })
    const status = (name: string) => Effect.map(ask(port, "GET", "/stats", by(name)), ({ status }) => status)
    const change = (text: string, next: typeof now) => {
      now = next
      writeFileSync(path, text)
      ms += 1500
    }
    assert.deepStrictEqual(yield* Effect.all([status("old"), status("new")]), [200, 401])
    const stream = yield* Effect.promise(() => listen(port, "old"))
    assert.strictEqual(stream.status, 200)
    const job = yield* ask(port, "POST", "/index", {
      body: { documents: [{ content: "Bees make honey.", metadata: { source: "bees.md" } }] },
      headers: { ...by("old").headers, prefer: "respond-async" }
    })
    const { headers } = by("old")
    const accept = "text/event-stream"
    const progress = yield* Effect.promise(() =>
      fetch(`http://127.0.0.1:${port}/jobs/${job.json.id}`, { headers: { ...headers, accept } })
    )
    const ended = yield* Effect.fork(Effect.promise(() => Promise.all([stream.text(), progress.text()])))
    const socket = yield* open(port, by("old"))
    socket.send({ type: "ping" })
    assert.strictEqual((yield* socket.take).type, "pong")
    yield* Effect.sleep("300 millis")
    assert.isTrue(Option.isNone(yield* Fiber.poll(ended)))
    change("second", [key("new", ["read"])])
    const [, events] = yield* Fiber.join(ended)
    assert.notInclude(events, "event: done")
    socket.send({ type: "search", id: 7, query: "honey" })
    assert.deepInclude(yield* socket.take, { type: "error", id: 7 })
    assert.deepStrictEqual(yield* Effect.all([status("old"), status("new")]), [401, 200])
    change("broken now", undefined)
    assert.deepStrictEqual(yield* Effect.all([status("old"), status("new")]), [401, 200])
    assert.isTrue(log.some(({ message }) => message.includes("The keys before count")))
    // Without any key, nobody is let in: an emptied file opens no door.
    change("none", [])
    assert.deepStrictEqual(yield* Effect.all([status("old"), status("new")]), [401, 401])
    assert.strictEqual((yield* ask(port, "GET", "/stats")).status, 401)
  })
)

it.scopedLive("tells how the server is, for those who look after it", () =>
  Effect.gen(function* () {
    const { port } = yield* filled({ watch: { paths: ["/notes"], state: "events", waiting: 0, failed: 2, held: [] } })
    yield* ask(port, "POST", "/query", { headers: whole, body: { query: "honey", hybrid: true } })
    yield* ask(port, "POST", "/graph/build", { headers: { ...by("editor").headers, prefer: "respond-async" } })
    const { json, status } = yield* ask(port, "GET", "/health/report", by("ops"))
    assert.strictEqual(status, 200, JSON.stringify(json))
    assert.include(json.stats, { documents: 3, collections: 3 })
    assert.deepInclude(json.watched[0], { paths: ["/notes"], failed: 2 })
    assert.strictEqual(json.jobs[0].kind, "graph")
    assert.isString(json.llm.backend)
    assert.isArray(json.slow)
    for (const { count, p50_ms, p95_ms, stage } of json.stages) {
      assert.include(["embed", "rank", "vector", "keyword", "fuse"], stage)
      assert.isTrue(count > 0 && p50_ms <= p95_ms)
    }
    assert.isTrue(json.stages.some(({ stage }: { stage: string }) => stage === "rank"))
    const namesOf = (wanted: string) =>
      json.checks
        .filter(({ status }: { status: string }) => status === wanted)
        .map(({ name }: { name: string }) => name)
    assert.sameMembers(namesOf("ok"), ["store", "embedder"])
    assert.deepStrictEqual(namesOf("warn"), ["watch"])
    assert.strictEqual((yield* ask(port, "GET", "/health/report", by("editor"))).status, 403)
  })
)
