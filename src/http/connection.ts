import type * as Http from "node:http"
import type { Socket } from "node:net"

/** How long a client has to read its answer, and how much of what it still sends is read meanwhile. */
const patience = { millis: 1000, bytes: 1024 * 1024 }

/** Bodies up to this many bytes are read to their end, to keep the connection for the next request. */
const small = 65_536

/** Closes a connection once what was written is out, whatever the client does. */
export const hangUp = (socket: Socket): void => {
  const cut = setTimeout(() => socket.destroy(), patience.millis)
  socket.once("close", () => clearTimeout(cut))
  socket.end()
}

/** Whether a body is there, or still to come, that nobody has read. */
export const isUnread = ({ complete, headers }: Http.IncomingMessage): boolean =>
  !complete && (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0)

/**
 * Answers a request without its body, which Node would read to its end however long that is. Some of it is read, since
 * many clients read no answer before they have sent all, and a connection cut at once would take the answer along.
 */
export const leaveUnread = (request: Http.IncomingMessage, response: Http.ServerResponse): void => {
  const { socket } = request
  const keep = Number(request.headers["content-length"] ?? Infinity) <= small
  if (!keep) {
    response.setHeader("connection", "close")
    // What Node calls after the last answer; it would cut the connection at once.
    socket.destroySoon = () => hangUp(socket)
  }
  let left = patience.bytes
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) request.pause()
  })
  request.resume()
  // From here on the body counts as being read: Node leaves it to us.
  request.read(0)
  response.once("finish", () => {
    if (!keep || request.complete) return
    const cut = setTimeout(() => socket.destroy(), patience.millis)
    request.once("close", () => clearTimeout(cut))
  })
}
