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
      const { address, serve } = Context.get(yield* Layer.build(Layer.provide(layerTest(), log)), HttpServer.HttpServer)
      assert.strictEqual(address._tag, "TcpAddress")
      const { port } = address as HttpServer.TcpAddress
      const arrived = yield* Deferred.make<void>()
      const answer = yield* Effect.fork(answerTo(port, head, arrived))
      yield* Deferred.await(arrived)
      yield* serve(Effect.succeed(HttpServerResponse.text("made", { headers: { connection: "close" } })))
      assert.match(yield* Fiber.join(answer), /^HTTP\/1\.1 200 [\s\S]*made$/)
    })
  )
}
