import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import { randomUUID } from "node:crypto"
import type { Socket } from "node:net"
import { problemBody, problemType } from "../api/Problem.ts"
import { makeAccount } from "./account.ts"
import { hangUp } from "./connection.ts"

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

  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === "ECONNRESET" || !socket.writable || isAnswering(socket)) return void socket.destroy()
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
})
