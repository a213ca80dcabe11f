import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { type WebSocket, WebSocketServer, type RawData } from "ws"
import type { Socket } from "node:net"
import { Api } from "../api/Api.ts"
import {
  badField,
  fromIssues,
  type InvalidRequest,
  MalformedBody,
  TooManySockets,
  UpgradeRequired
} from "../api/errors.ts"
import { type ClientMessage, clientMessages, MessageId, type ServerMessage } from "../api/Socket.ts"
import { ServerConfig } from "../Config.ts"
import { toSearchResult } from "../model/SearchResult.ts"
import { Prompt } from "../Prompt.ts"
import { RateLimiter } from "../RateLimiter.ts"
import { nextTurn } from "../runtime/EventLoop.ts"
import * as Turn from "../runtime/Turn.ts"
import { Search } from "../Search.ts"
import { didYouMean } from "../terms/nearest.ts"
import { Access } from "./Access.ts"
import { parseJson } from "./body.ts"
import type { Upgrade } from "./connection.ts"
import { Listener } from "./Listener.ts"
import * as metrics from "./metrics.ts"
import { failed, idOf } from "./respond.ts"
import { byContract, foundBy } from "./search.ts"

/** A browser that offers subprotocols expects one of them back; the one with the key only if there is no other. */
const choose = (offered: Set<string>): string | false =>
  offered.has("clew") ? "clew" : ([...offered].find((name) => name.startsWith("bearer.")) ?? false)

/**
 * Turns upgrade requests into WebSockets; a message of more than `maxPayload` bytes closes its connection with 1009.
 */
const makeHandshake = (maxPayload: number) =>
  Effect.sync(() => {
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload,
      handleProtocols: choose
    })
    const refused = new WeakMap<object, (error: Error) => void>()
    server.on("wsClientError", (error, socket) => refused.get(socket)?.(error))

    /**
     * `listen` must run synchronously: frames that came with the handshake are read before anything else happens.
     * Interrupts itself if the client goes first.
     */
    return <A>(
      request: HttpServerRequest.HttpServerRequest,
      { head, release, socket }: Upgrade,
      listen: (webSocket: WebSocket) => A
    ) =>
      Effect.async<A, InvalidRequest>((resume) => {
        refused.set(socket, ({ message }) => resume(badField("", message)))
        // ws calls nobody back about a socket that was cut off before.
        const onClose = () => resume(Effect.interrupt)
        if (socket.closed) return onClose()
        socket.once("close", onClose)
        server.handleUpgrade(NodeHttpServerRequest.toIncomingMessage(request), socket, head, (webSocket) => {
          socket.off("close", onClose)
          release()
          resume(Effect.succeed(listen(webSocket)))
        })
      })
  })

/** Signs of life of a connection's client. */
export interface Signs {
  /** The client sent something since the last beat: a message or a pong. */
  readonly heard: boolean
  /** Bytes written that the network has taken. */
  readonly taken: number
  /** Bytes written that it has not taken yet. */
  readonly pending: number
  /** Reading is paused until the client takes what is written, so it cannot be heard. */
  readonly paused: boolean
}

/** Beats without a sign after which a client counts as gone: it had one interval to answer a ping. */
const silent = 1
/** The same for a client that must first read a response. */
const stalled = 10

/** Tells at each beat whether a client is still there. A slow reader counts as there while it takes anything. */
export const makePulse = (): ((signs: Signs) => boolean) => {
  let missed = 0
  let before: Signs = { heard: true, taken: 0, pending: 0, paused: false }
  return (signs) => {
    // If nothing was pending, the network only took our own ping.
    const progress = before.pending > 0 && signs.taken > before.taken
    missed = signs.heard || progress ? 0 : missed + 1
    before = signs
    return missed < (signs.paused || signs.pending > 0 ? stalled : silent)
  }
}

/** A message as received: a string; bytes are never a valid message. */
type Incoming = string | Uint8Array

const isType = Schema.is(Schema.Literal("search", "prompt", "ping"))
const isId = Schema.is(MessageId)

const decoders = {
  search: Schema.decodeUnknown(clientMessages.search),
  prompt: Schema.decodeUnknown(clientMessages.prompt),
  ping: Schema.decodeUnknown(clientMessages.ping)
} satisfies Record<ClientMessage["type"], unknown>

const decode = (value: object): Effect.Effect<ClientMessage, InvalidRequest> => {
  const type: unknown = "type" in value ? value.type : undefined
  if (!isType(type)) return badField("type", 'must be "search", "prompt" or "ping"')
  const decoded: Effect.Effect<ClientMessage, ParseResult.ParseError> = decoders[type](value)
  return Effect.catchAll(decoded, (error) =>
    Effect.flatMap(ParseResult.ArrayFormatter.formatError(error), (issues) => fromIssues(issues, didYouMean))
  )
}

const parse = (
  incoming: Incoming
): Effect.Effect<{ readonly [key: string]: unknown }, MalformedBody | InvalidRequest> =>
  typeof incoming === "string"
    ? Effect.filterOrFail(
        parseJson("The message", Buffer.from(incoming)),
        Predicate.isRecord,
        () => new MalformedBody({ reason: "The message is not a JSON object" })
      )
    : new MalformedBody({ reason: "The message is not JSON in a text frame" })

/** Characters of a part of a prompt, about. */
const partLength = 1000

/** Splits a text into parts, at line ends if possible. */
const fragments = function* (text: string): Iterable<string> {
  for (let at = 0; at < text.length;) {
    const line = text.lastIndexOf("\n", at + partLength)
    const whole = line > at ? line + 1 : Math.min(text.length, at + partLength)
    // A surrogate pair stays together.
    const end = whole < text.length && /[\uD800-\uDBFF]/.test(text[whole - 1]!) ? whole + 1 : whole
    yield text.slice(at, end)
    at = end
  }
}

/**
 * The sender of a message: its key for the rate limit, and the id of the request that opened the connection, for the
 * log.
 */
interface Sender {
  readonly client: string
  readonly requestId: string
  /** Fails once its key is gone. */
  readonly admitted: Effect.Effect<unknown, Effect.Effect.Error<Access["authorizeSocket"]>>
}

/** Answers one client's messages, each completely before the next; `send` waits until the client takes more. */
const makeAnswer = Effect.gen(function* () {
  const search = yield* Search
  const prompt = yield* Prompt
  const limiter = yield* RateLimiter

  return (
    incoming: Incoming,
    { admitted, client, requestId }: Sender,
    send: (message: ServerMessage) => Effect.Effect<void>
  ): Effect.Effect<void> => {
    let id: { readonly id?: MessageId } = {}

    const searched = Effect.fn("Socket.search")(function* (message: ClientMessage & { type: "search" }) {
      const outcome = yield* search.run({ ...Struct.omit(message, "id", "type"), ...byContract })
      for (const [index, hit] of outcome.hits.entries()) {
        yield* send({ type: "result", ...id, index: index + 1, result: toSearchResult(hit) })
      }
      const { explain, facets } = outcome
      yield* send({
        type: "done",
        ...id,
        count: outcome.hits.length,
        ...foundBy(outcome),
        ...(facets && { facets }),
        ...(explain && { explain })
      })
    })

    const prompted = Effect.fn("Socket.prompt")(function* (message: ClientMessage & { type: "prompt" }) {
      const outcome = yield* prompt.run({ ...Struct.omit(message, "id", "type"), ...byContract })
      for (const text of fragments(outcome.prompt)) yield* send({ type: "prompt", ...id, text })
      const omitted = outcome.omitted === 0 ? {} : { omitted: outcome.omitted }
      yield* send({ type: "done", ...id, count: outcome.hits.length, ...foundBy(outcome), ...omitted })
    })

    return Effect.gen(function* () {
      const value = yield* Effect.either(parse(incoming))
      if (Either.isRight(value) && isId(value.right["id"])) id = { id: value.right["id"] }
      yield* Effect.tapError(limiter.take(client), () => metrics.rateLimited)
      yield* admitted
      const message = yield* Effect.flatMap(value, decode)
      yield* metrics.socketMessage(message.type)
      if (message.type === "search") return yield* searched(message)
      if (message.type === "prompt") return yield* prompted(message)
      return yield* send({ type: "pong", ...id })
    }).pipe(
      Effect.catchAllCause((cause) =>
        Effect.flatMap(failed(cause, requestId), ({ body }) =>
          Effect.zipRight(
            body.status === 400 ? metrics.socketMessage("invalid") : Effect.void,
            send({ type: "error", ...id, error: body })
          )
        )
      )
    )
  }
})

const mebibyte = 1024 * 1024

/** How many messages, and characters of them, may wait before reading pauses. */
const waiting = { messages: 16, length: 65_536 }

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
  let length = 0
  const isFull = () => length >= waiting.length || Option.getOrElse(inbox.unsafeSize(), () => 0) >= waiting.messages
  const isThere = makePulse()
  return (webSocket: WebSocket): Connection => {
    let heard = true
    const onMessage = (data: RawData, isBinary: boolean) => {
      heard = true
      const message = isBinary ? new Uint8Array() : String(data)
      length += message.length
      inbox.unsafeOffer(message)
      // Data already read, at most 64 KiB, still arrives.
      if (isFull()) webSocket.pause()
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
    const take = Effect.tap(Queue.take(inbox), (message) => {
      length -= message.length
      if (!isFull()) webSocket.resume()
    })
    return { webSocket, take, closed: Deferred.await(closed) }
  }
})

export const layer = HttpApiBuilder.group(Api, "socket", (handlers) =>
  Effect.gen(function* () {
    const access = yield* Access
    const answer = yield* makeAnswer
    const { closing, upgradeOf } = yield* Listener
    const { maxBodyBytes, maxSockets } = yield* ServerConfig
    const handshake = yield* makeHandshake(Math.min(maxBodyBytes, mebibyte))
    let open = 0
    /** One message begins in a turn of the event loop, client by client, so that many sockets hold up nobody else. */
    const beginning = Turn.make()

    /** Runs until the client goes or the server shuts down; at shutdown the current message is still answered. */
    const converse = Effect.fnUntraced(function* ({ closed, take, webSocket }: Connection, sender: Sender) {
      const send = sendTo(webSocket)
      const shutdown = Effect.as(Deferred.await(closing), undefined)
      const work = Effect.gen(function* () {
        while (true) {
          const message = yield* Effect.raceFirst(take, shutdown)
          if (message === undefined) return
          // Immediate answers would starve other work, and this loop would not notice that the client has gone.
          yield* beginning(nextTurn)
          if (webSocket.readyState !== webSocket.OPEN) return yield* closed
          const answered = answer(message, sender, send)
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
        const admitted = Effect.provide(
          access.authorizeSocket,
          yield* Effect.context<Effect.Effect.Context<typeof access.authorizeSocket>>()
        )
        const sender = { admitted, client: yield* FiberRef.get(Turn.current), requestId: idOf(request) }
        yield* Effect.forkDaemon(Effect.interruptible(Effect.ensuring(converse(connection, sender), leave)))
        return HttpServerResponse.empty({ status: 101 })
        // A client that goes during the handshake must release its slot.
      }).pipe(Effect.uninterruptible)
    )
  })
)
