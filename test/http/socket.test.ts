import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Net from "node:net"
import { vi } from "vitest"
import { WebSocket } from "ws"
import { makePulse, type Signs } from "../../src/http/socket.ts"
import { ask, type Line, open, start } from "./server.ts"

const documents = Array.from({ length: 8 }, (_, n) => ({
  content: `the maze has turning ${n}`,
  metadata: { source: `m${n}` }
}))

const filled = start({ documents })

it.scopedLive("streams results one by one, with the id of the question", () =>
  Effect.gen(function* () {
    const { port } = yield* filled
    const { answer, send } = yield* open(port)
    send({ type: "search", id: "q1", query: "maze turning", top_k: 3 })
    const all = yield* answer
    assert.deepStrictEqual(
      all.map(({ id, index, type }) => [type, id, index]),
      [
        ["result", "q1", 1],
        ["result", "q1", 2],
        ["result", "q1", 3],
        ["done", "q1", undefined]
      ]
    )
    assert.hasAllKeys(all[0].result, ["text", "score", "relevance", "metadata", "indexed_at"])
    assert.deepInclude(all[3], { count: 3, mode: "vector" })
    assert.isTrue(Number.isInteger(all[3].query_time_ms))

    const http = yield* ask(port, "POST", "/query", { body: { query: "maze turning", top_k: 3 } })
    assert.deepStrictEqual(
      all.slice(0, 3).map(({ result }) => result),
      http.json.results
    )
    send({ type: "search", id: 7, query: "turning", hybrid: true, alpha: 0, filter: { source: "m1" } })
    const filtered = yield* answer
    assert.deepInclude(filtered.at(-1), { id: 7, count: 1, mode: "keyword" })
  })
)

it.scopedLive("refuses a budget that has no room for a passage, and says which has", () =>
  Effect.gen(function* () {
    const { port } = yield* filled
    const { answer, send } = yield* open(port)
    send({ type: "prompt", id: "p", query: "maze", max_tokens: 20 })
    const { error, id, type } = (yield* answer)[0]
    assert.deepStrictEqual([type, id, error.status, error.errors[0].path], ["error", "p", 400, "max_tokens"])
    assert.match(error.detail, /give at least \d+/)
  })
)

it.scopedLive("streams a prompt that together is the one of POST /prompt", () =>
  Effect.gen(function* () {
    const { port } = yield* filled
    const { answer, send } = yield* open(port)
    send({ type: "prompt", query: "maze", top_k: 8 })
    const all = yield* answer
    const http = yield* ask(port, "POST", "/prompt", { body: { query: "maze", top_k: 8 } })
    assert.isAbove(all.length, 2)
    assert.strictEqual(
      all
        .slice(0, -1)
        .map(({ text }) => text)
        .join(""),
      http.json.prompt
    )
    assert.deepInclude(all.at(-1), { type: "done", count: 8 })
    assert.notProperty(all.at(-1), "id")
  })
)

it.scopedLive("answers what is wrong and stays open", () =>
  Effect.gen(function* () {
    const { port } = yield* filled
    const { answer, send, socket } = yield* open(port)
    const error = (message: unknown) => {
      send(message)
      return Effect.map(answer, ([first]) => first)
    }
    for (const rubbish of ["{", "", "[]", "null", "1"]) {
      assert.deepInclude((yield* error(rubbish)).error, { status: 400, _tag: "MalformedBody" })
    }
    const deep = yield* error(`{"type":"search","query":"x","filter":${'{"a":'.repeat(5000)}1${"}".repeat(5001)}`)
    assert.deepInclude(deep.error, {
      _tag: "MalformedBody",
      detail: "The message is nested deeper than 100 levels"
    })
    const lost = yield* error('{"type":"search","query":"x","filter":{"__proto__":"a"}}')
    assert.deepInclude(lost.error, { status: 400, _tag: "MalformedBody" })
    const untyped = yield* error({ id: "a", query: "x" })
    assert.strictEqual(untyped.id, "a")
    assert.deepStrictEqual(untyped.error.errors, [{ path: "type", message: 'must be "search", "prompt" or "ping"' }])
    const wrong = yield* error({ type: "search", id: "b", query: "", top_k: 101, nope: 1 })
    assert.sameMembers(
      wrong.error.errors.map((it: { path: string }) => it.path),
      ["query", "top_k", "nope"]
    )
    const missing = yield* error({ type: "search", query: "x", collection: "nope" })
    assert.deepInclude(missing.error, {
      status: 404,
      _tag: "CollectionNotFound",
      title: "Not Found",
      type: "about:blank"
    })
    socket.send(Buffer.from('{"type":"ping"}'), { binary: true })
    assert.deepInclude((yield* Effect.map(answer, ([first]) => first)).error, { _tag: "MalformedBody" })
    send({ type: "ping", id: "p" })
    assert.deepStrictEqual(yield* answer, [{ type: "pong", id: "p" }])
  })
)

it.scopedLive("answers many messages at once, each in its turn", () =>
  Effect.gen(function* () {
    const { port } = yield* filled
    const { answer, send } = yield* open(port)
    for (let id = 0; id < 200; id++)
      send({ type: id % 3 === 0 ? "ping" : "search", id, ...(id % 3 === 0 ? {} : { query: "maze" }) })
    for (let id = 0; id < 200; id++) {
      const all = yield* answer
      assert.isTrue(all.every((message) => message.id === id))
    }
  })
)

it.scopedLive("opens only with the key, in the header or as a browser can send it", () =>
  Effect.gen(function* () {
    const key = "a key/with+signs"
    const { port } = yield* start({ apiKey: key })
    const carried = (key: string) => `bearer.${Buffer.from(key).toString("base64url")}`
    const bearer = yield* open(port, { headers: { authorization: `Bearer ${key}` } })
    bearer.send({ type: "ping" })
    assert.deepStrictEqual(yield* bearer.answer, [{ type: "pong" }])
    const browser = yield* open(port, {
      protocols: ["clew", carried(key)],
      headers: { origin: "https://a.example.com" }
    })
    assert.strictEqual(browser.socket.protocol, "clew")
    const alone = yield* open(port, { protocols: [carried(key)] })
    assert.strictEqual(alone.socket.protocol, carried(key))
    for (const options of [
      {},
      { headers: { authorization: "Bearer no" } },
      { protocols: [carried("no")] },
      { protocols: ["clew"] }
    ]) {
      const refused = yield* Effect.flip(open(port, options))
      assert.strictEqual(refused.status, 401)
      assert.strictEqual(refused.json._tag, "Unauthorized")
    }
  })
)

it.scopedLive("opens to no other site's page when there is no key", () =>
  Effect.gen(function* () {
    const { port } = yield* start()
    const foreign = yield* Effect.flip(open(port, { headers: { origin: "https://evil.com" } }))
    assert.deepStrictEqual([foreign.status, foreign.json._tag], [403, "Forbidden"])
    const host = yield* Effect.flip(open(port, { headers: { host: "evil.com" } }))
    assert.strictEqual(host.status, 403)
    yield* open(port, { headers: { origin: `http://127.0.0.1:${port}` } })
    const listed = yield* start({ settings: { server: { cors_origins: ["https://app.example.com"] } } })
    yield* open(listed.port, { headers: { origin: "https://app.example.com" } })
  })
)

it.scopedLive("holds to its limits", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ settings: { server: { max_sockets: 2, max_body_bytes: 5000 } } })
    const first = yield* open(port)
    yield* open(port)
    const third = yield* Effect.flip(open(port))
    assert.deepStrictEqual([third.status, third.json._tag], [503, "TooManySockets"])
    first.send({ type: "ping", id: "x".repeat(5000) })
    assert.strictEqual((yield* first.ended).code, 1009)
    // The place is free again.
    yield* Effect.retry(open(port), { times: 20 })

    const limited = yield* start({ settings: { rate_limit_per_second: 3 } })
    const chatty = yield* open(limited.port)
    for (let id = 0; id < 5; id++) chatty.send({ type: "ping", id })
    const answers: Array<any> = []
    for (let id = 0; id < 5; id++) answers.push((yield* chatty.answer)[0])
    const refused = answers.filter(({ type }) => type === "error")
    assert.isAtLeast(refused.length, 2)
    assert.deepInclude(refused[0].error, { status: 429, _tag: "TooManyRequests" })

    const garbled = yield* start({ settings: { rate_limit_per_second: 3 } })
    const garbling = yield* open(garbled.port)
    for (let id = 0; id < 5; id++) garbling.send("no JSON")
    const statuses: Array<number> = []
    for (let id = 0; id < 5; id++) statuses.push((yield* garbling.answer)[0].error.status)
    assert.include(statuses, 429)
  })
)

/** A server whose answers are about 200 kB each, and its figures. */
const heavy = Effect.gen(function* () {
  const long = Array.from({ length: 100 }, (_, n) => ({ content: `maze ${n} ${"words and more words ".repeat(100)}` }))
  const { port } = yield* start({ documents: long })
  const figure = (name: string) =>
    Effect.map(ask(port, "GET", "/metrics"), ({ text }) =>
      Number(
        text
          .split("\n")
          .find((line) => line.startsWith(`${name} `))
          ?.split(" ")[1] ?? 0
      )
    )
  const searched = figure('clew_websocket_messages_total{type="search"}')
  /** Searches so far, once thirty other answers in a row have seen no more. */
  const settled = Effect.gen(function* () {
    let [last, same] = [-1, 0]
    while (same < 30) {
      const now = yield* searched
      same = now === last ? same + 1 : 0
      last = now
    }
    return last
  })
  return { port, searched, settled, connections: figure("clew_websocket_connections") }
})

it.scopedLive("waits for a slow reader instead of piling up answers", () =>
  Effect.gen(function* () {
    const { port, searched, settled } = yield* heavy
    const first = yield* searched
    const slow = yield* open(port)
    slow.socket.pause()
    for (let id = 0; id < 120; id++) slow.send({ type: "search", id, query: "maze", top_k: 100 })
    const stuck = yield* settled
    assert.isBelow(stuck, first + 120)
    slow.socket.resume()
    for (let id = 0; id < 120; id++) assert.strictEqual((yield* slow.answer).at(-1).id, id)
    assert.strictEqual(yield* searched, first + 120)
  })
)

it.scopedLive("does no more for a client that has gone, and keeps nobody waiting meanwhile", () =>
  Effect.gen(function* () {
    const { connections, port, searched, settled } = yield* heavy
    const idle = yield* connections
    const slow = yield* open(port)
    slow.socket.pause()
    for (let id = 0; id < 120; id++) slow.send({ type: "search", id, query: "maze", top_k: 100 })
    const stuck = yield* settled
    slow.socket.terminate()
    yield* Effect.repeat(connections, { until: (open) => open === idle })
    assert.strictEqual(yield* searched, stuck)
    assert.strictEqual(yield* settled, stuck)
  })
)

it.scopedLive("reads no more while messages that wait are long", () =>
  Effect.gen(function* () {
    const gate = yield* Deferred.make<void>()
    const reached = yield* Deferred.make<void>()
    const { port } = yield* start({ gate, reached, documents })
    const { answer, send } = yield* open(port)
    const pause = vi.spyOn(WebSocket.prototype, "pause")
    yield* Effect.addFinalizer(() => Effect.sync(() => pause.mockRestore()))
    send({ type: "search", id: 1, query: "maze" })
    yield* Deferred.await(reached)
    for (const id of [2, 3]) send({ type: "search", id, query: "x".repeat(40_000) })
    yield* Effect.repeatN(ask(port, "GET", "/health"), 5)
    assert.strictEqual(pause.mock.calls.length, 1)
    yield* Deferred.succeed(gate, undefined)
    for (const id of [1, 2, 3]) assert.strictEqual((yield* answer).at(-1).id, id)
  })
)

it.scopedLive("holds up no request, however many sockets send messages", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ settings: { rate_limit_per_second: 10_000 } })
    const sockets = yield* Effect.all(Array.from({ length: 20 }, () => open(port)))
    let answered = 0
    for (const { send, socket } of sockets) {
      socket.on("message", () => answered++)
      for (let sent = 0; sent < 16; sent++) send({ type: "ping" })
    }
    yield* sockets[0]!.answer
    yield* ask(port, "GET", "/health")
    assert.isBelow(answered, 20)
    yield* Effect.forEach(sockets, ({ answer }, at) => Effect.repeatN(answer, at === 0 ? 14 : 15))
  })
)

it.scopedLive("finishes the answer in hand and says goodbye when the server shuts down", () =>
  Effect.gen(function* () {
    const gate = yield* Deferred.make<void>()
    const reached = yield* Deferred.make<void>()
    const { port, stop } = yield* start({ gate, reached, documents })
    const idle = yield* open(port)
    const busy = yield* open(port)
    busy.send({ type: "search", id: 1, query: "maze", top_k: 2 })
    yield* Deferred.await(reached)
    const stopping = yield* Effect.fork(stop)
    assert.deepStrictEqual(yield* idle.ended, { code: 1001, reason: "The server is shutting down" })
    yield* Deferred.succeed(gate, undefined)
    const all = yield* busy.answer
    assert.deepInclude(all.at(-1), { type: "done", count: 2 })
    assert.strictEqual((yield* busy.ended).code, 1001)
    yield* Fiber.join(stopping)
  })
)

/** A client's frame, masked with zeros, which leave it readable. */
const frame = (opcode: number, payload: string): Buffer =>
  Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | payload.length, 0, 0, 0, 0]), Buffer.from(payload)])

const upgrade = [
  "GET /ws HTTP/1.1",
  "Host: 127.0.0.1",
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
  "",
  ""
].join("\r\n")

/** The handshake and what goes with it in one packet; what the server says, until it hangs up or has said the last. */
const inOnePacket = (port: number, frames: ReadonlyArray<Buffer>, last?: string, before = "") =>
  Effect.async<Buffer>((resume) => {
    const chunks: Array<Buffer> = []
    const packet = Buffer.concat([Buffer.from(before + upgrade), ...frames])
    const socket = Net.connect(port, "127.0.0.1", () => socket.write(packet))
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk)
      if (last !== undefined && Buffer.concat(chunks).includes(last)) socket.destroy()
    })
    socket.on("error", () => {})
    socket.on("close", () => resume(Effect.succeed(Buffer.concat(chunks))))
  })

it.scopedLive("outlives an invalid frame in the packet of the handshake", () =>
  Effect.gen(function* () {
    const { port } = yield* start({ settings: { server: { max_sockets: 1 } } })
    const invalid = {
      "reserved bits": Buffer.from([0xf1, 0x80, 0, 0, 0, 0]),
      "an unknown opcode": Buffer.from([0x83, 0x80, 0, 0, 0, 0]),
      "no mask": Buffer.from([0x81, 0x01, 0x61]),
      "a fragment of nothing": frame(0x0, "x"),
      "a ping in parts": Buffer.from([0x09, 0x80, 0, 0, 0, 0]),
      "a length beyond every limit": Buffer.from([0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
      "text that is no UTF-8": Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0xff])
    }
    for (const [name, bytes] of Object.entries(invalid)) {
      const said = yield* inOnePacket(port, [bytes])
      assert.match(said.toString("latin1"), /^HTTP\/1\.1 101 /, name)
      // One connection is all there may be: none of those before holds a place.
      assert.strictEqual((yield* ask(port, "GET", "/health")).status, 200, name)
    }
  })
)

it.scopedLive("answers the frames in the packet of the handshake", () =>
  Effect.gen(function* () {
    const { port } = yield* filled
    const messages = Array.from({ length: 40 }, (_, id) => frame(0x1, JSON.stringify({ type: "ping", id })))
    const said = (yield* inOnePacket(port, messages, '"id":39}')).toString("latin1")
    for (let id = 0; id < 40; id++) assert.include(said, `{"type":"pong","id":${id}}`)
  })
)

it.scopedLive("opens a WebSocket behind requests of the same packet, and answers them first", () =>
  Effect.gen(function* () {
    const { port } = yield* filled
    const before = ["/documents", "/openapi.json", "/health"]
      .map((path) => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
      .join("")
    const ping = frame(0x1, JSON.stringify({ type: "ping", id: 1 }))
    const said = (yield* inOnePacket(port, [ping], '"id":1}', before)).toString("latin1")
    const answers = said.match(/HTTP\/1\.1 \d+|"type":"pong"|"status":"ok"|"source":"m7"|"openapi":"3/g)
    assert.deepStrictEqual(answers, [
      "HTTP/1.1 200",
      '"source":"m7"',
      "HTTP/1.1 200",
      '"openapi":"3',
      "HTTP/1.1 200",
      '"status":"ok"',
      "HTTP/1.1 101",
      '"type":"pong"'
    ])
  })
)

/** Sends the handshake and resets the connection at once. */
const abort = (port: number) =>
  Effect.async<void>((resume) => {
    const socket = Net.connect(port, "127.0.0.1", () => socket.write(upgrade, () => socket.resetAndDestroy()))
    socket.on("error", () => {})
    socket.on("close", () => resume(Effect.void))
  })

it.scopedLive("has a place for a client after any number of handshakes that were broken off", () =>
  Effect.gen(function* () {
    const log: Array<Line> = []
    const { port } = yield* start({ settings: { server: { max_sockets: 1 } }, log })
    for (let round = 0; round < 20; round++) {
      yield* Effect.forEach(Array.from({ length: 40 }), () => abort(port), { concurrency: "unbounded" })
    }
    const { answer, send } = yield* Effect.retry(open(port), { times: 50 })
    send({ type: "ping" })
    assert.deepStrictEqual(yield* answer, [{ type: "pong" }])
    assert.deepStrictEqual(
      log.filter(({ message }) => message === "defect"),
      []
    )
  })
)

const silence: Signs = { heard: false, taken: 0, pending: 0, paused: false }

/** Beats until the client counts as gone. */
const beats = (signs: (beat: number) => Signs): number => {
  const isThere = makePulse()
  for (let beat = 1; beat <= 100; beat++) if (!isThere(signs(beat))) return beat
  return Infinity
}

it("gives a silent client one beat", () => {
  assert.strictEqual(
    beats(() => silence),
    1
  )
  // Our own pings going out are no sign of life.
  assert.strictEqual(
    beats((beat) => ({ ...silence, taken: beat * 2 })),
    1
  )
  assert.strictEqual(
    beats(() => ({ ...silence, heard: true })),
    Infinity
  )
})

it("lets a slow reader read, however slow, and waits minutes for one that stands still", () => {
  const reading = (beat: number) => ({ ...silence, pending: 1_000_000 - beat, taken: beat })
  assert.strictEqual(beats(reading), Infinity)
  assert.strictEqual(
    beats((beat) => ({ ...reading(beat), paused: true })),
    Infinity
  )
  assert.strictEqual(
    beats(() => ({ ...silence, pending: 1000 })),
    10
  )
  assert.strictEqual(
    beats(() => ({ ...silence, paused: true })),
    10
  )
  // It went on reading once.
  assert.strictEqual(
    beats((beat) => ({ ...silence, pending: 1000, taken: beat < 8 ? 0 : 5 })),
    18
  )
})
