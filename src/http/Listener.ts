import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as HttpServer from "@effect/platform/HttpServer"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Http from "node:http"
import * as Net from "node:net"
import { isOpen, type LogConfig, ServerConfig } from "../Config.ts"
import { problemBody, problemType } from "../api/Problem.ts"
import { turnMs } from "../runtime/EventLoop.ts"
import { FairQueue } from "../runtime/Turn.ts"
import {
  type Upgrade,
  adopt,
  expect,
  isUnread,
  isWebSocket,
  leaveUnread,
  makeRefuse,
  toOriginForm,
  whenAnswered,
  withoutUpgrade
} from "./connection.ts"
import { clientAddress, clientOf, isLoopback } from "./loopback.ts"

/** The server cannot listen on its address; the message says why and what to do. */
export class CannotListen extends Data.TaggedError("CannotListen")<{ readonly message: string }> {}

/** The lifecycle of the listening server. */
export class Listener extends Context.Tag("clew/http/Listener")<
  Listener,
  {
    readonly upgradeOf: (request: HttpServerRequest.HttpServerRequest) => Upgrade | undefined
    /** How long requests may continue at shutdown before their connections are closed. */
    readonly grace: Duration.Duration
    /** Completes at shutdown: endless streams should end then. */
    readonly closing: Deferred.Deferred<void>
    /** Ends requests that are still being handled; called at shutdown, just before connections are closed. */
    readonly unfinished: Set<() => void>
  }
>() {}

const reasons: Readonly<Record<string, (host: string, port: number) => string>> = {
  EADDRINUSE: (host, port) => `Port ${port} on ${host} is in use; choose another with --port`,
  EACCES: (host, port) =>
    `No permission to listen on port ${port} of ${host}; ports below 1024 need root, choose another with --port`,
  EADDRNOTAVAIL: (host) => `${host} is not an address of this machine; name one with --host`,
  ENOTFOUND: (host) => `${host} is not a known name of this machine; name an address with --host`
}

/** Explains an error of `listen` to the user. */
export const refusal = (error: NodeJS.ErrnoException, host: string, port: number) =>
  new CannotListen({
    message: reasons[error.code ?? ""]?.(host, port) ?? `Cannot listen on ${host}:${port}: ${error.message}`
  })

interface Lifecycle extends Pick<typeof Listener.Service, "closing" | "grace" | "unfinished"> {
  /** Responses to requests whose head has arrived. */
  readonly open: Set<Http.ServerResponse>
  isEnding: boolean
  /** Requests still come in, and there is no more time for them. */
  isFull: boolean
}

const listen = (server: Net.Server, host: string, port: number) =>
  Effect.async<Net.AddressInfo, CannotListen>((resume) => {
    const onError = (error: NodeJS.ErrnoException) => resume(refusal(error, host, port))
    server.once("error", onError)
    server.listen({ host, port, backlog: 65_535 }, () => {
      server.off("error", onError)
      resume(Effect.succeed(server.address() as Net.AddressInfo))
    })
  })

/**
 * How long nothing must arrive at shutdown before the server stops listening, and how long it waits for that at most.
 * The system has accepted connections that the server has not seen, and would reset them with the listening socket; a
 * kept connection may have a request on its way. If it is not quiet in time, it waits once more, and turns away what
 * comes in then.
 */
const quietMs = { wanted: 100, most: 1000 }

/** Whether it was quiet in time. */
const untilQuiet = (server: Http.Server, most: number) =>
  Effect.async<boolean>((resume) => {
    const last = setTimeout(() => end(false), most)
    let seen = 0
    const look = () => {
      const before = seen
      // If the event loop was busy for long, timers come before what has arrived meanwhile.
      setImmediate(() => seen === before && end(true))
    }
    const quiet = setTimeout(look, Math.min(quietMs.wanted, most))
    const again = () => {
      seen++
      quiet.refresh()
    }
    const events = ["connection", "request", "upgrade"]
    for (const event of events) server.on(event, again)
    const end = (isQuiet: boolean) => {
      clearTimeout(last)
      clearTimeout(quiet)
      for (const event of events) server.off(event, again)
      resume(Effect.succeed(isQuiet))
    }
  })

const cutOff = problemBody({
  _tag: "StoreUnavailable",
  status: 503,
  detail: "The server is shutting down before this was finished; send it again later"
})

/** Ends a request for which there is no time left. */
const cut = (response: Http.ServerResponse): void => {
  response.writeHead(503, { "content-type": problemType, connection: "close" }).end(JSON.stringify(cutOff))
}

/** Stops accepting, lets running requests finish, ends the others, then closes the remaining connections. */
const drain = (server: Http.Server, life: Lifecycle) =>
  Effect.gen(function* () {
    const { closing, open, unfinished } = life
    const grace = Duration.toMillis(life.grace)
    life.isEnding = true
    yield* Deferred.succeed(closing, undefined)
    const began = performance.now()
    const most = Math.min(quietMs.most, grace / 10)
    if (!(yield* untilQuiet(server, most))) {
      life.isFull = true
      yield* untilQuiet(server, most)
    }
    yield* Effect.async<void>((resume) => {
      const until = (share: number) => Math.max(0, grace * share - (performance.now() - began))
      const sweep = setInterval(() => server.closeIdleConnections(), 25)
      // Early enough that their answers still get through.
      const late = setTimeout(() => unfinished.forEach((end) => end()), until(0.8))
      // What cannot be interrupted, or was not begun.
      const last = setTimeout(() => {
        for (const response of open) if (!response.headersSent) cut(response)
      }, until(0.9))
      const end = setTimeout(() => server.closeAllConnections(), until(1))
      server.close(() => {
        clearInterval(sweep)
        for (const timer of [late, last, end]) clearTimeout(timer)
        resume(Effect.void)
      })
    })
  })

/** Whether the client has gone: cut off, or ended by itself. */
const isGone = ({ destroyed, socket }: Http.IncomingMessage): boolean =>
  destroyed || socket.destroyed || socket.writableEnded

/**
 * Starts work client by client, for a few milliseconds in a turn of the event loop, so that those who go away meanwhile
 * are noticed before their requests cost much. Monitors have turns of their own. A turn accepts one connection only (libuv
 * 1.45), so while there are more, most turns accept: those that wait there have no client yet, and too many are turned
 * away.
 */
const makeStart = (server: Http.Server, trustProxy: boolean, life: Lifecycle) => {
  const waiting = new FairQueue<() => void>()
  let isRunning = false
  let [isAccepting, last] = [false, 0]
  server.on("connection", () => (isAccepting = true))
  const next = () => {
    const began = performance.now()
    const mayWait = isAccepting && (life.isFull || began - last < turnMs)
    isAccepting = false
    let start = mayWait ? undefined : waiting.shift()
    isRunning = mayWait || start !== undefined
    if (!isRunning) return
    // First of all: a start that throws must not end the turns of the others.
    setImmediate(next)
    for (; start !== undefined; start = last - began < turnMs ? waiting.shift() : undefined) {
      start()
      last = performance.now()
    }
  }
  return (request: Http.IncomingMessage, response: Http.ServerResponse, start: () => void) => {
    const address = clientAddress(request.socket.remoteAddress, request.headers["x-forwarded-for"], trustProxy)
    const client = clientOf(address)
    const owner = /^\/(?:health|ready)(?:$|\?)/.test(request.url!) ? `${client} monitor` : client
    const leave = () => waiting.delete(owner, begin)
    const begin = () => {
      response.off("close", leave)
      if (!isGone(request)) start()
    }
    response.once("close", leave)
    waiting.push(owner, begin)
    if (isRunning) return
    isRunning = true
    setImmediate(next)
  }
}

/** Requests of one connection that may be unanswered: whoever sends more at once, and reads nothing, only takes memory. */
const mostPipelined = 100

/** Takes a request whose head has arrived. */
type Begin = (request: Http.IncomingMessage, response: Http.ServerResponse) => void

interface Options {
  readonly host: string
  readonly port: number
  readonly trustProxy?: boolean
  readonly grace: Duration.Duration
  /** Milliseconds that a request's head, and the whole of it, may take to arrive. */
  readonly arrival?: { readonly head: number; readonly whole: number; readonly checked: number }
}

const make = ({
  arrival = { head: 20_000, whole: 300_000, checked: 5_000 },
  grace,
  host,
  port,
  trustProxy = false
}: Options) =>
  Effect.gen(function* () {
    const closing = yield* Deferred.make<void>()
    const unfinished = new Set<() => void>()
    const life: Lifecycle = { closing, grace, unfinished, open: new Set(), isEnding: false, isFull: false }
    const upgrades = new WeakMap<Http.IncomingMessage, Upgrade>()
    const server = new Http.Server({
      // Room for the longest source in a query string.
      maxHeaderSize: 65_536,
      requestTimeout: arrival.whole,
      headersTimeout: arrival.head,
      connectionsCheckingInterval: arrival.checked,
      // Longer than proxies keep an idle connection (60 s), which would send a request into one that is being closed.
      keepAliveTimeout: 75_000,
      // The edge refuses a request without Host, like all others.
      requireHostHeader: false
    })
    // A client may end its half of the connection and still want its answer. `expect` decides how long. From 22.21 and
    // 24.9, Node asks before it hands a connection over; before, `withoutUpgrade` gives it back.
    Object.assign(server, { httpAllowHalfOpen: true, shouldUpgradeCallback: isWebSocket })
    server.on("clientError", yield* makeRefuse)
    const start = makeStart(server, trustProxy, life)
    /** Those who come before the routes are made wait for them. */
    let begin: Begin = (request, response) => early.push(() => begin(request, response))
    const early: Array<() => void> = []
    const unanswered = new WeakMap<Net.Socket, number>()
    const onRequest = (request: Http.IncomingMessage, response: Http.ServerResponse) => {
      const { socket } = request
      const count = (unanswered.get(socket) ?? 0) + 1
      if (count > mostPipelined) return void socket.destroy()
      unanswered.set(socket, count)
      expect(socket, response)
      life.open.add(response)
      response.once("close", () => {
        unanswered.set(socket, unanswered.get(socket)! - 1)
        life.open.delete(response)
      })
      if (!request.url!.startsWith("/")) toOriginForm(request)
      const writeHead = response.writeHead.bind(response) as (...args: ReadonlyArray<unknown>) => Http.ServerResponse
      response.writeHead = (...args: ReadonlyArray<unknown>) => {
        // While draining, a connection gets no further response.
        if (life.isEnding) response.setHeader("connection", "close")
        if (isUnread(request) && !upgrades.has(request)) leaveUnread(request, response)
        return writeHead(...args)
      }
      if (life.isFull) cut(response)
      else begin(request, response)
    }
    const onHandover = (request: Http.IncomingMessage, socket: Net.Socket, head: Buffer) =>
      whenAnswered(socket, () => {
        const { response, upgrade } = adopt(request, socket, head)
        upgrades.set(request, upgrade)
        onRequest(request, response)
      })
    server.on("request", onRequest)
    // The routes decide: they ask for the body only when they read it.
    server.on("checkContinue", onRequest)
    server.on("checkExpectation", onRequest)
    server.on("connect", onHandover)
    server.on("upgrade", (request: Http.IncomingMessage, socket: Net.Socket, head: Buffer) =>
      isWebSocket(request)
        ? onHandover(request, socket, head)
        : whenAnswered(socket, () => withoutUpgrade(server, request, socket, head))
    )
    const address = yield* Effect.acquireRelease(listen(server, host, port), () => drain(server, life))

    const serve = (handler: Begin) => {
      begin = (request, response) => start(request, response, () => handler(request, response))
      for (const wait of early.splice(0)) wait()
    }

    const http = HttpServer.make({
      address: { _tag: "TcpAddress", hostname: address.address, port: address.port },
      serve: (app, middleware) => Effect.map(NodeHttpServer.makeHandler(app, middleware!), serve)
    })
    const listener = Listener.of({
      closing,
      grace,
      unfinished,
      upgradeOf: (request) => upgrades.get(NodeHttpServerRequest.toIncomingMessage(request))
    })
    return Context.make(HttpServer.HttpServer, http).pipe(Context.add(Listener, listener))
  })

/** How long requests may continue at shutdown. */
const grace = Duration.seconds(10)

/** Listens as configured; without a key only on loopback, unless `allowUnauthenticated`. */
export const layer: Layer.Layer<HttpServer.HttpServer | Listener, CannotListen, ServerConfig | LogConfig> =
  Layer.scopedContext(
    Effect.flatMap(ServerConfig, ({ host, port, trustProxy }) => make({ host, port, trustProxy, grace }))
  )

/** Fails as `layer` would, before anything is opened or created. */
export const check = (options: { readonly allowUnauthenticated: boolean }) =>
  Effect.gen(function* () {
    const config = yield* ServerConfig
    const { host, port } = config
    if (isOpen(config) && !isLoopback(host) && !options.allowUnauthenticated) {
      return yield* new CannotListen({
        message: `${host} is reachable from other machines, and without SERVICE_API_KEY everyone could read and change the index; set it, or use --allow-unauthenticated`
      })
    }
    const server = new Net.Server()
    yield* listen(server, host, port)
    yield* Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))
  })

/** A free port of this machine, for tests. */
export const layerTest = (options: Partial<Omit<Options, "host" | "port">> = {}) =>
  Layer.scopedContext(make({ grace: Duration.millis(200), ...options, host: "127.0.0.1", port: 0 }))
