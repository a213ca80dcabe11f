import { assert, it } from "@effect/vitest"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Net from "node:net"
import { LogConfig } from "../../src/Config.ts"
import { layerTest } from "../../src/http/Listener.ts"

const log = Layer.succeed(LogConfig, { level: "Info", format: "pretty" } as never)

const listening = Effect.gen(function* () {
  const { address, serve } = Context.get(yield* Layer.build(Layer.provide(layerTest(), log)), HttpServer.HttpServer)
  assert.strictEqual(address._tag, "TcpAddress")
  return { port: (address as HttpServer.TcpAddress).port, serve }
})

/** Sends a request, and waits for all of its answer. */
const answerTo = (port: number, request: string, arrived: Deferred.Deferred<void>) =>
  Effect.async<string>((resume) => {
    let answer = ""
    const socket = Net.connect(port, "127.0.0.1", () => socket.write(request))
    // The request is read in the same turn or the next ones.
    setTimeout(() => Deferred.unsafeDone(arrived, Effect.void), 100)
    socket.on("data", (data) => (answer += data))
    socket.on("close", () => resume(Effect.succeed(answer)))
    return Effect.sync(() => socket.destroy())
  })

for (const [name, head] of [
  ["a request", "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"],
  [
    "one that waits to send its body",
    "POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n"
  ],
  ["one for a WebSocket", "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"]
] as const) {
  it.scopedLive(`answers ${name} that comes while its routes are made`, () =>
    Effect.gen(function* () {
      const { port, serve } = yield* listening
      const arrived = yield* Deferred.make<void>()
      const answer = yield* Effect.fork(answerTo(port, head, arrived))
      yield* Deferred.await(arrived)
      yield* serve(Effect.succeed(HttpServerResponse.text("made", { headers: { connection: "close" } })))
      assert.match(yield* Fiber.join(answer), /^HTTP\/1\.1 200 [\s\S]*made$/)
    })
  )
}

it.scopedLive("begins more than one request in a turn of the event loop, so that a busy server has no queue", () =>
  Effect.gen(function* () {
    const { port, serve } = yield* listening
    let [turn, isCounting] = [0, true]
    const count = () => {
      turn++
      if (isCounting) setImmediate(count)
    }
    const begun: Array<number> = []
    yield* serve(Effect.sync(() => HttpServerResponse.text(String(begun.push(turn)))))
    const sockets = Array.from({ length: 20 }, () => Net.connect(port, "127.0.0.1"))
    yield* Effect.addFinalizer(() => Effect.sync(() => sockets.forEach((socket) => socket.destroy())))
    const askAll = Effect.promise(() =>
      Promise.all(
        sockets.map(
          (socket) =>
            new Promise((resolve) => {
              socket.once("data", resolve)
              socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
            })
        )
      )
    )
    // While connections come in, they come first.
    yield* askAll
    begun.length = 0
    count()
    yield* askAll
    isCounting = false
    assert.strictEqual(begun.length, sockets.length)
    assert.isBelow(new Set(begun).size, sockets.length)
  })
)
