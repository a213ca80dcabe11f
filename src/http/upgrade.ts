import * as Http from "node:http"
import type { Socket } from "node:net"
import { hangUp } from "./connection.ts"

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

const expectedOn = (socket: Socket): Set<Http.ServerResponse> => {
  const responses = new Set<Http.ServerResponse>()
  awaited.set(socket, responses)
  // Node tells only the response whose turn it is.
  socket.once("close", () => {
    for (const response of responses) if (response.socket === null) response.emit("close")
  })
  return responses
}

/** Registers a response for `whenAnswered`, and closes it with its connection, also if others are before it. */
export const expect = (socket: Socket, response: Http.ServerResponse): void => {
  const responses = awaited.get(socket) ?? expectedOn(socket)
  responses.add(response)
  response.once("close", () => responses.delete(response))
}

/** Waits for earlier responses on the same socket: an upgrade may arrive in one packet with requests before it. */
export const whenAnswered = (socket: Socket, handOver: () => void): void => {
  const response = [...(awaited.get(socket) ?? [])].at(-1)
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
