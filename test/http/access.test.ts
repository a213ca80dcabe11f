import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type Ask, ask, type Given, start } from "./server.ts"

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
  { method: "GET", path: "/documents/x", who: "key", status: 404 },
  { method: "GET", path: "/ws", who: "key", status: 426 },
  { method: "POST", path: "/index", who: "key", writes: true, body: { documents: [] }, status: 400 },
  { method: "DELETE", path: "/documents?source=a", who: "key", writes: true, status: 200 },
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
          for (const { body, method, path, status, who, writes } of endpoints) {
            for (const [name, headers] of Object.entries(shown)) {
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

it.scopedLive("reads nothing of a body whose sender may not come in", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ apiKey: key, settings: { server: { max_body_bytes: 1024 } } })
    const answer = yield* ask(port, "POST", "/index", {
      body: "x".repeat(100_000),
      headers: { "content-type": "text/plain" }
    })
    assert.strictEqual(answer.status, 401)
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
      "clew.localhost"
    ]) {
      assert.strictEqual(yield* status(host), 200, host)
    }
    for (const host of ["evil.com", "localhost.evil.com", "127.0.0.1.nip.io", "10.0.0.1", "evil.com:8484"]) {
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
    const reading = yield* ask(port, "POST", "/query", {
      body: { query: "x" },
      headers: { origin: "https://evil.com" }
    })
    assert.strictEqual(reading.status, 200)
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
    const { port } = yield* start({ settings: { rate_limit_per_second: 1 } })
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
    const trusting = yield* start({ settings: { rate_limit_per_second: 1, server: { trust_proxy: true } } })
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
  })
)
