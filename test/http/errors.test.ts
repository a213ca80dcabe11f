import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type Answer, type Ask, ask, type Given, type Line, raw, start } from "./server.ts"

/** What every error is, whatever went wrong. */
const isProblem = ({ headers, json, status }: Answer, expected: { status: number; tag: string }, name?: string) => {
  assert.deepStrictEqual({ status, tag: json?._tag }, expected, name)
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
const condition = "a condition must be a string, a finite number, a boolean, a list of these"
const lengthOfId = "doc_id must be 1 to 1000 characters without blanks around them, got"
const oneToAll = "documents must be a list of 1 to limits.max_batch (1000) documents"
const notObject = "the body must be a JSON object, not a list"
const long = (length: number) => "x".repeat(length)
const document = (metadata: unknown, rest: object = {}) => ({ documents: [{ content: "x", metadata, ...rest }] })
const withId = (id: string) => document({}, { doc_id: id })

/** Bodies with the fields that are named as wrong, and what is said of the first of them. */
const wrong: ReadonlyArray<readonly [path: string, body: unknown, fields: ReadonlyArray<string>, says?: string]> = [
  ["/query", [1], [""], notObject],
  ["/index", [], [""], notObject],
  ["/query", "null", [""]],
  ["/query", {}, ["query"], "query is required"],
  ["/query", { query: ["x"] }, ["query"], 'query must be a string, got ["x"]'],
  [
    "/query",
    { query: "x", hybird: true },
    ["hybird"],
    "hybird is unknown (did you mean hybrid?); allowed: query, queries, top_k, hybrid, alpha, fusion, filter, since, graph, min_relevance, collection, offset, explain, facets"
  ],
  ["/query", { query: "" }, ["query"]],
  ["/query", { query: " \n\t" }, ["query"]],
  ["/query", { query: long(10_001) }, ["query"]],
  ["/query", { query: "x", top_k: 0 }, ["top_k"], "top_k must be between 1 and 100, got 0"],
  ["/query", { query: "x", top_k: 101 }, ["top_k"]],
  ["/query", { query: "x", top_k: 1.5 }, ["top_k"], "top_k must be an integer from 1 to 100, got 1.5"],
  ["/query", { query: "x", top_k: "5" }, ["top_k"], 'top_k must be an integer from 1 to 100, got "5"'],
  ["/query", { query: "x", alpha: -0.01 }, ["alpha"]],
  ["/query", { query: "x", alpha: 1.01 }, ["alpha"], "alpha must be between 0 and 1, got 1.01"],
  ["/query", '{"query":"x","alpha":1e999}', ["alpha"]],
  ["/query", { query: "x", fusion: "sum" }, ["fusion"], 'fusion must be "rrf" or "score", got "sum"'],
  ["/query", { query: "x", hybrid: "yes" }, ["hybrid"], 'hybrid must be true or false, got "yes"'],
  ["/query", { query: "x", collection: "../x" }, ["collection"]],
  ["/query", { top_k: 0, alpha: 2 }, ["query", "top_k", "alpha"]],
  ["/similar", { doc_id: "x", chunk_index: -1 }, ["chunk_index"], "chunk_index must be an integer from 0, got -1"],
  ["/ask", { query: "x", history: "y" }, ["history"], 'history must be a list of messages, got "y"'],
  [
    "/ask",
    { query: "x", history: Array.from({ length: 101 }, () => ({ role: "user", content: "x" })) },
    ["history"],
    "history must have at most 100 items, got 101"
  ],
  ["/ask", { query: "x", history: [5] }, ["history[0]"], "a message must be a JSON object, not a number"],
  ["/prompt", { query: "x", max_tokens: 0 }, ["max_tokens"], "max_tokens must be between 1 and 1000000, got 0"],
  ["/ask", { query: "x", temperature: 3 }, ["temperature"], "temperature must be between 0 and 2, got 3"],
  ["/ask", { query: "x", model: long(201) }, ["model"], "model must be 1 to 200 characters, got 201"],
  ["/index", { documents: [] }, ["documents"], `${oneToAll}, got none`],
  ["/index", { documents: "x" }, ["documents"], `${oneToAll}, not a string`],
  ["/index", { documents: {} }, ["documents"], `${oneToAll}, not an object`],
  ["/index", { documents: ["x"] }, ["documents[0]"], "a document must be a JSON object, not a string"],
  ["/index", { documents: [{ metadata: {} }] }, ["documents[0].content"], "content is required"],
  [
    "/index",
    { documents: [{ content: "x", contents: "y" }] },
    ["documents[0].contents"],
    "contents is unknown (did you mean content?); a document has content, metadata, doc_id"
  ],
  ["/index", withId(""), ["documents[0].doc_id"], `${lengthOfId} 0`],
  ["/index", withId(long(1200)), ["documents[0].doc_id"], `${lengthOfId} 1200`],
  ["/index", withId(" x"), ["documents[0].doc_id"], `${lengthOfId} " x"`],
  [
    "/index",
    document({ source: long(4097) }),
    ["documents[0].metadata.source"],
    "source must be 1 to 4096 characters, got 4097"
  ],
  ["/index", document([]), ["documents[0].metadata"], "metadata must be a JSON object, not a list"],
  ["/collections", {}, ["name"]]
]

/** Filters with the place that is named as wrong, and what is said of it. */
const wrongFilters: ReadonlyArray<readonly [filter: unknown, field: string, says: string]> = [
  ["lang=en", "filter", "filter must be a JSON object, not a string"],
  [{ a: null }, "filter.a", `${condition}, or operators (gte, lte, gt, lt, not, exists), got null`],
  [{ a: {} }, "filter.a", "a condition needs at least one of gte, lte, gt, lt, not, exists"],
  [
    { a: { gte: 1, below: 2 } },
    "filter.a",
    "the operators of a condition are gte, lte, gt, lt, not, exists; got below"
  ],
  [{ source: "*".repeat(60_000) }, "filter.source", "a string in a filter must be at most 4096 characters, got 60000"],
  [{ a: { gte: long(5000) } }, "filter.a", "a string in a filter must be at most 4096 characters, got 5000"],
  [{ source: Array(1001).fill("s") }, "filter.source", "a list in a filter must have at most 1000 values, got 1001"],
  [{ a: ["x", ["y"]] }, "filter.a", "a list in a filter must hold strings, finite numbers and booleans only"],
  [
    Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, n])),
    "filter",
    "filter must have at most 50 keys, got 51"
  ],
  [{ [long(4097)]: 1 }, "filter", "a key in a filter must be at most 4096 characters, got 4097"]
]

it.scopedLive("names every wrong field, and says of it what it must be", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const inFilter = wrongFilters.map(
      ([filter, field, says]) => ["/query", { query: "x", filter }, [field], says] as const
    )
    for (const [path, body, fields, says] of [...wrong, ...inFilter]) {
      const sent = typeof body === "string" ? { body, headers: json } : { body }
      const answer = yield* ask(port, "POST", path, sent)
      const name = `${path} ${JSON.stringify(body).slice(0, 100)}`
      isProblem(answer, { status: 400, tag: "InvalidRequest" }, name)
      const named = answer.json.errors.map((it: { path: string }) => it.path)
      assert.sameMembers(named, [...fields], name)
      if (says !== undefined) assert.strictEqual(answer.json.errors[0].message, says)
      // No word of how the schemas are made.
      assert.notMatch(
        answer.json.detail,
        /Expected|actual|item\(s\)|readonly|Encoded|Struct|NonEmpty|ReadonlyArray|minLength|maxLength/
      )
    }
    const listed = yield* ask(port, "POST", "/query", { body: { query: "x", filter: { a: ["x", ["y"]] } } })
    assert.include(listed.json.detail, "filter.a: a list in a filter must hold")
    for (const [path, body] of [
      ["/index?collection=notes", { documents: [{ content: "x" }] }],
      ["/query?pretty&collection=notes", { query: "x" }]
    ] as const) {
      const answer = yield* ask(port, "POST", path, { body })
      isProblem(answer, { status: 400, tag: "InvalidRequest" }, path)
      assert.include(answer.json.detail, "collection must not be in the query string of a POST")
    }
    for (const [method, path, name] of [
      ["GET", "/why?query=x&source=caf%E9", "source"],
      ["DELETE", "/documents?source=%FF&collection=default", "source"]
    ] as const) {
      const answer = yield* ask(port, method, path)
      isProblem(answer, { status: 400, tag: "InvalidRequest" }, path)
      assert.strictEqual(answer.json.detail, `${name}: must be UTF-8, percent-encoded`)
    }
    assert.strictEqual((yield* ask(port, "GET", "/health?%FF")).status, 200)
    // A % that a person types is left as it is, by browsers too.
    assert.strictEqual((yield* ask(port, "GET", "/suggest?prefix=100%")).status, 200)
    const inAddress = yield* ask(port, "GET", "/why?query=x&source=a&alpha=2")
    assert.include(inAddress.json.detail, 'alpha must be a number from 0 to 1, got "2"')
    for (const path of ["/documents?", "/why?query=x&source=a&"]) {
      const filter = encodeURIComponent('{"a":"9007199254740993","b":9007199254740993}')
      const { json, status } = yield* ask(port, "GET", `${path}filter=${filter}`)
      assert.strictEqual(status, 400, path)
      assert.include(json.detail, "the number 9007199254740993 would change, being beyond 2^53; send it as a string")
      const exact = encodeURIComponent('{"a":"9007199254740993","b":9007199254740992}')
      assert.notStrictEqual((yield* ask(port, "GET", `${path}filter=${exact}`)).status, 400)
    }
    const utf8 = { body: '{"query":"x"}', headers: { "content-type": "application/json;charset=UTF8" } }
    assert.strictEqual((yield* ask(port, "POST", "/query", utf8)).status, 200)
    assert.strictEqual((yield* ask(port, "GET", "/health")).status, 200)
  })
)

const small = { settings: { server: { max_body_bytes: 2000 } } }
const typed = (type: string, more: object = {}) => ({
  body: '{"query":"x"}',
  headers: { "content-type": type, ...more }
})
const inJson = (body: string, more: object = {}) => ({ body, headers: { ...json, ...more } })

/** Requests refused for something else, each with its status and the error's name. */
const refused: ReadonlyArray<readonly [status: number, tag: string, request: string, sent?: Ask, given?: Given]> = [
  [400, "MalformedBody", "POST /query", inJson('{"query":')],
  [400, "MalformedBody", "POST /query"],
  [400, "MalformedBody", "POST /query", inJson(`{"query":"x","filter":${"[".repeat(200)}${"]".repeat(200)}}`)],
  // Beyond any stack.
  [400, "MalformedBody", "POST /query", inJson("[".repeat(200_000) + "]".repeat(200_000))],
  // A key that would be lost.
  [400, "MalformedBody", "POST /query", inJson('{"query":"x","filter":{"__proto__":"a"}}')],
  [400, "MalformedBody", "POST /index", inJson('{"documents":[{"content":"x","metadata":{"\\u005f_proto__":"a"}}]}')],
  [404, "CollectionNotFound", "POST /query", { body: { query: "x", collection: "nope" } }],
  [415, "UnsupportedMediaType", "POST /query", typed("application/x-www-form-urlencoded")],
  [415, "UnsupportedMediaType", "POST /query", typed("text/plain")],
  [415, "UnsupportedMediaType", "POST /query", typed("text/plain; application/json")],
  [415, "UnsupportedMediaType", "POST /query", typed("application/json; charset=utf-16")],
  [415, "UnsupportedMediaType", "POST /query", typed("application/json", { "content-encoding": "gzip" })],
  [413, "PayloadTooLarge", "POST /query", { body: { query: long(2000) } }, small],
  [
    413,
    "PayloadTooLarge",
    "POST /query",
    inJson(JSON.stringify({ query: long(1_000_000) }), { "transfer-encoding": "chunked" }),
    small
  ],
  [404, "RouteNotFound", "GET /nope"],
  [404, "RouteNotFound", "GET /health/"],
  [404, "RouteNotFound", "GET /Health"],
  [404, "RouteNotFound", `GET /documents/${long(12_000)}`],
  [404, "DocumentNotFound", "GET /documents/nope"],
  [400, "InvalidRequest colection", "GET /stats?colection=x"],
  [400, "InvalidRequest doc_id", "GET /documents/%ff"],
  [400, "InvalidRequest doc_id", "DELETE /documents/a%"],
  [400, "InvalidRequest name", "DELETE /collections/%ff"],
  [417, "ExpectationFailed", "GET /health", { headers: { expect: "banana" } }],
  [405, "MethodNotAllowed", "GET /query"],
  [405, "MethodNotAllowed", "PATCH /health"],
  [426, "UpgradeRequired", "GET /ws"],
  [
    503,
    "EmbedderUnavailable",
    "POST /collections",
    { body: { name: "x" } },
    { faults: { embedder: "nobody at http://127.0.0.1:11434" } }
  ],
  [503, "StoreUnavailable", "POST /query", { body: { query: "x" } }, { faults: { store: "the disk is full" } }],
  [500, "InternalError", "POST /query", { body: { query: "x" } }, { faults: { defect: new Error("SELECT") } }]
]

for (const given of new Set(refused.map(([, , , , given]) => given))) {
  it.scopedLive(
    `refuses what it cannot answer, with ${given === undefined ? "nothing special" : JSON.stringify(given)}`,
    () =>
      Effect.gen(function* () {
        const { port } = yield* start(given)
        for (const [status, tag, request, sent] of refused.filter(([, , , , other]) => other === given)) {
          const [method = "", path = ""] = request.split(" ")
          const [name = "", field] = tag.split(" ")
          const answer = yield* ask(port, method, path, sent)
          isProblem(answer, { status, tag: name }, request)
          if (field !== undefined)
            assert.deepStrictEqual(
              answer.json.errors.map((it: { path: string }) => it.path),
              [field]
            )
          // The server is none the worse for it.
          assert.strictEqual((yield* ask(port, "GET", "/health")).status, 200)
        }
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
    const large = yield* start({ documents: [{ content: "x" }] })
    const keys = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`k${n}`, n]))
    const values = Array.from({ length: 1000 }, (_, n) => `v${n}`)
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
    const { port } = yield* start({ faults, documents: [{ content: "bees make honey" }] })
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
    assert.deepInclude(json, {
      status: "unavailable",
      checks: { store: { status: "ok" }, embedder: { status: "failed", reason: "no model in x" } }
    })
    assert.strictEqual((yield* ask(port, "GET", "/health")).status, 200)
  })
)

it.scopedLive("blames no embedder for an index that does not answer, or says why it is not available", () =>
  Effect.gen(function* () {
    const faults: NonNullable<Given["faults"]> = {}
    const { port } = yield* start({ faults, documents: [{ content: "bees make honey" }] })
    faults.silent = true
    assert.deepInclude((yield* ask(port, "GET", "/ready")).json, {
      status: "unavailable",
      checks: { store: { status: "failed", reason: "no answer within 2 s" }, embedder: { status: "ok" } }
    })
    const full = yield* start({ faults: { store: "the disk is full" } })
    assert.deepInclude((yield* ask(full.port, "GET", "/ready")).json.checks, {
      store: { status: "failed", reason: "the disk is full" },
      embedder: { status: "ok" }
    })
  })
)

it.scopedLive("keeps addresses of other servers in the log", () =>
  Effect.gen(function* () {
    const faults: NonNullable<Given["faults"]> = {}
    const log: Array<Line> = []
    const { port } = yield* start({ faults, log, documents: [{ content: "bees make honey" }] })
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
    const answer = yield* raw(port, head + body, end)
    assert.match(answer, /^HTTP\/1\.1 200 OK/)
    assert.include(answer, '"results":[]')
    assert.include(answer, '"status":"ok"')
  })
)

it.scopedLive("wants one Host of HTTP/1.1, with a key too, and makes no tunnels", () =>
  Effect.gen(function* () {
    for (const given of [{}, { apiKey: "k" }]) {
      const { port } = yield* start(given)
      const hostless = yield* raw(port, "GET /health HTTP/1.1\r\nconnection: close\r\n\r\n")
      assert.deepStrictEqual(problemIn(hostless), [400, "MalformedRequest"])
      for (const version of ["1.0", "1.1"]) {
        const twice = `GET /health HTTP/${version}\r\nHost: localhost\r\nhOST: elsewhere\r\nconnection: close\r\n\r\n`
        assert.deepStrictEqual(problemIn(yield* raw(port, twice)), [400, "MalformedRequest"])
      }
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
