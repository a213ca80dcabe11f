import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { WebSocket } from "ws"
import * as Http from "node:http"
import * as Net from "node:net"
import { setTimeout } from "node:timers/promises"
import { eventually } from "../ollama.ts"
import { processSamples } from "../../src/http/metrics.ts"
import { type Llm, noUsage } from "../../src/Llm.ts"
import { ask, type Given, type Line, start } from "./server.ts"

const saying = (fragments: Stream.Stream<string>) =>
  ({
    identity: () => Effect.succeed({ backend: "ollama", model: "fake" }),
    window: () => Effect.succeed(undefined),
    answer: () =>
      Effect.succeed({
        llm: { backend: "ollama", model: "fake" },
        fragments,
        isCut: Effect.succeed(false),
        usage: Effect.succeed(noUsage)
      })
  }) as Llm["Type"]

const settings = { log: { format: "json" } } as const

const filled = (given: Given) =>
  Effect.gen(function* () {
    const log: Array<Line> = []
    const server = yield* start({ ...given, settings, log, documents: [{ content: "a maze" }] })
    log.length = 0
    return { ...server, log }
  })

it.scopedLive("logs a defect under the id of its request, in a stream as well", () =>
  Effect.gen(function* () {
    const { log, port } = yield* filled({ llm: saying(Stream.die(new Error("SELECT secret"))) })
    const { text } = yield* ask(port, "POST", "/ask", {
      body: { query: "maze" },
      headers: { "x-request-id": "mine-1" }
    })
    assert.include(text, "event: error")
    assert.include(text, "mine-1")
    assert.notInclude(text, "secret")
    assert.strictEqual(log.find(({ message }) => message.includes("defect"))?.annotations["request_id"], "mine-1")
  })
)

it.scopedLive("logs a defect in a socket's message under the id that the socket was opened with", () =>
  Effect.gen(function* () {
    const faults: NonNullable<Given["faults"]> = {}
    const { log, port } = yield* filled({ faults })
    faults.defect = new Error("SELECT secret")
    const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, { headers: { "x-request-id": "mine-2" } })
    yield* Effect.addFinalizer(() => Effect.sync(() => socket.terminate()))
    const answer = yield* Effect.async<string>((resume) => {
      socket.on("open", () => socket.send('{"type":"search","query":"maze"}'))
      socket.on("message", (data) => resume(Effect.succeed(String(data))))
    })
    assert.include(JSON.parse(answer).error.detail, "mine-2")
    assert.strictEqual(log.find(({ message }) => message.includes("defect"))?.annotations["request_id"], "mine-2")
  })
)

it.scopedLive("counts a stream when it has ended, and one that nobody read to the end as such", () =>
  Effect.gen(function* () {
    const gate = yield* Deferred.make<void>()
    const fragments = Stream.concat(Stream.succeed("a "), Stream.fromEffect(Effect.as(Deferred.await(gate), "maze")))
    const { log, port } = yield* filled({ llm: saying(fragments) })
    const open = (id: string) =>
      Effect.async<Http.IncomingMessage>((resume) => {
        const headers = { "content-type": "application/json", "x-request-id": id }
        Http.request({ host: "127.0.0.1", port, path: "/ask", method: "POST", headers }, (response) => {
          let text = ""
          response.on("data", (chunk) => {
            text += String(chunk)
            if (text.includes("event: token")) resume(Effect.succeed(response))
          })
          response.on("error", () => {})
        }).end('{"query":"maze"}')
      })
    const lineOf = (id: string) => log.find(({ annotations }) => annotations["request_id"] === id)?.annotations
    const read = yield* open("read")
    const left = yield* open("left")
    assert.isUndefined(lineOf("read"))
    left.destroy()
    yield* eventually("the line of the one that was left", () => lineOf("left") !== undefined)
    assert.deepInclude(lineOf("left"), { route: "/ask", status: 499 })
    assert.isUndefined(lineOf("read"))
    yield* Deferred.succeed(gate, undefined)
    yield* eventually("the line of the one that was read", () => lineOf("read") !== undefined)
    assert.deepInclude(lineOf("read"), { route: "/ask", status: 200 })
    assert.isTrue(read.readable || read.readableEnded)
  })
)

it.scopedLive("has every counter from the start, and no series for each status of a histogram", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const { text } = yield* ask(port, "GET", "/metrics")
    for (const series of [
      "clew_http_unauthorized_total",
      "clew_http_rate_limited_total",
      "clew_websocket_connections",
      'clew_websocket_messages_total{type="search"}',
      'clew_indexed_documents_total{status="created"}',
      "clew_indexed_passages_total",
      "clew_deleted_documents_total"
    ]) {
      assert.isTrue(
        text.split("\n").some((line) => line.startsWith(`${series} `)),
        series
      )
    }
    const again = yield* ask(port, "GET", "/metrics")
    assert.include(again.text, 'clew_http_requests_total{route="/metrics",method="GET",status="200"} ')
    assert.include(again.text, 'clew_http_request_duration_seconds_count{route="/metrics",method="GET",status="2xx"} ')
  })
)

it.scopedLive("ends all requests of a connection that is cut off, also those behind an unanswered one", () =>
  Effect.gen(function* () {
    const [gate, reached] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const { log, port } = yield* filled({ gate, reached })
    const head = (path: string, length: number, id: string) =>
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\nX-Request-Id: ${id}\r\n\r\n`
    const query = JSON.stringify({ query: "maze" })
    const packet = `${head("/query", query.length, "first")}${query}${head("/index", 1000, "second")}{"documents": [`
    const socket = Net.connect(port, "127.0.0.1", () => socket.write(packet))
    socket.on("error", () => {})
    yield* Deferred.await(reached)
    // After it, the second has begun too.
    yield* ask(port, "GET", "/documents")
    socket.resetAndDestroy()
    const lines = () => log.map(({ annotations }) => [annotations["request_id"], annotations["status"]].join(" "))
    yield* eventually("both are logged", () => lines().length === 3)
    assert.includeMembers(lines(), ["first 499", "second 499"])
  })
)

it.scopedLive("lets clients take turns, and starts nothing for those who have gone", () =>
  Effect.gen(function* () {
    const { log, port } = yield* filled({})
    const connected = (localAddress: string) =>
      Effect.async<Net.Socket>((resume) => {
        const socket = Net.connect({ port, host: "127.0.0.1", localAddress }, () => resume(Effect.succeed(socket)))
        socket.on("error", () => {})
      })
    const request = (id: string) => `GET /documents HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: ${id}\r\n\r\n`
    const many = yield* Effect.replicateEffect(connected("127.0.0.1"), 60)
    const other = yield* connected("127.0.0.2")
    for (const socket of many) socket.write(request("many"))
    other.write(request("other"))
    // Read, but not begun.
    yield* Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))
    for (const socket of many.slice(30)) socket.resetAndDestroy()
    const ids = () => log.map(({ annotations }) => annotations["request_id"])
    yield* eventually("all that stayed are answered", () => ids().length >= 31)
    assert.isBelow(ids().indexOf("other"), 20)
    // A request may have begun before its client went.
    assert.isBelow(ids().length, 45)
    for (const socket of [other, ...many]) socket.destroy()
  })
)

/** Holds the event loop up, then lets it turn. */
const holdUp = Effect.promise(async () => {
  // The measuring begins with the next turn.
  await setTimeout(60)
  const until = performance.now() + 150
  while (performance.now() < until);
  await setTimeout(60)
})

it.scoped("measures the event loop's lag while somebody asks for it, and else lets the process sleep", () =>
  Effect.gen(function* () {
    const samples = yield* processSamples
    const longest = Effect.map(
      samples,
      (all) => all.find(({ name }) => name === "nodejs_eventloop_lag_max_seconds")!.value
    )
    yield* holdUp
    assert.strictEqual(yield* longest, 0)
    yield* holdUp
    assert.isAbove(yield* longest, 0.05)
    yield* TestClock.adjust(Duration.minutes(5))
    yield* holdUp
    assert.strictEqual(yield* longest, 0)
    yield* holdUp
    assert.isAbove(yield* longest, 0.05)
  })
)
