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
import type { AddressInfo, Socket } from "node:net"
import { problemBody, problemType } from "../api/Problem.ts"
import { ServerConfig } from "../Config.ts"
import { isLoopback } from "./loopback.ts"

/** The server cannot listen where it should; the message says why and what to do. */
export class CannotListen extends Data.TaggedError("CannotListen")<{ readonly message: string }> {}

/** What is left of a connection that asks for another protocol. */
export interface Upgrade {
  readonly socket: Socket
  readonly head: Buffer
  /** Ends the HTTP side: from here on the socket is the caller's. */
  readonly release: () => void
}

/** The listening server's own affairs. */
export class Listener extends Context.Tag("clew/http/Listener")<
  Listener,
  {
    readonly upgradeOf: (request: HttpServerRequest.HttpServerRequest) => Upgrade | undefined
    /** How long requests may go on once the server shuts down, before their connections are cut. */
    readonly grace: Duration.Duration
    /** Done when the server shuts down: what goes on without an end should come to one. */
    readonly closing: Deferred.Deferred<void>
  }
>() {}

const reasons: Readonly<Record<string, (host: string, port: number) => string>> = {
  EADDRINUSE: (host, port) => `Port ${port} on ${host} is in use; name another with --port`,
  EACCES: (host, port) =>
    `No permission to listen on port ${port} of ${host}; ports below 1024 belong to root, name another with --port`,
  EADDRNOTAVAIL: (host) => `${host} is not an address of this machine; name one with --host`,
  ENOTFOUND: (host) => `${host} is not known as a name of this machine; name an address with --host`
}

const refusal = (error: NodeJS.ErrnoException, host: string, port: number) =>
  new CannotListen({
    message: reasons[error.code ?? ""]?.(host, port) ?? `Cannot listen on ${host}:${port}: ${error.message}`
  })

/** What Node could not make a request of is answered as every other error is. */
const onClientError = (
  error: NodeJS.ErrnoException,
  socket: { writable: boolean; end: (text: string) => void; destroy: () => void }
) => {
  if (error.code === "ECONNRESET" || !socket.writable) return socket.destroy()
  const [status, _tag, detail] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? ([431, "HeadersTooLarge", "The request's headers are too large"] as const)
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? ([408, "RequestTimeout", "The request took too long to arrive"] as const)
        : ([400, "MalformedRequest", "This is not HTTP"] as const)
  const body = problemBody({ _tag, status, detail })
  const text = JSON.stringify(body)
  socket.end(
    `HTTP/1.1 ${status} ${body.title}\r\ncontent-type: ${problemType}\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`
  )
}

const isWebSocket = ({ headers }: Http.IncomingMessage): boolean => headers.upgrade?.toLowerCase() === "websocket"

/** Asks again without the offer of another protocol (h2c), which a server is free to overlook. */
const withoutUpgrade = (server: Http.Server, request: Http.IncomingMessage, socket: Socket, head: Buffer): void => {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`]
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at]!
    if (!/^(upgrade|connection|http2-settings)$/i.test(name)) lines.push(`${name}: ${request.rawHeaders[at + 1]}`)
  }
  server.emit("connection", socket)
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]))
}

const listen = (server: Http.Server, host: string, port: number) =>
  Effect.async<AddressInfo, CannotListen>((resume) => {
    const onError = (error: NodeJS.ErrnoException) => resume(refusal(error, host, port))
    server.once("error", onError)
    server.listen({ host, port, backlog: 1024 }, () => {
      server.off("error", onError)
      resume(Effect.succeed(server.address() as AddressInfo))
    })
  })

/** Stops accepting, lets what is running finish, then cuts what is left. */
const drain = (server: Http.Server, closing: Deferred.Deferred<void>, grace: Duration.Duration) =>
  Effect.zipRight(
    Deferred.succeed(closing, undefined),
    Effect.async<void>((resume) => {
      const sweep = setInterval(() => server.closeIdleConnections(), 25)
      const cut = setTimeout(() => server.closeAllConnections(), Duration.toMillis(grace))
      server.close(() => {
        clearInterval(sweep)
        clearTimeout(cut)
        resume(Effect.void)
      })
      server.closeIdleConnections()
    })
  )

const make = (options: { readonly host: string; readonly port: number; readonly grace: Duration.Duration }) =>
  Effect.gen(function* () {
    const { grace, host, port } = options
    const closing = yield* Deferred.make<void>()
    const upgrades = new WeakMap<Http.IncomingMessage, Upgrade>()
    // Headers as long as a source may be that stands in the query string.
    const server = new Http.Server({
      maxHeaderSize: 65_536,
      requestTimeout: 300_000,
      headersTimeout: 20_000,
      keepAliveTimeout: 10_000
    })
    server.on("clientError", onClientError)
    const address = yield* Effect.acquireRelease(listen(server, host, port), () => drain(server, closing, grace))

    const serve = (handler: (request: Http.IncomingMessage, response: Http.ServerResponse) => void) => {
      const onRequest = (request: Http.IncomingMessage, response: Http.ServerResponse) => {
        const writeHead = response.writeHead.bind(response) as (...args: ReadonlyArray<unknown>) => Http.ServerResponse
        response.writeHead = (...args: ReadonlyArray<unknown>) => {
          // While draining, a connection is good for no answer more.
          if (!server.listening) response.setHeader("connection", "close")
          return writeHead(...args)
        }
        handler(request, response)
      }
      server.on("request", onRequest)
      server.on("upgrade", (request: Http.IncomingMessage, socket: Socket, head: Buffer) => {
        if (!isWebSocket(request)) return withoutUpgrade(server, request, socket, head)
        const response = new Http.ServerResponse(request)
        response.shouldKeepAlive = false
        response.assignSocket(socket)
        const onFinish = () => socket.end()
        response.on("finish", onFinish)
        socket.on("error", () => socket.destroy())
        const release = () => {
          response.off("finish", onFinish)
          response.detachSocket(socket)
          response.end()
        }
        upgrades.set(request, { socket, head, release })
        onRequest(request, response)
      })
    }

    const http = HttpServer.make({
      address: { _tag: "TcpAddress", hostname: address.address, port: address.port },
      serve: (app, middleware) => Effect.map(NodeHttpServer.makeHandler(app, middleware!), serve)
    })
    const listener = Listener.of({
      closing,
      grace,
      upgradeOf: (request) => upgrades.get(NodeHttpServerRequest.toIncomingMessage(request))
    })
    return Context.make(HttpServer.HttpServer, http).pipe(Context.add(Listener, listener))
  })

/** How long requests may go on once the server shuts down. */
const grace = Duration.seconds(10)

/** Where the configuration says; only to this machine where there is no key, unless that is asked for by name. */
export const layer: Layer.Layer<HttpServer.HttpServer | Listener, CannotListen, ServerConfig> = Layer.scopedContext(
  Effect.flatMap(ServerConfig, ({ host, port }) => make({ host, port, grace }))
)

/** Fails as `layer` would, before anything else is opened or made. */
export const check = (options: { readonly allowUnauthenticated: boolean }) =>
  Effect.gen(function* () {
    const { apiKey, host, port } = yield* ServerConfig
    if (apiKey._tag === "None" && !isLoopback(host) && !options.allowUnauthenticated) {
      return yield* new CannotListen({
        message: `${host} can be reached by others, and without SERVICE_API_KEY they all could read and change the index; set it, or say --allow-unauthenticated`
      })
    }
    const server = new Http.Server()
    yield* listen(server, host, port)
    yield* Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))
  })

/** A free port of this machine, for tests. */
export const layerTest = (grace: Duration.Duration = Duration.seconds(1)) =>
  Layer.scopedContext(make({ host: "127.0.0.1", port: 0, grace }))
