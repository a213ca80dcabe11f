import type * as Http from "node:http"
import type { Socket } from "node:net"

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
