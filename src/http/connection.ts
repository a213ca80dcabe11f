import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import { randomUUID } from "node:crypto"
import * as Http from "node:http"
import type { Socket } from "node:net"
import { problemBody, problemType } from "../api/Problem.ts"
import { makeAccount } from "./metrics.ts"

/** How long a client has to read its response, and how much of its remaining body is read meanwhile. */
const patience = { millis: 1000, bytes: 1024 * 1024 }

/** Bodies up to this many bytes are read completely, to keep the connection for the next request. */
const small = 65_536

/** Closes a connection once everything written is sent, whatever the client does. */
export const hangUp = (socket: Socket): void => {
  const cut = setTimeout(() => socket.destroy(), patience.millis)
  socket.once("close", () => clearTimeout(cut))
  socket.end()
}

/** Whether the request has an unread body. */
export const isUnread = ({ complete, headers }: Http.IncomingMessage): boolean =>
  !complete && (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0)

/**
 * Answers a request without reading its whole body, as Node would. Some of it is read, since many clients read no
 * response before they have sent everything, and closing the connection at once would lose the response.
 */
export const leaveUnread = (request: Http.IncomingMessage, response: Http.ServerResponse): void => {
  const { socket } = request
  const keep = Number(request.headers["content-length"] ?? Infinity) <= small
  if (!keep) {
    response.setHeader("connection", "close")
    // Node calls this after the last response; it would close the connection at once.
    socket.destroySoon = () => hangUp(socket)
  }
  let left = patience.bytes
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) request.pause()
  })
  request.resume()
  // Now the body counts as being read, and Node leaves it to us.
  request.read(0)
  response.once("finish", () => {
    if (!keep || request.complete) return
    const cut = setTimeout(() => socket.destroy(), patience.millis)
    request.once("close", () => clearTimeout(cut))
  })
}

/** The raw parts of a connection that asks for another protocol. */
export interface Upgrade {
  readonly socket: Socket
  readonly head: Buffer
  /** Ends the HTTP side: now the caller owns the socket. */
  readonly release: () => void
}

/** Only a GET becomes a WebSocket; other requests that offer one are answered as HTTP. */
export const isWebSocket = ({ headers, method }: Http.IncomingMessage): boolean =>
  method === "GET" && headers.upgrade?.toLowerCase() === "websocket"

/** Replays the request without the offer of another protocol (h2c), which a server may ignore. */
export const withoutUpgrade = (
  server: Http.Server,
  request: Http.IncomingMessage,
  socket: Socket,
  head: Buffer
): void => {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`]
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at]!
    if (!/^(upgrade|connection|http2-settings)$/i.test(name)) lines.push(`${name}: ${request.rawHeaders[at + 1]}`)
  }
  server.emit("connection", socket)
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]))
}

/** The unfinished responses of each connection, in order. */
const awaited = new WeakMap<Socket, Set<Http.ServerResponse>>()

/**
 * Milliseconds that a client waits which has ended its half of the connection, for an answer or for more of it. Most
 * such clients have gone, and refuse what is written; if nothing is, they count as gone.
 */
const halfOpenMs = 500

const expectedOn = (socket: Socket): Set<Http.ServerResponse> => {
  const responses = new Set<Http.ServerResponse>()
  awaited.set(socket, responses)
  // Node tells only the response whose turn it is.
  socket.once("close", () => {
    for (const response of responses) if (response.socket === null) response.emit("close")
  })
  socket.once("end", () => {
    let written = socket.bytesWritten
    const check = setInterval(() => {
      if (socket.bytesWritten === written) socket.destroy()
      written = socket.bytesWritten
    }, halfOpenMs)
    socket.once("close", () => clearInterval(check))
  })
  return responses
}

/** Registers a response for `whenAnswered`, and closes it with its connection, also if others are before it. */
export const expect = (socket: Socket, response: Http.ServerResponse): void => {
  const responses = awaited.get(socket) ?? expectedOn(socket)
  responses.add(response)
  response.once("close", () => responses.delete(response))
}

/** Waits for the responses to complete requests on a socket: what follows may have arrived in one packet with them. */
export const whenAnswered = (socket: Socket, handOver: () => void): void => {
  const response = [...(awaited.get(socket) ?? [])].findLast(({ req }) => req.complete)
  if (response === undefined) return handOver()
  // Node has removed its own listeners.
  const onDrain = () => response.emit("drain")
  const onError = () => socket.destroy()
  socket.on("drain", onDrain).on("error", onError)
  response.once("close", () => {
    socket.off("drain", onDrain).off("error", onError)
    if (!socket.destroyed) handOver()
  })
}

/** A response on a socket that Node has released, at an upgrade or CONNECT; it closes the connection when answered. */
export const adopt = (
  request: Http.IncomingMessage,
  socket: Socket,
  head: Buffer
): { readonly response: Http.ServerResponse; readonly upgrade: Upgrade } => {
  const response = new Http.ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  const onFinish = () => hangUp(socket)
  response.on("finish", onFinish)
  socket.on("error", () => socket.destroy())
  const release = () => {
    response.off("finish", onFinish)
    response.detachSocket(socket)
    response.end()
  }
  return { response, upgrade: { socket, head, release } }
}

/** Rewrites an absolute target to origin form; its authority replaces the Host header. */
export const toOriginForm = (request: Http.IncomingMessage): void => {
  const [, authority, rest = ""] = /^https?:\/\/([^/?#]*)([^]*)$/i.exec(request.url ?? "") ?? []
  if (authority === undefined) return
  request.headers.host = authority
  request.url = rest.startsWith("/") ? rest : `/${rest}`
}

const refusals: Readonly<Record<string, readonly [status: number, tag: string, detail: string]>> = {
  HPE_HEADER_OVERFLOW: [431, "HeadersTooLarge", "The request's headers are too large"],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "RequestTimeout", "The request took too long to arrive"]
}
const malformed = [400, "MalformedRequest", "This is not HTTP"] as const

/** Whether a response has already started, so that no other may be written. */
const isAnswering = (socket: Socket): boolean =>
  (socket as { _httpMessage?: { readonly headersSent: boolean } | null })._httpMessage?.headersSent === true

/** Answers input that Node could not parse as HTTP like every other error, logged and counted. */
export const makeRefuse = Effect.gen(function* () {
  const account = yield* makeAccount
  const runFork = Runtime.runFork(yield* Effect.runtime())

  const refused = new WeakSet<Socket>()

  const refuse = (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (!socket.writable || isAnswering(socket)) return void socket.destroy()
    const [status, _tag, detail] = refusals[error.code ?? ""] ?? malformed
    const id = randomUUID()
    const body = problemBody({ _tag, status, detail })
    const text = JSON.stringify(body)
    const head = [
      `HTTP/1.1 ${status} ${body.title}`,
      `content-type: ${problemType}`,
      `content-length: ${Buffer.byteLength(text)}`,
      `x-request-id: ${id}`,
      "connection: close"
    ]
    socket.write(`${head.join("\r\n")}\r\n\r\n${text}`)
    hangUp(socket)
    runFork(account({ id, method: "", route: undefined, status, took: 0 }))
  }

  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === "ECONNRESET") return void socket.destroy()
    // What follows the malformed request cannot be parsed either.
    if (refused.has(socket)) return
    refused.add(socket)
    // Requests before it are answered first.
    whenAnswered(socket, () => refuse(error, socket))
  }
})
