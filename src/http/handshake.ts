import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import { type WebSocket, WebSocketServer } from "ws"
import { InvalidRequest } from "../api/errors.ts"
import type { Upgrade } from "./upgrade.ts"

/** A browser that offers subprotocols expects one of them back; the one with the key only if there is no other. */
const choose = (offered: Set<string>): string | false =>
  offered.has("clew") ? "clew" : ([...offered].find((name) => name.startsWith("bearer.")) ?? false)

/**
 * Turns upgrade requests into WebSockets; a message of more than `maxPayload` bytes closes its connection with 1009.
 */
export const makeHandshake = (maxPayload: number) =>
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
        refused.set(socket, ({ message }) => resume(new InvalidRequest({ errors: [{ path: "", message }] })))
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
