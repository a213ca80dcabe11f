import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type { Socket } from "node:net"
import type { RawData, WebSocket } from "ws"
import { Api } from "../api/Api.ts"
import { TooManySockets, UpgradeRequired } from "../api/errors.ts"
import type { ServerMessage } from "../api/Socket.ts"
import { ServerConfig } from "../Config.ts"
import { nextTurn } from "../runtime/EventLoop.ts"
import { Access } from "./Access.ts"
import { type Caller, type Incoming, makeAnswer } from "./conversation.ts"
import { clientOf } from "./edge.ts"
import { makeHandshake } from "./handshake.ts"
import { Listener } from "./Listener.ts"
import * as metrics from "./metrics.ts"
import { makePulse } from "./pulse.ts"
import { idOf } from "./respond.ts"

const mebibyte = 1024 * 1024

/** How many messages may wait before reading pauses. */
const waiting = 16

/** The interval of pings; a client with a full pipe has ten times as long to answer. */
const heartbeat = Duration.seconds(30)

/** How long a message may take, and a closing handshake, at shutdown. */
const patience = { answer: Duration.seconds(10), goodbye: Duration.seconds(1) }

/**
 * Waits until the network takes the message, so that a slow reader slows down its writer. If it can no longer be sent,
 * this waits forever: the connection is closing, which interrupts everything.
 */
const sendTo =
  (webSocket: WebSocket) =>
  (message: ServerMessage): Effect.Effect<void> =>
    Effect.async((resume) =>
      webSocket.send(JSON.stringify(message), (error) => {
        if (!error) resume(Effect.void)
      })
    )

interface Connection {
  readonly webSocket: WebSocket
  /** The next message; the client may send more meanwhile. */
  readonly take: Effect.Effect<Incoming>
  readonly closed: Effect.Effect<void>
}

/** Listens to a WebSocket synchronously: frames may have come with the handshake. */
const makeListen = Effect.fnUntraced(function* (socket: Socket) {
  const inbox = yield* Queue.unbounded<Incoming>()
  const closed = yield* Deferred.make<void>()
  const size = () => Option.getOrElse(inbox.unsafeSize(), () => 0)
  const isThere = makePulse()
  return (webSocket: WebSocket): Connection => {
    let heard = true
    const onMessage = (data: RawData, isBinary: boolean) => {
      heard = true
      inbox.unsafeOffer(isBinary ? new Uint8Array() : String(data))
      // Data already read, at most 64 KiB, still arrives.
      if (size() >= waiting) webSocket.pause()
    }
    const pulse = setInterval(() => {
      const pending = socket.writableLength
      const signs = { heard, pending, taken: socket.bytesWritten - pending, paused: webSocket.isPaused }
      heard = false
      if (!isThere(signs)) return webSocket.terminate()
      webSocket.ping()
    }, Duration.toMillis(heartbeat))
    webSocket.on("message", onMessage)
    webSocket.on("pong", () => (heard = true))
    // A close event follows every error.
    webSocket.on("error", () => {})
    webSocket.on("close", () => {
      clearInterval(pulse)
      Deferred.unsafeDone(closed, Effect.void)
    })
    const resume = Effect.sync(() => {
      if (size() < waiting) webSocket.resume()
    })
    return { webSocket, take: Effect.zipLeft(Queue.take(inbox), resume), closed: Deferred.await(closed) }
  }
})

export const layer = HttpApiBuilder.group(Api, "socket", (handlers) =>
  Effect.gen(function* () {
    const access = yield* Access
    const answer = yield* makeAnswer
    const { closing, upgradeOf } = yield* Listener
    const { maxBodyBytes, maxSockets, trustProxy } = yield* ServerConfig
    const handshake = yield* makeHandshake(Math.min(maxBodyBytes, mebibyte))
    let open = 0

    /** Runs until the client goes or the server shuts down; at shutdown the current message is still answered. */
    const converse = Effect.fnUntraced(function* ({ closed, take, webSocket }: Connection, caller: Caller) {
      const send = sendTo(webSocket)
      const shutdown = Effect.as(Deferred.await(closing), undefined)
      const work = Effect.gen(function* () {
        while (true) {
          const message = yield* Effect.raceFirst(take, shutdown)
          if (message === undefined) return
          // Immediate answers would starve other work, and this loop would not notice that the client has gone.
          yield* nextTurn
          if (webSocket.readyState !== webSocket.OPEN) return yield* closed
          const answered = answer(message, caller, send)
          const late = Effect.zipRight(shutdown, Effect.sleep(patience.answer))
          yield* Effect.raceFirst(answered, late)
        }
      })
      yield* Effect.raceFirst(work, closed)
      webSocket.close(1001, "The server is shutting down")
      yield* Effect.timeoutOption(closed, patience.goodbye)
      webSocket.terminate()
    })

    return handlers.handle("socket", () =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        yield* access.authorizeSocket
        const upgrade = upgradeOf(request)
        if (upgrade === undefined) return yield* new UpgradeRequired()
        yield* access.checkOrigin(request)
        if (open >= maxSockets) return yield* new TooManySockets({ limit: maxSockets })
        open++
        const leave = Effect.zipRight(
          metrics.socketClosed,
          Effect.sync(() => open--)
        )
        const listen = yield* makeListen(upgrade.socket)
        const connection = yield* Effect.onError(handshake(request, upgrade, listen), () => Effect.sync(() => open--))
        yield* metrics.socketOpened
        const caller = { client: clientOf(request, trustProxy), requestId: idOf(request) }
        yield* Effect.forkDaemon(Effect.interruptible(Effect.ensuring(converse(connection, caller), leave)))
        return HttpServerResponse.empty({ status: 101 })
        // A client that goes during the handshake must release its slot.
      }).pipe(Effect.uninterruptible)
    )
  })
)
