import { Client as SecondClient, StreamableHTTPClientTransport as SecondTransport } from "@modelcontextprotocol/client"
import { assert, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { secondEra } from "../mcp/client.ts"
import { type Answer, ask, type Given, type Line, start } from "./server.ts"

const documents = [
  { content: "Bees make honey out of nectar.", metadata: { source: "notes/bees.md" } },
  { content: "The moon pulls the sea.", metadata: { source: "notes/sea.md" } }
]

const accept = { accept: "application/json, text/event-stream" }

/** The messages of an answer, however it came. */
const messagesOf = ({ headers, json, text }: Answer): ReadonlyArray<any> =>
  String(headers["content-type"]).startsWith("text/event-stream")
    ? [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!))
    : [json]

const rpc = (method: string, params: object = {}, id: string | number = 1) => ({ jsonrpc: "2.0", id, method, params })

const initialize = rpc("initialize", {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "test", version: "1" }
})

const post = (port: number, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  ask(port, "POST", "/mcp", { body, headers: { ...accept, ...headers } })

/** A session's header. */
const begin = (port: number) =>
  Effect.map(post(port, initialize), ({ headers }) => ({ "mcp-session-id": String(headers["mcp-session-id"]) }))

const ofSecond = (method: string, params: { readonly name?: string } = {}) =>
  [
    rpc(method, { _meta: secondEra, ...params }),
    {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(params.name === undefined ? {} : { "mcp-name": params.name })
    }
  ] as const

const search = (query: string) => ({ name: "search", arguments: { query, top_k: 1 } })

it.scopedLive("gives clients of both eras the same tools and results", () =>
  Effect.gen(function* () {
    const { url } = yield* start({ documents })
    const [first, next] = yield* Effect.promise(async () => {
      const old = new Client({ name: "old", version: "1" })
      await old.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)) as never)
      const recent = new SecondClient(
        { name: "recent", version: "1" },
        { versionNegotiation: { mode: { pin: "2026-07-28" } } }
      )
      await recent.connect(new SecondTransport(new URL(`${url}/mcp`)))
      assert.strictEqual(recent.getNegotiatedProtocolVersion(), "2026-07-28")
      const all = await Promise.all(
        [old, recent].map(async (client) => ({
          info: client.getServerVersion(),
          instructions: client.getInstructions(),
          tools: (await client.listTools()).tools,
          resources: (await client.listResources()).resources,
          prompts: (await client.listPrompts()).prompts,
          found: (await (client as Client).callTool(search("who makes honey?"))).content,
          prompt: (await client.getPrompt({ name: "rag_answer", arguments: { query: "honey" } })).messages
        }))
      )
      await Promise.all([old.close(), recent.close()])
      return all as [(typeof all)[0], (typeof all)[0]]
    })
    assert.deepStrictEqual(next, first)
    assert.include(first.instructions, "2 indexed documents")
    assert.include(first.instructions, '"notes/"')
    assert.include(first.tools.map(({ name }) => name).join(), "index_documents")
    assert.include(JSON.stringify(first.found), "Bees make honey")
  })
)

it.scopedLive("tells clients of both eras when what they watch has changed", () =>
  Effect.gen(function* () {
    const { port, url } = yield* start({ documents })
    const uri = "clew://documents/tides"
    yield* Effect.promise(async () => {
      const old = new Client({ name: "old", version: "1" })
      const told = new Promise((resolve) =>
        old.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params.uri))
      )
      await old.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)) as never)
      await old.subscribeResource({ uri })
      const [body, headers] = ofSecond("subscriptions/listen")
      const listening = await fetch(`${url}/mcp`, {
        method: "POST",
        headers: { ...accept, ...headers, "content-type": "application/json" },
        body: JSON.stringify({
          ...body,
          params: { ...body.params, notifications: { resourceSubscriptions: [uri] } }
        })
      })
      await old.callTool({ name: "index_documents", arguments: { documents: [{ content: "High.", doc_id: "tides" }] } })
      assert.strictEqual(await told, uri)
      let heard = ""
      for await (const part of listening.body!.pipeThrough(new TextDecoderStream())) {
        heard += part
        if (heard.includes("notifications/resources/updated")) break
      }
      await old.close()
    })
    const tooMany = { resourceSubscriptions: Array.from({ length: 101 }, () => uri) }
    const [body, headers] = ofSecond("subscriptions/listen")
    const refused = yield* post(port, { ...body, params: { ...body.params, notifications: tooMany } }, headers)
    assert.include(refused.json.error.message, "got 101")
  })
)

it.scopedLive("does without sessions for the second era", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ documents })
    const found = yield* post(port, ...ofSecond("tools/call", search("honey")))
    assert.strictEqual(found.status, 200)
    assert.notProperty(found.headers, "mcp-session-id")
    // A stream, which is not silent while a call takes long.
    assert.match(String(found.headers["content-type"]), /^text\/event-stream/)
    assert.include(messagesOf(found)[0].result.content[0].text, "Bees make honey")
    const discovered = yield* post(port, ...ofSecond("server/discover"))
    assert.deepStrictEqual(discovered.json.result.supportedVersions, ["2026-07-28"])
    const listed = yield* post(port, ...ofSecond("tools/list"))
    assert.isAbove(listed.json.result.ttlMs, 0)
    const unknown = yield* post(port, ...ofSecond("tools/call", { name: "nothing" }))
    assert.strictEqual(messagesOf(unknown)[0].error.code, -32602)
    const [body] = ofSecond("tools/list")
    const other = yield* post(port, body, { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call" })
    assert.strictEqual(other.status, 400)
  })
)

it.scopedLive("names what is wrong with a message, as on standard input", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ documents })
    const session = yield* begin(port)
    const cases: ReadonlyArray<readonly [unknown, number, number, string]> = [
      ["{", 400, -32700, "not JSON"],
      ["", 400, -32700, "empty"],
      ["[".repeat(200) + "]".repeat(200), 400, -32600, "nested deeper"],
      [`{"jsonrpc":"2.0","id":${"9".repeat(30)}}`, 400, -32600, "would change"],
      [42, 400, -32600, "must be a JSON object"],
      [[], 400, -32600, "got 0"],
      [Array.from({ length: 101 }, () => rpc("ping")), 400, -32600, "1 to 100"],
      [{ jsonrpc: "1.0", id: 1, method: "ping" }, 400, -32600, "jsonrpc"],
      [rpc("tools/lst"), 200, -32601, "tools/lst"],
      [rpc("tools/call", { name: 5 }), 200, -32602, "name must be a string"],
      [rpc("tools/call", { name: "serch" }), 200, -32602, "search"],
      [rpc("tools/call", { name: "search", arguments: { query: "x", top_k: 0 } }), 200, -32602, "top_k"],
      [rpc("logging/setLevel", { level: "loud" }), 200, -32602, "level"],
      [rpc("resources/read", { uri: "clew://documents/none" }), 200, -32002, "none"]
    ]
    for (const [body, status, code, words] of cases) {
      const typed = typeof body === "string" ? { "content-type": "application/json" } : {}
      const answer = yield* post(port, body, { ...session, ...typed })
      const [{ error }] = messagesOf(answer)
      assert.deepStrictEqual([answer.status, error.code], [status, code], JSON.stringify(body).slice(0, 100))
      assert.include(error.message, words)
    }
    const { params: _, ...bare } = initialize
    assert.include((yield* post(port, bare)).json.error.message, "params")
    const plain = yield* ask(port, "POST", "/mcp", { body: "{}", headers: { ...accept, "content-type": "text/plain" } })
    assert.strictEqual(plain.status, 415)
    const unacceptable = yield* ask(port, "POST", "/mcp", { body: initialize })
    assert.strictEqual(unacceptable.status, 406)
    assert.strictEqual((yield* ask(port, "PUT", "/mcp")).status, 405)
    assert.strictEqual((yield* ask(port, "HEAD", "/mcp")).headers["allow"], "GET, POST, DELETE, OPTIONS")
  })
)

it.scopedLive("takes null for what is absent, and unknown members, as on standard input", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ documents })
    const session = yield* begin(port)
    const list = rpc("tools/list")
    for (const body of [
      { ...list, params: null },
      { ...list, params: { _meta: null } },
      { ...list, extra: null },
      [{ ...list, params: null, extra: 1 }]
    ]) {
      const [{ result }] = messagesOf(yield* post(port, body, session))
      assert.isNotEmpty(result.tools, JSON.stringify(body))
    }
    const [body, headers] = ofSecond("tools/list")
    const odd = { ...body, extra: 1, params: { ...body.params, cursor: null } }
    assert.isNotEmpty((yield* post(port, odd, headers)).json.result.tools)
  })
)

it.scopedLive("answers a batch, each of its requests at the price of one", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ documents })
    const session = yield* begin(port)
    const batch = [rpc("ping", {}, "a"), { jsonrpc: "2.0", method: "notifications/x" }, rpc("tools/list", {}, "b")]
    const answered = messagesOf(yield* post(port, batch, session))
    assert.sameMembers(
      answered.map(({ id }) => id),
      ["a", "b"]
    )
    const told = yield* post(port, { jsonrpc: "2.0", method: "notifications/initialized" }, session)
    assert.deepStrictEqual([told.status, told.text], [202, ""])
    const limited = yield* start({ settings: { rate_limit_per_second: 5 } })
    const many = Array.from({ length: 50 }, (_, id) => rpc("ping", {}, id))
    const { "mcp-session-id": id } = yield* begin(limited.port)
    assert.strictEqual((yield* post(limited.port, many, { "mcp-session-id": id })).status, 429)
  })
)

it.scopedLive("keeps other sites' pages out, whatever they ask", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ settings: { server: { cors_origins: ["https://ours.example"] } } })
    for (const method of ["POST", "GET", "DELETE"]) {
      const body = method === "POST" ? { body: initialize } : {}
      const from = (headers: Readonly<Record<string, string>>) =>
        Effect.map(ask(port, method, "/mcp", { ...body, headers: { ...accept, ...headers } }), ({ status }) => status)
      assert.strictEqual(yield* from({ origin: "https://evil.example" }), 403, method)
      assert.strictEqual(yield* from({ origin: "null" }), 403, method)
      assert.strictEqual(yield* from({ host: "evil.example" }), 403, method)
      assert.notStrictEqual(yield* from({ origin: "https://ours.example" }), 403, method)
    }
    const preflight = yield* ask(port, "OPTIONS", "/mcp", {
      headers: {
        origin: "https://ours.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "mcp-session-id"
      }
    })
    assert.include(preflight.headers["access-control-allow-headers"], "mcp-session-id")
    assert.include(preflight.headers["access-control-expose-headers"], "mcp-session-id")
  })
)

it.scopedLive("offers nothing that writes where it is read-only", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ settings: { server: { read_only: true } } })
    const listed = yield* post(port, ...ofSecond("tools/list"))
    assert.notInclude(JSON.stringify(listed.json), "index_documents")
    const written = yield* post(port, ...ofSecond("tools/call", { name: "index_documents" }))
    assert.strictEqual(messagesOf(written)[0].error.code, -32602)
  })
)

it.scopedLive("writes down each write with its collection and its own request, though requests share a service", () =>
  Effect.gen(function* () {
    const log: Array<Line> = []
    const { port } = yield* start({ log, settings: { log: { format: "json" } } })
    const index = (more: object = {}) => ({ name: "index_documents", arguments: { documents, ...more } })
    const [body, headers] = ofSecond("tools/call", index())
    yield* post(port, body, { ...headers, "x-request-id": "one" })
    yield* post(port, body, { ...headers, "x-request-id": "two" })
    const session = { ...(yield* begin(port)), "x-request-id": "three" }
    yield* post(port, rpc("tools/call", index({ collection: "notes" })), session)
    assert.deepStrictEqual(
      log
        .filter(({ message }) => message === "write")
        .map(({ annotations: { action, collection, request_id } }) => [action, collection, request_id]),
      [
        ["mcp index_documents", "default", "one"],
        ["mcp index_documents", "default", "two"],
        ["mcp index_documents", "notes", "three"]
      ]
    )
  })
)

it.scopedLive("keeps a session until it is ended, unused for a day, or not among those used last", () =>
  Effect.gen(function* () {
    let now = Date.now()
    const clock: Clock.Clock = Object.create(Clock.make(), { currentTimeMillis: { value: Effect.sync(() => now) } })
    const { port } = yield* start({ clock, mcp: { mostSessions: 3 } })
    const isThere = (session: Readonly<Record<string, string>>) =>
      Effect.map(post(port, rpc("ping"), session), ({ status }) => status === 200)
    const [ended, used, unused] = [yield* begin(port), yield* begin(port), yield* begin(port)]
    assert.strictEqual((yield* ask(port, "DELETE", "/mcp", { headers: ended })).status, 200)
    assert.isFalse(yield* isThere(ended))
    assert.isTrue(yield* isThere(used))
    now += Duration.toMillis("23 hours")
    assert.isTrue(yield* isThere(used))
    now += Duration.toMillis("2 hours")
    assert.isTrue(yield* isThere(used))
    assert.isFalse(yield* isThere(unused))
    const first = yield* begin(port)
    assert.isTrue(yield* isThere(used))
    yield* Effect.replicateEffect(begin(port), 2)
    assert.isTrue(yield* isThere(used))
    const gone = yield* post(port, rpc("ping"), first)
    assert.deepStrictEqual([gone.status, gone.json.error.code], [404, -32001])
  })
)

for (const era of ["first", "second"] as const) {
  it.scopedLive(`stops working for a client that goes away, of the ${era} era`, () =>
    Effect.gen(function* () {
      const [gate, left, reached] = yield* Effect.all([
        Deferred.make<void>(),
        Deferred.make<void>(),
        Deferred.make<void>()
      ])
      const given: Given = { documents, gate, left, reached }
      const { port } = yield* start(given)
      const asked =
        era === "second"
          ? post(port, ...ofSecond("tools/call", search("honey")))
          : Effect.flatMap(begin(port), (session) => post(port, rpc("tools/call", search("honey")), session))
      const asking = yield* Effect.fork(asked)
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(asking)
      yield* Deferred.await(left)
    })
  )
}

it.scopedLive("stops what a client cancels by another request, and ends its stream", () =>
  Effect.gen(function* () {
    const [gate, left, reached] = yield* Effect.all([
      Deferred.make<void>(),
      Deferred.make<void>(),
      Deferred.make<void>()
    ])
    const { port } = yield* start({ documents, gate, left, reached })
    const session = yield* begin(port)
    const asking = yield* Effect.fork(post(port, rpc("tools/call", search("honey"), 7), session))
    yield* Deferred.await(reached)
    yield* post(port, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } }, session)
    yield* Deferred.await(left)
    const [cancelled] = messagesOf(yield* Fiber.join(asking))
    assert.deepStrictEqual([cancelled.id, cancelled.error.message], [7, "Cancelled"])
    assert.deepStrictEqual(messagesOf(yield* post(port, rpc("ping", {}, 7), session))[0].result, {})
  })
)

it.scopedLive("refuses the id of a request that still runs in the session", () =>
  Effect.gen(function* () {
    const [gate, reached] = yield* Effect.all([Deferred.make<void>(), Deferred.make<void>()])
    const { port } = yield* start({ documents, gate, reached })
    const session = yield* begin(port)
    const first = yield* Effect.fork(post(port, rpc("tools/call", search("honey"), 7), session))
    yield* Deferred.await(reached)
    const again = yield* post(port, rpc("ping", {}, 7), session)
    assert.deepStrictEqual([again.status, again.json.id, again.json.error.code], [400, 7, -32600])
    assert.strictEqual((yield* post(port, [rpc("ping"), rpc("ping")], session)).json.error.code, -32600)
    const unacceptable = yield* ask(port, "POST", "/mcp", { body: rpc("ping", {}, 8), headers: session })
    assert.strictEqual(unacceptable.status, 406)
    assert.deepStrictEqual(messagesOf(yield* post(port, rpc("ping", {}, 8), session))[0].result, {})
    yield* Deferred.succeed(gate, undefined)
    const [answer] = messagesOf(yield* Fiber.join(first))
    assert.include(JSON.stringify(answer.result), "Bees make honey")
    assert.deepStrictEqual(messagesOf(yield* post(port, rpc("ping", {}, 7), session))[0].result, {})
  })
)

it.scopedLive("sends a session's log on its stream, and ends the stream when the server does", () =>
  Effect.gen(function* () {
    const log: Array<Line> = []
    const faults = { store: undefined as string | undefined }
    const { port, stop } = yield* start({ documents, log, faults: faults as never })
    const session = yield* begin(port)
    const other = yield* begin(port)
    // The headers tell that a stream is there.
    const streams = yield* Effect.forEach([session, other], (headers) =>
      Effect.promise(() => fetch(`http://127.0.0.1:${port}/mcp`, { headers: { ...accept, ...headers } }))
    )
    yield* post(port, rpc("logging/setLevel", { level: "debug" }), session)
    yield* post(port, rpc("tools/call", search("honey")), session)
    faults.store = "the disk is full"
    const [failed] = messagesOf(yield* post(port, rpc("tools/call", search("honey")), session))
    assert.include(failed.error.message, "the disk is full")
    faults.store = undefined
    yield* stop
    const [own = "", others = ""] = yield* Effect.forEach(streams, (stream) => Effect.promise(() => stream.text()))
    assert.include(own, "notifications/message")
    assert.include(own, "tools/call search")
    assert.isFalse(log.some(({ message }) => message.includes("tools/call")))
    assert.include(own, "the disk is full")
    assert.notInclude(others, "the disk is full")
    assert.isFalse(log.some(({ message }) => message.includes("defect")))
  })
)
