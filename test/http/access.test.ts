import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Net from "node:net"
import { type Ask, ask, type Given, raw, start } from "./server.ts"

const key = "s3cret key"

type Who = "open" | "stats" | "key"

interface Endpoint {
  readonly method: string
  readonly path: string
  readonly who: Who
  readonly writes?: true
  readonly body?: object
  /** The status once it is let in. */
  readonly status: number
}

const endpoints: ReadonlyArray<Endpoint> = [
  { method: "GET", path: "/health", who: "open", status: 200 },
  { method: "GET", path: "/ready", who: "open", status: 200 },
  { method: "GET", path: "/openapi.json", who: "open", status: 200 },
  { method: "GET", path: "/docs", who: "open", status: 200 },
  { method: "GET", path: "/stats", who: "stats", status: 200 },
  { method: "GET", path: "/metrics", who: "stats", status: 200 },
  { method: "GET", path: "/collections", who: "stats", status: 200 },
  { method: "POST", path: "/query", who: "key", body: { query: "x" }, status: 200 },
  { method: "POST", path: "/prompt", who: "key", body: { query: "x" }, status: 200 },
  { method: "POST", path: "/ask", who: "key", body: { query: "x" }, status: 200 },
  { method: "GET", path: "/documents/x", who: "key", status: 404 },
  { method: "GET", path: "/ws", who: "key", status: 426 },
  { method: "POST", path: "/mcp", who: "key", body: {}, status: 400 },
  { method: "GET", path: "/mcp", who: "key", status: 400 },
  { method: "DELETE", path: "/mcp", who: "key", status: 400 },
  { method: "POST", path: "/index", who: "key", writes: true, body: { documents: [] }, status: 400 },
  { method: "DELETE", path: "/documents?source=a", who: "key", writes: true, status: 200 },
  { method: "DELETE", path: "/documents", who: "key", writes: true, body: { source: "a" }, status: 200 },
  { method: "DELETE", path: "/documents/x", who: "key", writes: true, status: 404 },
  { method: "POST", path: "/collections", who: "key", writes: true, body: {}, status: 400 },
  { method: "DELETE", path: "/collections/x", who: "key", writes: true, status: 404 }
]

const shown: Readonly<Record<string, { readonly authorization?: string }>> = {
  missing: {},
  wrong: { authorization: "Bearer other" },
  "almost right": { authorization: `Bearer ${key}x` },
  "of another scheme": { authorization: `Token: ${key}` },
  basic: { authorization: `Basic ${Buffer.from(`:${key}`).toString("base64")}` },
  bare: { authorization: key },
  right: { authorization: `Bearer ${key}` },
  "right, in small letters": { authorization: `bearer ${key}` }
}

for (const apiKey of [undefined, key]) {
  for (const publicStats of [false, true]) {
    for (const readOnly of [false, true]) {
      const setting = `key ${apiKey === undefined ? "unset" : "set"}, public_stats ${publicStats}, read_only ${readOnly}`
      it.scopedLive(`lets in who may: ${setting}`, () =>
        Effect.gen(function* () {
          const given: Given = { settings: { public_stats: publicStats, server: { read_only: readOnly } } }
          const { port } = yield* start(apiKey === undefined ? given : { ...given, apiKey })
          // Every way to show it where most is refused; what is read of it depends on no setting.
          const isStrict = apiKey !== undefined && !publicStats && readOnly
          const names = isStrict ? Object.keys(shown) : ["missing", "wrong", ...(apiKey === undefined ? [] : ["right"])]
          for (const { body, method, path, status, who, writes } of endpoints) {
            for (const name of names) {
              const headers = shown[name]!
              const sent: Ask = { headers, ...(body === undefined ? {} : { body }) }
              const answer = yield* ask(port, method, path, sent)
              const open = apiKey === undefined || who === "open" || (who === "stats" && publicStats)
              const letIn = open || name.startsWith("right")
              const expected = !letIn ? 401 : writes && readOnly ? 403 : status
              assert.strictEqual(answer.status, expected, `${method} ${path}, key ${name}`)
              if (expected === 401) {
                assert.strictEqual(answer.headers["www-authenticate"], "Bearer")
                assert.strictEqual(answer.json._tag, "Unauthorized")
              }
              if (expected === 403) assert.strictEqual(answer.json._tag, "ReadOnly")
            }
          }
        })
      )
    }
  }
}

const mebibyte = 1024 * 1024

/** Sends a head and then as much as is taken; what came back, and the bytes that were taken until the connection ended. */
const pour = (port: number, head: ReadonlyArray<string>, chunked = false) =>
  Effect.async<{ readonly answer: string; readonly taken: number }>((resume) => {
    const data = Buffer.alloc(65_536, "x")
    const part = chunked ? Buffer.concat([Buffer.from("10000\r\n"), data, Buffer.from("\r\n")]) : data
    let answer = ""
    let taken = 0
    const socket = Net.connect({ port, host: "127.0.0.1", allowHalfOpen: true }, () => {
      socket.write(`${head.join("\r\n")}\r\n\r\n`)
      const more = () => {
        if (taken > 400 * mebibyte) return socket.destroy()
        return socket.write(part, (error) => {
          if (error) return
          taken += part.length
          more()
        })
      }
      more()
    })
    socket.on("data", (chunk) => (answer += chunk.toString("latin1")))
    socket.on("error", () => {})
    socket.on("close", () => resume(Effect.succeed({ answer, taken })))
  })

it.scopedLive("takes next to nothing of a body that it will not use, and hangs up", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ apiKey: key, settings: { server: { max_body_bytes: 1024 } } })
    const head = (first: string, ...more: ReadonlyArray<string>) => [
      `${first} HTTP/1.1`,
      "host: localhost",
      "content-type: application/json",
      ...more
    ]
    const declared = "content-length: 900000000"
    const chunked = "transfer-encoding: chunked"
    const known = `authorization: Bearer ${key}`
    const cases: ReadonlyArray<readonly [status: number, head: ReadonlyArray<string>]> = [
      [401, head("POST /index", declared)],
      [401, head("POST /index", chunked)],
      [413, head("POST /index", declared, known)],
      [413, head("POST /index", chunked, known)],
      [415, head("POST /query", declared, known, "content-encoding: gzip")],
      [404, head("POST /nowhere", declared)],
      [405, head("POST /health", declared)],
      [200, head("GET /health", declared)]
    ]
    const poured = yield* Effect.forEach(cases, ([, lines]) => pour(port, lines, lines.includes(chunked)), {
      concurrency: "unbounded"
    })
    for (const [at, { answer, taken }] of poured.entries()) {
      const [status, lines] = cases[at]!
      assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `), lines.join(" "))
      assert.match(answer, /\r\nconnection: close\r\n/i)
      // What the system's buffers hold is taken too.
      assert.isBelow(taken, 12 * mebibyte, lines.join(" "))
    }
  })
)

it.scopedLive("asks for a body only where it will be read", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ apiKey: key, settings: { server: { max_body_bytes: 1024 } } })
    const body = '{"query":"x"}'
    const first = (length: number, ...more: ReadonlyArray<string>) =>
      Effect.async<string>((resume) => {
        const head = [
          "POST /query HTTP/1.1",
          "host: localhost",
          "connection: close",
          "content-type: application/json",
          `content-length: ${length}`,
          "expect: 100-continue",
          ...more
        ]
        const socket = Net.connect(port, "127.0.0.1", () => socket.write(`${head.join("\r\n")}\r\n\r\n`))
        let answer = ""
        socket.on("data", (chunk) => {
          answer += chunk.toString("latin1")
          if (answer === "HTTP/1.1 100 Continue\r\n\r\n") socket.write(body)
        })
        socket.on("error", () => {})
        socket.on("close", () => resume(Effect.succeed(answer)))
      })
    assert.match(yield* first(body.length), /^HTTP\/1\.1 401 /)
    assert.match(yield* first(5000, `authorization: Bearer ${key}`), /^HTTP\/1\.1 413 /)
    assert.match(
      yield* first(body.length, `authorization: Bearer ${key}`),
      /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/
    )
  })
)

it.scopedLive("keeps the connection of a client that sent a small body in vain", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ apiKey: key })
    const body = '{"query":"x"}'
    const refused = `POST /query HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    const last = "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    const answer = yield* Effect.async<string>((resume) => {
      let all = ""
      const socket = Net.connect(port, "127.0.0.1", () => socket.write(refused))
      socket.on("data", (chunk) => {
        if (all === "") socket.write(last)
        all += chunk.toString("latin1")
      })
      socket.on("close", () => resume(Effect.succeed(all)))
    })
    assert.match(answer, /^HTTP\/1\.1 401 [^]*HTTP\/1\.1 200 OK/)
    // Longer than a proxy keeps it.
    assert.match(answer, /\r\nkeep-alive: timeout=75\r\n/i)
    // One that never comes is not waited for.
    const half = yield* raw(port, refused.slice(0, -5))
    assert.match(half, /^HTTP\/1\.1 401 /)
  })
)

it.scopedLive("closes a connection that leaves more than a hundred requests unanswered", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ apiKey: key })
    const answered = (count: number) =>
      Effect.async<number>((resume) => {
        const one = "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"
        const last = "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        let all = ""
        const socket = Net.connect(port, "127.0.0.1", () => socket.write(one.repeat(count - 1) + last))
        socket.on("data", (chunk) => (all += chunk.toString("latin1")))
        socket.on("error", () => {})
        socket.on("close", () => resume(Effect.succeed(all.match(/HTTP\/1\.1 200 OK/g)?.length ?? 0)))
      })
    assert.strictEqual(yield* answered(100), 100)
    assert.isBelow(yield* answered(1000), 1000)
    assert.strictEqual(yield* answered(100), 100)
  })
)

it.scopedLive("answers only to the names of this machine when there is no key", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const status = (host: string, path = "/collections") =>
      Effect.map(ask(port, "GET", path, { headers: { host } }), ({ status }) => status)
    for (const host of [
      "localhost",
      `localhost:${port}`,
      "127.0.0.1:80",
      "127.3.2.1",
      "[::1]:99",
      "LOCALHOST",
      "clew.localhost",
      "localhost.",
      `localhost.:${port}`
    ]) {
      assert.strictEqual(yield* status(host), 200, host)
    }
    for (const host of [
      "evil.com",
      "[::1]evil.com",
      "[::1",
      "[]",
      "localhost.evil.com",
      "127.0.0.1.nip.io",
      "10.0.0.1",
      "evil.com:8484"
    ]) {
      for (const path of ["/collections", "/docs", "/openapi.json", "/ready"]) {
        assert.strictEqual(yield* status(host, path), 403, `${host} ${path}`)
      }
      assert.strictEqual(yield* status(host, "/health"), 200)
    }
    const keyed = yield* start({ apiKey: key })
    const answer = yield* ask(keyed.port, "GET", "/collections", {
      headers: { host: "search.example.com", authorization: `Bearer ${key}` }
    })
    assert.strictEqual(answer.status, 200)
  })
)

it.scopedLive("lets no other site's page write when there is no key", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const remove = (port: number, headers: Record<string, string>) =>
      Effect.map(ask(port, "DELETE", "/documents?source=a", { headers }), ({ status }) => status)
    assert.strictEqual(yield* remove(port, { origin: "https://evil.com" }), 403)
    assert.strictEqual(yield* remove(port, { origin: "null" }), 403)
    assert.strictEqual(yield* remove(port, { origin: "http://localhost:3000" }), 403)
    assert.strictEqual(yield* remove(port, { origin: `http://127.0.0.1:${port}` }), 200)
    assert.strictEqual(yield* remove(port, {}), 200)
    const cancelled = yield* ask(port, "DELETE", "/jobs/any", { headers: { origin: "https://evil.com" } })
    assert.strictEqual(cancelled.status, 403)
    const writes = [
      "/index",
      "/files",
      "/collections",
      "/collections/a/reindex",
      "/graph/build",
      "/judgements",
      "/import"
    ]
    const reads = ["/query", "/similar", "/prompt", "/ask", "/compare", "/v1/chat/completions", "/v1/embeddings"]
    for (const path of [...writes, ...reads]) {
      const post = (origin: string) => ask(port, "POST", path, { body: { query: "x" }, headers: { origin } })
      // By default any page may read (CORS).
      const foreign = yield* post("https://evil.com")
      assert.strictEqual(foreign.status === 403, writes.includes(path), path)
      assert.strictEqual(foreign.headers["access-control-allow-origin"], "*")
      assert.notStrictEqual((yield* post(`http://127.0.0.1:${port}`)).status, 403, path)
    }
    for (const path of ["/query", "/prompt", "/ask", "/index"]) {
      // A page of another site sends a body without a type, or of a simple one, with nobody asked first.
      const untyped = yield* ask(port, "POST", path, {
        body: '{"query":"x"}'
      })
      assert.strictEqual(untyped.status, 415, path)
    }
    const listed = yield* start({ settings: { server: { cors_origins: ["https://app.example.com"] } } })
    assert.strictEqual(yield* remove(listed.port, { origin: "https://app.example.com" }), 200)
    assert.strictEqual(yield* remove(listed.port, { origin: "https://evil.com" }), 403)
    const keyed = yield* start({ apiKey: key })
    assert.strictEqual(yield* remove(keyed.port, { origin: "https://evil.com", authorization: `Bearer ${key}` }), 200)
  })
)

it.scopedLive("tells browsers that any page may call, or those that are listed", () =>
  Effect.gen(function* () {
    const preflight = (port: number, origin: string) =>
      ask(port, "OPTIONS", "/query", {
        headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization" }
      })
    const open = yield* start({ apiKey: key })
    const granted = yield* preflight(open.port, "https://a.example.com")
    assert.strictEqual(granted.status, 204)
    assert.deepInclude(granted.headers, {
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "POST, OPTIONS"
    })
    assert.include(granted.headers["access-control-allow-headers"], "authorization")
    const openai = yield* ask(open.port, "OPTIONS", "/v1/chat/completions", {
      headers: {
        origin: "https://a.example.com",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,b3,traceparent,x-evil,X-Stainless-Lang,x-stainless-retry-count"
      }
    })
    assert.strictEqual(
      openai.headers["access-control-allow-headers"],
      "authorization, content-type, prefer, x-request-id, b3, traceparent, x-stainless-lang, x-stainless-retry-count"
    )
    const failed = yield* ask(open.port, "POST", "/query", { body: {}, headers: { origin: "https://a.example.com" } })
    assert.deepInclude(failed.headers, { "access-control-allow-origin": "*" })
    assert.include(failed.headers["access-control-expose-headers"], "retry-after")

    const narrow = yield* start({
      apiKey: key,
      settings: { server: { cors_origins: ["https://a.example.com", "https://b.example.com"] } }
    })
    const one = yield* preflight(narrow.port, "https://b.example.com")
    assert.deepInclude(one.headers, { "access-control-allow-origin": "https://b.example.com", vary: "Origin" })
    const other = yield* preflight(narrow.port, "https://evil.com")
    assert.notProperty(other.headers, "access-control-allow-origin")
    assert.strictEqual(other.headers["vary"], "Origin")
  })
)

it.scopedLive("holds each client to the rate limit, but for health and ready", () =>
  Effect.gen(function* () {
    // Stands still, so that no token comes back however slow the machine is.
    const now = Effect.succeed(1_000_000)
    const clock: Clock.Clock = Object.create(Clock.make(), { currentTimeMillis: { value: now } })
    const { port } = yield* start({ clock, settings: { rate_limit_per_second: 1 } })
    const get = (path: string) => ask(port, "GET", path, { headers: { "x-forwarded-for": String(Math.random()) } })
    assert.strictEqual((yield* get("/collections")).status, 200)
    const over = yield* get("/collections")
    assert.strictEqual(over.status, 429)
    assert.strictEqual(over.headers["retry-after"], "1")
    assert.strictEqual(over.json._tag, "TooManyRequests")
    for (let n = 0; n < 5; n++) {
      assert.strictEqual((yield* get("/health")).status, 200)
      assert.strictEqual((yield* get("/ready")).status, 200)
    }
    const trusting = yield* start({ clock, settings: { rate_limit_per_second: 1, server: { trust_proxy: true } } })
    const from = (forwarded: string) =>
      Effect.map(
        ask(trusting.port, "GET", "/collections", { headers: { "x-forwarded-for": forwarded } }),
        ({ status }) => status
      )
    assert.strictEqual(yield* from("9.9.9.9, 1.1.1.1"), 200)
    assert.strictEqual(yield* from("9.9.9.9, 2.2.2.2"), 200)
    // What the client itself wrote before the proxy's entry counts for nothing.
    assert.strictEqual(yield* from("8.8.8.8, 1.1.1.1"), 429)
    // One IPv6 host has a whole /64.
    assert.strictEqual(yield* from("2001:db8::1"), 200)
    assert.strictEqual(yield* from("2001:db8:0:0:ffff::2"), 429)
    assert.strictEqual(yield* from("2001:db8:0:1::1"), 200)
    // Some proxies write a port, another one for each connection.
    assert.strictEqual(yield* from("1.1.1.1:50123"), 429)
    assert.strictEqual(yield* from("[2001:db8::3]:50124"), 429)
    assert.strictEqual(yield* from("[2001:db8::3]"), 429)
    // What is no address counts for the proxy itself.
    assert.strictEqual(yield* from("unknown"), 200)
    assert.strictEqual(yield* from("_hidden"), 429)
  })
)
