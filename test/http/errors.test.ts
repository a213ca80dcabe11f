import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Net from "node:net"
import { type Answer, type Ask, ask, type Given, type Line, start } from "./server.ts"

/** What every error is, whatever went wrong. */
const isProblem = ({ headers, json, status }: Answer, expected: { status: number; tag: string }) => {
  assert.deepStrictEqual({ status, tag: json?._tag }, expected)
  assert.strictEqual(headers["content-type"], "application/problem+json")
  const { errors, ...rest } = json
  assert.hasAllKeys(rest, ["type", "title", "status", "detail", "_tag"])
  assert.strictEqual(json.status, status)
  assert.isNotEmpty(json.detail)
  assert.strictEqual(headers["access-control-allow-origin"], "*")
  assert.isNotEmpty(headers["x-request-id"])
  if (json._tag === "InvalidRequest") {
    assert.isNotEmpty(errors)
    for (const error of errors) assert.hasAllKeys(error, ["path", "message"])
  }
}

const json = { "content-type": "application/json" }

interface Case extends Ask {
  readonly name: string
  readonly given?: Given
  readonly method?: string
  readonly path?: string
  readonly expected: { status: number; tag: string }
  /** The fields that are named. */
  readonly fields?: ReadonlyArray<string>
  /** What is said of the first of them. */
  readonly says?: string
}

const invalid = { status: 400, tag: "InvalidRequest" }
const malformed = { status: 400, tag: "MalformedBody" }
const tooLarge = { status: 413, tag: "PayloadTooLarge" }
const unsupported = { status: 415, tag: "UnsupportedMediaType" }
const small = { settings: { server: { max_body_bytes: 2000 } } }

const cases: ReadonlyArray<Case> = [
  { name: "broken JSON", body: '{"query":', headers: json, expected: malformed },
  { name: "no body", expected: malformed },
  {
    name: "JSON that nests too deep",
    body: `{"query":"x","filter":${"[".repeat(200)}${"]".repeat(200)}}`,
    headers: json,
    expected: malformed
  },
  {
    name: "JSON that nests beyond any stack",
    body: "[".repeat(200_000) + "]".repeat(200_000),
    headers: json,
    expected: malformed
  },
  {
    name: "a body that is no object",
    body: [1],
    expected: invalid,
    fields: [""],
    says: "the body must be a JSON object, not a list"
  },
  {
    name: "a batch that is no object",
    path: "/index",
    body: [],
    expected: invalid,
    fields: [""],
    says: "the body must be a JSON object, not a list"
  },
  { name: "a body that is null", body: "null", headers: json, expected: invalid, fields: [""] },
  { name: "a missing field", body: {}, expected: invalid, fields: ["query"] },
  { name: "an unknown field", body: { query: "x", hybird: true }, expected: invalid, fields: ["hybird"] },
  { name: "an empty query", body: { query: "" }, expected: invalid, fields: ["query"] },
  { name: "a blank query", body: { query: " \n\t" }, expected: invalid, fields: ["query"] },
  { name: "a query too long", body: { query: "x".repeat(10_001) }, expected: invalid, fields: ["query"] },
  {
    name: "top_k 0",
    body: { query: "x", top_k: 0 },
    expected: invalid,
    fields: ["top_k"],
    says: "top_k must be between 1 and 100, got 0"
  },
  { name: "top_k 101", body: { query: "x", top_k: 101 }, expected: invalid, fields: ["top_k"] },
  {
    name: "top_k with a fraction",
    body: { query: "x", top_k: 1.5 },
    expected: invalid,
    fields: ["top_k"],
    says: "top_k must be an integer from 1 to 100, got 1.5"
  },
  {
    name: "top_k in quotes",
    body: { query: "x", top_k: "5" },
    expected: invalid,
    fields: ["top_k"],
    says: 'top_k must be an integer from 1 to 100, got "5"'
  },
  { name: "alpha below", body: { query: "x", alpha: -0.01 }, expected: invalid, fields: ["alpha"] },
  {
    name: "alpha above",
    body: { query: "x", alpha: 1.01 },
    expected: invalid,
    fields: ["alpha"],
    says: "alpha must be between 0 and 1, got 1.01"
  },
  {
    name: "max_tokens 0",
    path: "/prompt",
    body: { query: "x", max_tokens: 0 },
    expected: invalid,
    fields: ["max_tokens"],
    says: "max_tokens must be between 1 and 1000000, got 0"
  },
  {
    name: "temperature 3",
    path: "/ask",
    body: { query: "x", temperature: 3 },
    expected: invalid,
    fields: ["temperature"],
    says: "temperature must be between 0 and 2, got 3"
  },
  {
    name: "a model's name too long",
    path: "/ask",
    body: { query: "x", model: "m".repeat(201) },
    expected: invalid,
    fields: ["model"],
    says: "model must be 1 to 200 characters, got 201"
  },
  {
    name: "a filter that is no object",
    body: { query: "x", filter: "lang=en" },
    expected: invalid,
    fields: ["filter"],
    says: "filter must be a JSON object, not a string"
  },
  {
    name: "a filter for null",
    body: { query: "x", filter: { a: null } },
    expected: invalid,
    fields: ["filter.a"],
    says: "a condition must be a string, a finite number, a boolean, a list of these, or operators (gte, lte, gt, lt, not, exists), got null"
  },
  {
    name: "a range of nothing",
    body: { query: "x", filter: { a: {} } },
    expected: invalid,
    fields: ["filter.a"],
    says: "a condition needs at least one of gte, lte, gt, lt, not, exists"
  },
  {
    name: "a range with a bound nobody knows",
    body: { query: "x", filter: { a: { gte: 1, below: 2 } } },
    expected: invalid,
    fields: ["filter.a"],
    says: "the operators of a condition are gte, lte, gt, lt, not, exists; got below"
  },
  {
    name: "a filter with a value too long",
    body: { query: "x", filter: { source: "*".repeat(60_000) } },
    expected: invalid,
    fields: ["filter.source"],
    says: "a string in a filter must be at most 4096 characters, got 60000"
  },
  {
    name: "a filter with a bound too long",
    body: { query: "x", filter: { a: { gte: "x".repeat(5000) } } },
    expected: invalid,
    fields: ["filter.a"],
    says: "a string in a filter must be at most 4096 characters, got 5000"
  },
  {
    name: "a filter with a list too long",
    body: { query: "x", filter: { source: Array.from({ length: 1001 }, (_, n) => `s${n}`) } },
    expected: invalid,
    fields: ["filter.source"],
    says: "a list in a filter must have at most 1000 values, got 1001"
  },
  {
    name: "a filter with a list of lists",
    body: { query: "x", filter: { a: ["x", ["y"]] } },
    expected: invalid,
    fields: ["filter.a"],
    says: "a list in a filter must hold strings, finite numbers and booleans only"
  },
  {
    name: "a filter with too many keys",
    body: { query: "x", filter: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, n])) },
    expected: invalid,
    fields: ["filter"],
    says: "filter must have at most 50 keys, got 51"
  },
  {
    name: "a filter with a key too long",
    body: { query: "x", filter: { ["k".repeat(4097)]: 1 } },
    expected: invalid,
    fields: ["filter"],
    says: "a key in a filter must be at most 4096 characters, got 4097"
  },
  {
    name: "a key that would be lost",
    body: '{"query":"x","filter":{"__proto__":"a"}}',
    headers: json,
    expected: malformed
  },
  {
    name: "metadata that would be lost",
    path: "/index",
    body: '{"documents":[{"content":"x","metadata":{"\\u005f_proto__":"a"}}]}',
    headers: json,
    expected: malformed
  },
  {
    name: "alpha beyond numbers",
    body: '{"query":"x","alpha":1e999}',
    headers: json,
    expected: invalid,
    fields: ["alpha"]
  },
  { name: "fusion unknown", body: { query: "x", fusion: "sum" }, expected: invalid, fields: ["fusion"] },
  { name: "hybrid in quotes", body: { query: "x", hybrid: "yes" }, expected: invalid, fields: ["hybrid"] },
  { name: "a collection's name", body: { query: "x", collection: "../x" }, expected: invalid, fields: ["collection"] },
  { name: "several fields", body: { top_k: 0, alpha: 2 }, expected: invalid, fields: ["query", "top_k", "alpha"] },
  {
    name: "an unknown collection",
    body: { query: "x", collection: "nope" },
    expected: { status: 404, tag: "CollectionNotFound" }
  },
  {
    name: "a form",
    body: "query=x",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    expected: unsupported
  },
  { name: "text", body: '{"query":"x"}', headers: { "content-type": "text/plain" }, expected: unsupported },
  {
    name: "JSON's name inside another type",
    body: '{"query":"x"}',
    headers: { "content-type": "text/plain; application/json" },
    expected: unsupported
  },
  {
    name: "another charset",
    body: '{"query":"x"}',
    headers: { "content-type": "application/json; charset=utf-16" },
    expected: unsupported
  },
  {
    name: "a compressed body",
    body: '{"query":"x"}',
    headers: { ...json, "content-encoding": "gzip" },
    expected: unsupported
  },
  { name: "a body over the limit, declared", given: small, body: { query: "x".repeat(2000) }, expected: tooLarge },
  {
    name: "a body over the limit, chunked",
    given: small,
    body: JSON.stringify({ query: "x".repeat(1_000_000) }),
    headers: { ...json, "transfer-encoding": "chunked" },
    expected: tooLarge
  },
  {
    name: "an empty batch",
    path: "/index",
    body: { documents: [] },
    expected: invalid,
    fields: ["documents"],
    says: "documents must be a list of 1 to limits.max_batch (1000) documents, got none"
  },
  {
    name: "a batch that is no list",
    path: "/index",
    body: { documents: "x" },
    expected: invalid,
    fields: ["documents"],
    says: "documents must be a list of 1 to limits.max_batch (1000) documents, not a string"
  },
  {
    name: "a document that is no object",
    path: "/index",
    body: { documents: ["x"] },
    expected: invalid,
    fields: ["documents.0"],
    says: "a document must be a JSON object, not a string"
  },
  {
    name: "a document without content",
    path: "/index",
    body: { documents: [{ metadata: {} }] },
    expected: invalid,
    fields: ["documents.0.content"]
  },
  {
    name: "a document's empty id",
    path: "/index",
    body: { documents: [{ content: "x", doc_id: "" }] },
    expected: invalid,
    fields: ["documents.0.doc_id"],
    says: "doc_id must be 1 to 1000 characters without blanks around them, got 0"
  },
  {
    name: "a document's id too long",
    path: "/index",
    body: { documents: [{ content: "x", doc_id: "x".repeat(1200) }] },
    expected: invalid,
    fields: ["documents.0.doc_id"],
    says: "doc_id must be 1 to 1000 characters without blanks around them, got 1200"
  },
  {
    name: "a document's id with a blank before it",
    path: "/index",
    body: { documents: [{ content: "x", doc_id: " x" }] },
    expected: invalid,
    fields: ["documents.0.doc_id"],
    says: 'doc_id must be 1 to 1000 characters without blanks around them, got " x"'
  },
  {
    name: "a source too long",
    path: "/index",
    body: { documents: [{ content: "x", metadata: { source: "x".repeat(4097) } }] },
    expected: invalid,
    fields: ["documents.0.metadata.source"],
    says: "source must be 1 to 4096 characters, got 4097"
  },
  {
    name: "metadata that is no object",
    path: "/index",
    body: { documents: [{ content: "x", metadata: [] }] },
    expected: invalid,
    fields: ["documents.0.metadata"],
    says: "metadata must be a JSON object, not a list"
  },
  { name: "a collection without a name", path: "/collections", body: {}, expected: invalid, fields: ["name"] },
  { name: "an unknown route", method: "GET", path: "/nope", expected: { status: 404, tag: "RouteNotFound" } },
  {
    name: "a route with a slash too many",
    method: "GET",
    path: "/health/",
    expected: { status: 404, tag: "RouteNotFound" }
  },
  { name: "a route in capitals", method: "GET", path: "/Health", expected: { status: 404, tag: "RouteNotFound" } },
  {
    name: "an unknown document",
    method: "GET",
    path: "/documents/nope",
    expected: { status: 404, tag: "DocumentNotFound" }
  },
  {
    name: "a parameter nobody knows",
    method: "GET",
    path: "/stats?colection=x",
    expected: invalid,
    fields: ["colection"]
  },
  { name: "an id that is not UTF-8", method: "GET", path: "/documents/%ff", expected: invalid, fields: ["doc_id"] },
  { name: "an id that ends in %", method: "DELETE", path: "/documents/a%", expected: invalid, fields: ["doc_id"] },
  { name: "a name that is not UTF-8", method: "DELETE", path: "/collections/%ff", expected: invalid, fields: ["name"] },
  {
    name: "an id longer than any",
    method: "GET",
    path: `/documents/${"x".repeat(12_000)}`,
    expected: { status: 404, tag: "RouteNotFound" }
  },
  {
    name: "an expectation",
    method: "GET",
    path: "/health",
    headers: { expect: "banana" },
    expected: { status: 417, tag: "ExpectationFailed" }
  },
  { name: "a wrong method", method: "GET", path: "/query", expected: { status: 405, tag: "MethodNotAllowed" } },
  { name: "a strange method", method: "PATCH", path: "/health", expected: { status: 405, tag: "MethodNotAllowed" } },
  { name: "/ws without a WebSocket", method: "GET", path: "/ws", expected: { status: 426, tag: "UpgradeRequired" } },
  {
    name: "an embedder that is down, asked alone",
    given: { faults: { embedder: "nobody at http://127.0.0.1:11434" } },
    path: "/collections",
    body: { name: "x" },
    expected: { status: 503, tag: "EmbedderUnavailable" }
  },
  {
    name: "an index that is down",
    given: { faults: { store: "The index /home/me/secret/index.db is not available: the disk is full" } },
    body: { query: "x" },
    expected: { status: 503, tag: "StoreUnavailable" }
  },
  {
    name: "a defect",
    given: { faults: { defect: new Error("SELECT * FROM /etc/passwd") } },
    body: { query: "x" },
    expected: { status: 500, tag: "InternalError" }
  }
]

for (const { body, expected, fields, given = {}, headers, method = "POST", name, path = "/query", says } of cases) {
  it.scopedLive(`answers ${expected.status} to ${name}`, () =>
    Effect.gen(function* () {
      const { port } = yield* start(given)
      const sent: Ask = { ...(body === undefined ? {} : { body }), ...(headers === undefined ? {} : { headers }) }
      const answer = yield* ask(port, method, path, sent)
      isProblem(answer, expected)
      if (fields !== undefined) {
        const named = answer.json.errors.map((it: { path: string }) => it.path)
        assert.sameMembers(named, [...fields])
      }
      if (says !== undefined) assert.strictEqual(answer.json.errors[0].message, says)
      // No word of how the schemas are made.
      assert.notMatch(answer.json.detail, /readonly|Encoded|Struct|NonEmpty|ReadonlyArray|minLength|maxLength/)
      // The server is none the worse for it.
      assert.strictEqual((yield* ask(port, "GET", "/health")).status, 200)
    })
  )
}

it.scopedLive("takes what is just within the limits", () =>
  Effect.gen(function* () {
    const { port } = yield* start(small)
    const status = (body: object) => Effect.map(ask(port, "POST", "/query", { body }), ({ status }) => status)
    assert.strictEqual(yield* status({ query: "x", top_k: 1, alpha: 0, hybrid: true }), 200)
    assert.strictEqual(yield* status({ query: "x", top_k: 100, alpha: 1, hybrid: true }), 200)
    const frame = JSON.stringify({ query: "" }).length
    assert.strictEqual(yield* status({ query: "x".repeat(2000 - frame) }), 200)
    assert.strictEqual(yield* status({ query: "x".repeat(2001 - frame) }), 413)
    const large = yield* start()
    const keys = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`k${n}`, n]))
    const values = Array.from({ length: 1000 }, (_, n) => `v${n}`)
    yield* ask(large.port, "POST", "/index", { body: { documents: [{ content: "x" }] } })
    for (const filter of [
      keys,
      { source: values, k: values },
      { source: values.map((value) => `*${value}*`), title: values },
      Object.fromEntries(Object.keys(keys).map((key) => [key, values])),
      { source: "*".repeat(4096) },
      { ["k".repeat(4096)]: "v" }
    ]) {
      assert.strictEqual((yield* ask(large.port, "POST", "/query", { body: { query: "x", filter } })).status, 200)
    }
    // Code points count, not UTF-16 units.
    const long = yield* ask(large.port, "POST", "/query", { body: { query: "😀".repeat(10_000) } })
    assert.strictEqual(long.status, 200)
    const longer = yield* ask(large.port, "POST", "/query", { body: { query: "😀".repeat(10_001) } })
    assert.strictEqual(longer.status, 400)
  })
)

it.scopedLive("keeps its files' places, its SQL and its stack to itself", () =>
  Effect.gen(function* () {
    const faults = { store: "The index /home/me/secret/index.db is not available: the disk is full" }
    const { port } = yield* start({ faults })
    const { text } = yield* ask(port, "POST", "/query", { body: { query: "x" } })
    assert.notInclude(text, "/home")
    assert.include(text, "index.db is not available: the disk is full")
    const broken = yield* start({ faults: { defect: new Error("SELECT * FROM secrets") } })
    const { headers, json } = yield* ask(broken.port, "POST", "/query", { body: { query: "x" } })
    assert.notInclude(JSON.stringify(json), "SELECT")
    assert.notInclude(JSON.stringify(json), ".ts")
    assert.include(json.detail, headers["x-request-id"]!)
  })
)

it.scopedLive("says which methods an address answers", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const allowed = (method: string, path: string) =>
      Effect.map(ask(port, method, path), ({ headers }) => headers["allow"])
    assert.strictEqual(yield* allowed("PUT", "/documents/x"), "GET, DELETE, HEAD, OPTIONS")
    assert.strictEqual(yield* allowed("DELETE", "/query"), "POST, OPTIONS")
    assert.strictEqual(yield* allowed("OPTIONS", "/collections"), "GET, POST, HEAD, OPTIONS")
    const head = yield* ask(port, "HEAD", "/health")
    assert.deepStrictEqual([head.status, head.text], [200, ""])
    assert.strictEqual((yield* ask(port, "HEAD", "/query")).status, 405)
  })
)

it.scopedLive("degrades to words when the embedder is down, and says so", () =>
  Effect.gen(function* () {
    const faults: NonNullable<Given["faults"]> = {}
    const { port } = yield* start({ faults })
    yield* ask(port, "POST", "/index", { body: { documents: [{ content: "bees make honey" }] } })
    faults.embedder = "nobody answers"
    const hybrid = yield* ask(port, "POST", "/query", { body: { query: "honey", hybrid: true } })
    assert.deepInclude(hybrid.json, { mode: "keyword", degraded: "embedder unavailable: nobody answers" })
    assert.lengthOf(hybrid.json.results, 1)
    const vector = yield* ask(port, "POST", "/query", { body: { query: "honey" } })
    isProblem(vector, { status: 503, tag: "EmbedderUnavailable" })
    const index = yield* ask(port, "POST", "/index", { body: { documents: [{ content: "new" }] } })
    isProblem(index, { status: 503, tag: "EmbedderUnavailable" })
  })
)

it.scopedLive("is not ready while a part is down", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ faults: { embedder: "no model in /opt/models/x" } })
    const { headers, json, status } = yield* ask(port, "GET", "/ready")
    assert.strictEqual(status, 503)
    assert.include(headers["content-type"], "application/json")
    assert.deepStrictEqual(json, {
      status: "unavailable",
      checks: { store: { status: "ok" }, embedder: { status: "failed", reason: "no model in x" } }
    })
    assert.strictEqual((yield* ask(port, "GET", "/health")).status, 200)
  })
)

it.scopedLive("keeps addresses of other servers in the log", () =>
  Effect.gen(function* () {
    const faults: NonNullable<Given["faults"]> = {}
    const log: Array<Line> = []
    const { port } = yield* start({ faults, log })
    yield* ask(port, "POST", "/index", { body: { documents: [{ content: "bees make honey" }] } })
    for (const inside of [
      "Ollama does not answer at http://10.1.2.3:11434/x; start it",
      "getaddrinfo ENOTFOUND models.corp",
      "connect ECONNREFUSED ::1:11434",
      "connect ETIMEDOUT 10.1.2.3:443",
      "no answer from models.corp:8080 (ECONNRESET)",
      "nobody at [fe80::1]:443"
    ]) {
      faults.embedder = inside
      const hybrid = yield* ask(port, "POST", "/query", { body: { query: "honey", hybrid: true } })
      const vector = yield* ask(port, "POST", "/query", { body: { query: "honey" } })
      for (const said of [hybrid.json.degraded, vector.json.detail]) {
        assert.notMatch(said, /10\.1|corp|::1|443|8080|11434/, inside)
        assert.include(said, "[address]")
      }
      assert.isTrue(
        log.some(({ message }) => message.includes(inside)),
        inside
      )
    }
    const ready = yield* ask(port, "GET", "/ready")
    assert.strictEqual(ready.json.checks.embedder.reason, "nobody at [address]")
  })
)

it.scopedLive("takes a request's id, and makes one up where there is none it could repeat", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const id = (given: string) =>
      Effect.map(
        ask(port, "GET", "/health", { headers: { "x-request-id": given } }),
        ({ headers }) => headers["x-request-id"]
      )
    assert.strictEqual(yield* id("abc-123"), "abc-123")
    assert.match(String(yield* id("a b")), /^[0-9a-f-]{36}$/)
    assert.match(String(yield* id("x".repeat(200))), /^[0-9a-f-]{36}$/)
  })
)

const raw = (port: number, bytes: string | Uint8Array): Effect.Effect<string> =>
  Effect.async((resume) => {
    const socket = Net.connect(port, "127.0.0.1", () => socket.write(bytes))
    let text = ""
    socket.on("data", (chunk) => (text += chunk.toString("latin1")))
    socket.on("error", () => {})
    socket.on("close", () => resume(Effect.succeed(text)))
  })

/** The problem in an answer's bytes, which are all that one is. */
const problemIn = (bytes: string) => {
  const [head = "", text = ""] = bytes.split("\r\n\r\n")
  assert.match(head, /\r\ncontent-type: application\/problem\+json/)
  assert.match(head, /\r\nx-request-id: \S+/)
  assert.match(head, /\r\nconnection: close/i)
  const body = JSON.parse(text)
  assert.strictEqual(Number(/^HTTP\/1\.1 (\d+) /.exec(head)?.[1]), body.status)
  return [body.status, body._tag]
}

it.scopedLive("answers what is not HTTP as it answers everything", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const counted = (status: number) =>
      Effect.map(ask(port, "GET", "/metrics"), ({ text }) => {
        const series = `clew_http_requests_total{route="unmatched",method="other",status="${status}"} `
        return Number(
          text
            .split("\n")
            .find((line) => line.startsWith(series))
            ?.slice(series.length) ?? 0
        )
      })
    const before = [yield* counted(400), yield* counted(431)]
    assert.deepStrictEqual(problemIn(yield* raw(port, "hello\r\n\r\n")), [400, "MalformedRequest"])
    const long = yield* raw(port, `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${"x".repeat(100_000)}\r\n\r\n`)
    assert.deepStrictEqual(problemIn(long), [431, "HeadersTooLarge"])
    assert.deepStrictEqual([yield* counted(400), yield* counted(431)], [before[0]! + 1, before[1]! + 1])
    const body = Buffer.concat([Buffer.from('{"query":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')])
    const head = `POST /query HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
    const latin = yield* raw(port, Buffer.concat([Buffer.from(head), body]))
    assert.match(latin, /^HTTP\/1\.1 400 /)
    assert.include(latin, '"_tag":"MalformedBody"')
  })
)

it.scopedLive("overlooks an offer of HTTP/2 and answers the request, body and all", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const body = '{"query":"x"}'
    const offer = "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"
    const head = `POST /query HTTP/1.1\r\nhost: localhost\r\n${offer}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
    const end = "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    const answer = yield* raw(port, head + body + end)
    assert.match(answer, /^HTTP\/1\.1 200 OK/)
    assert.include(answer, '"results":[]')
    assert.include(answer, '"status":"ok"')
  })
)

it.scopedLive("wants a Host of HTTP/1.1, with a key too, and makes no tunnels", () =>
  Effect.gen(function* () {
    for (const given of [{}, { apiKey: "k" }]) {
      const { port } = yield* start(given)
      const hostless = yield* raw(port, "GET /health HTTP/1.1\r\nconnection: close\r\n\r\n")
      assert.deepStrictEqual(problemIn(hostless), [400, "MalformedRequest"])
      const tunnel = yield* raw(port, "CONNECT localhost:443 HTTP/1.1\r\nhost: localhost:443\r\n\r\n")
      assert.deepStrictEqual(problemIn(tunnel), [404, "RouteNotFound"])
    }
  })
)

it.scopedLive("does not wait for ever for a request to arrive", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ arrival: { head: 100, whole: 200, checked: 20 } })
    for (const part of [
      "GET /health HTTP/1.1\r\nhost:",
      "POST /query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"
    ]) {
      assert.deepStrictEqual(problemIn(yield* raw(port, part)), [408, "RequestTimeout"])
    }
  })
)

it.scopedLive("takes a target as a proxy is sent it, and its authority for the host", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const get = (target: string, host: string) =>
      raw(port, `GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
    assert.match(yield* get(`http://localhost:${port}/health`, "localhost"), /^HTTP\/1\.1 200 /)
    assert.match(yield* get("HTTP://127.0.0.1/collections?", "elsewhere.example"), /^HTTP\/1\.1 200 /)
    assert.match(yield* get("http://evil.example/collections", "localhost"), /^HTTP\/1\.1 403 /)
    assert.match(yield* get("http://localhost", "localhost"), /^HTTP\/1\.1 404 /)
  })
)

it.scopedLive("overlooks an offer of WebSocket where there is a body", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const body = '{"query":"x"}'
    const answer = yield* raw(
      port,
      `POST /query HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`
    )
    assert.match(answer, /^HTTP\/1\.1 200 OK/)
    assert.include(answer, '"results":[]')
  })
)
