import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import { type InvalidRequest, MalformedBody, PayloadTooLarge, UnsupportedMediaType } from "../api/errors.ts"
import { parseJson } from "./json.ts"

type BodyError = InvalidRequest | MalformedBody | PayloadTooLarge | UnsupportedMediaType

export interface BodyRules {
  /** Bytes. */
  readonly limit: number
  /** A POST must declare JSON, which another site's page cannot do without a preflight. */
  readonly typed: boolean
  /** Gets the number of bytes. */
  readonly taken?: (bytes: number) => void
  /** Cheap checks of a body before it is decoded. */
  readonly check?: ((body: unknown) => InvalidRequest | undefined) | undefined
}

const checkType = (headers: HttpServerRequest.HttpServerRequest["headers"]) => {
  const refuse = (reason: string) => new UnsupportedMediaType({ reason })
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && encoding !== "identity")
    return refuse(`Bodies encoded with ${encoding} are not supported; send plain JSON`)
  const [type = "", ...parameters] = (headers["content-type"] ?? "application/json").toLowerCase().split(";")
  if (type.trim() !== "application/json")
    return refuse(`The body must be application/json, not ${type.trim() || "nothing"}`)
  const charset = parameters.map((it) => it.trim()).find((it) => it.startsWith("charset="))
  if (charset !== undefined && !/^charset="?utf-8"?$/.test(charset)) return refuse("JSON must be in UTF-8")
  return undefined
}

/** The whole body, at most `limit` bytes; the rest stays unread. */
const readAll = (request: HttpServerRequest.HttpServerRequest, limit: number): Effect.Effect<Buffer, PayloadTooLarge> =>
  Effect.async((resume) => {
    const source = NodeHttpServerRequest.toIncomingMessage(request)
    if (/^100-continue$/i.test(source.headers.expect ?? "")) {
      NodeHttpServerRequest.toServerResponse(request).writeContinue()
    }
    const chunks: Array<Buffer> = []
    let size = 0
    const done = (result: Effect.Effect<Buffer, PayloadTooLarge>) => {
      source.off("data", onData)
      source.off("end", onEnd)
      resume(result)
    }
    const onData = (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size <= limit) return
      done(new PayloadTooLarge({ limit }))
      source.pause()
    }
    const onEnd = () => done(Effect.succeed(Buffer.concat(chunks, size)))
    source.on("data", onData)
    source.on("end", onEnd)
    return Effect.sync(() => {
      source.off("data", onData)
      source.off("end", onEnd)
    })
  })

const none = Buffer.alloc(0)

const bytesOf = (
  request: HttpServerRequest.HttpServerRequest,
  { limit, typed }: BodyRules
): Effect.Effect<Buffer, BodyError> => {
  const { headers, method } = request
  const declared = Number(headers["content-length"] ?? 0)
  if (declared === 0 && headers["transfer-encoding"] === undefined) return Effect.succeed(none)
  if (typed && method === "POST" && headers["content-type"] === undefined) {
    return new UnsupportedMediaType({ reason: "Send Content-Type: application/json" })
  }
  const wrong = checkType(headers)
  if (wrong !== undefined) return wrong
  return declared > limit ? new PayloadTooLarge({ limit }) : readAll(request, limit)
}

/**
 * The request with a body that is JSON, UTF-8 and within the limit, or an error that says what is wrong. The body is
 * read only when a handler asks for it, so an unauthorized request's body stays unread. A DELETE may have no body.
 */
export const withJsonBody = (
  request: HttpServerRequest.HttpServerRequest,
  rules: BodyRules
): HttpServerRequest.HttpServerRequest => {
  const body = bytesOf(request, rules)
  return Object.create(request, {
    // HttpApi would parse other types differently; the real type is checked above.
    headers: { value: { ...request.headers, "content-type": "application/json" } },
    json: {
      value: Effect.flatMap(body, (content) => {
        rules.taken?.(content.length)
        if (content.length > 0) {
          return Effect.flatMap(
            parseJson("The body", content),
            (value) => rules.check?.(value) ?? Effect.succeed(value)
          )
        }
        return request.method === "DELETE"
          ? Effect.succeed({})
          : new MalformedBody({ reason: "The body is empty; it must be JSON" })
      })
    }
  })
}
