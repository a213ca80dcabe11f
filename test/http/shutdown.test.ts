import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Net from "node:net"
import { secondEra } from "../mcp/client.ts"
import { ask, type Line, raw, start } from "./server.ts"

const documents = [{ content: "Bees make honey." }]

const call = { name: "search", arguments: { query: "honey" }, _meta: secondEra }
const mcp = {
  body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: call },
  headers: {
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "search"
  }
}

for (const [path, given] of [
  ["/query", { body: { query: "honey" } }],
  ["/prompt", { body: { query: "honey" } }],
  ["/index", { body: { documents } }],
  ["/mcp", mcp]
] as const) {
  it.scopedLive(`answers what it does not finish in time when it shuts down: ${path}`, () =>
    Effect.gen(function* () {
      const never = yield* Deferred.make<void>()
      const reached = yield* Deferred.make<void>()
      const log: Array<Line> = []
      const held = path === "/index" ? { writing: never } : { gate: never, documents }
      const { port, stop } = yield* start({ ...held, reached, log, grace: Duration.millis(500) })
      const asked = yield* Effect.fork(ask(port, "POST", path, given))
      yield* Deferred.await(reached)
      const stopping = yield* Effect.fork(stop)
      const { headers, json, status } = yield* Fiber.join(asked)
      assert.strictEqual(status, 503)
      assert.strictEqual(json._tag, "StoreUnavailable")
      assert.include(json.detail, "shutting down")
      assert.strictEqual(headers["content-type"], "application/problem+json")
      yield* Fiber.join(stopping)
      assert.isTrue(log.some(({ message }) => message.includes(`POST ${path} 503`)))
      assert.isFalse(log.some(({ message }) => message.includes("defect")))
    })
  )
}

it.scopedLive("answers 503 also for what cannot be interrupted when it shuts down", () =>
  Effect.gen(function* () {
    const gate = yield* Deferred.make<void>()
    const reached = yield* Deferred.make<void>()
    const given = { gate, reached, stubborn: true, grace: Duration.millis(500) }
    const { port, stop } = yield* start({ ...given, documents })
    const asked = yield* Effect.fork(ask(port, "POST", "/query", { body: { query: "honey" } }))
    yield* Deferred.await(reached)
    const stopping = yield* Effect.fork(stop)
    const { json, status } = yield* Fiber.join(asked)
    assert.strictEqual(status, 503)
    assert.include(json.detail, "shutting down")
    yield* Deferred.succeed(gate, undefined)
    yield* Fiber.join(stopping)
  })
)

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`

/** Keeps the event loop from everything else. */
const busy = (millis: number): void => {
  const until = performance.now() + millis
  while (performance.now() < until);
}

/** Connections that the server has not seen yet, each with a request. */
const connected = (port: number, count: number, request: string) =>
  Effect.promise(() =>
    Promise.all(
      Array.from(
        { length: count },
        () =>
          new Promise<Net.Socket>((resolve) => {
            const socket = Net.connect(port, "127.0.0.1", () => resolve(socket))
            socket.write(request)
          })
      )
    )
  )

/** The first line of each connection's answer, or why there is none. */
const firstLines = (sockets: ReadonlyArray<Net.Socket>) =>
  Effect.promise(() =>
    Promise.all(
      sockets.map(
        (socket) =>
          new Promise<string>((resolve) => {
            let text = ""
            socket.on("data", (part) => (text += String(part)))
            socket.on("error", ({ message }) => resolve(message))
            socket.on("close", () => resolve(text.split("\r\n")[0]!))
          })
      )
    )
  )

it.scopedLive("answers connections that have come in before it shuts down, of which it has seen none yet", () =>
  Effect.gen(function* () {
    const { port, stop } = yield* start({ documents, grace: Duration.seconds(10) })
    const sockets = yield* connected(port, 85, get("/health"))
    const [all] = yield* Effect.all([firstLines(sockets), stop], { concurrency: 2 })
    assert.deepStrictEqual(new Set(all), new Set(["HTTP/1.1 200 OK"]))
  })
)

it.scopedLive("answers connections that come in while it is busy for longer than it must be quiet", () =>
  Effect.gen(function* () {
    const { port, stop } = yield* start({ documents, grace: Duration.seconds(10) })
    const sockets = yield* connected(port, 85, get("/health"))
    setImmediate(() => busy(400))
    const [all] = yield* Effect.all([firstLines(sockets), stop], { concurrency: 2 })
    assert.deepStrictEqual(new Set(all), new Set(["HTTP/1.1 200 OK"]))
  })
)

it.scopedLive(
  "turns away what comes in while it shuts down and has more to do than there is time, and resets none",
  () =>
    Effect.gen(function* () {
      const faults = {
        get embedder() {
          busy(15)
          return undefined as unknown as string
        }
      }
      const { port, stop } = yield* start({ documents, faults, grace: Duration.seconds(10) })
      const body = '{"query":"honey"}'
      const head = `POST /query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
      const sockets = yield* connected(port, 85, `${head}\r\n\r\n${body}`)
      const [all] = yield* Effect.all([firstLines(sockets), stop], { concurrency: 2 })
      assert.deepStrictEqual(new Set(all), new Set(["HTTP/1.1 200 OK", "HTTP/1.1 503 Service Unavailable"]))
    })
)

/** What is answered to a client that ends its half of the connection. */
const half = (port: number, bytes: string) =>
  Effect.async<string>((resume) => {
    const socket = Net.connect(port, "127.0.0.1", () => socket.end(bytes))
    let text = ""
    socket.on("data", (part) => (text += String(part)))
    socket.on("error", ({ message }) => resume(Effect.succeed(message)))
    socket.on("close", () => resume(Effect.succeed(text)))
  })

const statuses = (text: string) => Array.from(text.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status]) => status)

it.scopedLive("answers a client that has ended its half of the connection, but does not wait for one that left", () =>
  Effect.gen(function* () {
    const gate = yield* Deferred.make<void>()
    const { port } = yield* start({ documents, gate })
    assert.deepStrictEqual(statuses(yield* half(port, get("/health"))), ["200"])
    assert.deepStrictEqual(statuses(yield* half(port, get("/health") + get("/stats") + get("/health"))), [
      "200",
      "200",
      "200"
    ])
    // Nothing answers this one.
    const body = JSON.stringify({ query: "honey" })
    const head = `POST /query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
    assert.strictEqual(yield* half(port, `${head}\r\n\r\n${body}`), "")
  })
)

it.scopedLive("answers what came before a malformed request first", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ documents })
    assert.deepStrictEqual(
      statuses(yield* raw(port, `${get("/stats")}${get("/nowhere")}BAD\r\n\r\n${get("/health")}`)),
      ["200", "404", "400"]
    )
  })
)
