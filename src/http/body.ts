import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import { MalformedBody, PayloadTooLarge, UnsupportedMediaType } from "../api/errors.ts"
import { parseJson } from "./json.ts"

type BodyError = MalformedBody | PayloadTooLarge | UnsupportedMediaType

const checkType = (headers: HttpServerRequest.HttpServerRequest["headers"]) => {
  const refuse = (reason: string) => new UnsupportedMediaType({ reason })
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && encoding !== "identity")
    return refuse(`Bodies are not taken as ${encoding}; send plain JSON`)
  const [type = "", ...parameters] = (headers["content-type"] ?? "application/json").toLowerCase().split(";")
  if (type.trim() !== "application/json")
    return refuse(`The body must be application/json, not ${type.trim() || "nothing"}`)
  const charset = parameters.map((it) => it.trim()).find((it) => it.startsWith("charset="))
  if (charset !== undefined && !/^charset="?utf-8"?$/.test(charset)) return refuse("JSON must be in UTF-8")
  return undefined
}

/** The whole body, at most `limit` bytes; from there on it is left unread. */
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

const text = (request: HttpServerRequest.HttpServerRequest, limit: number): Effect.Effect<string, BodyError> => {
  const { headers } = request
  const declared = Number(headers["content-length"] ?? 0)
  if (declared === 0 && headers["transfer-encoding"] === undefined) return Effect.succeed("")
  const wrong = checkType(headers)
  if (wrong !== undefined) return wrong
  if (declared > limit) return new PayloadTooLarge({ limit })
  return Effect.flatMap(readAll(request, limit), (bytes) =>
    Effect.try({
      try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
      catch: () => new MalformedBody({ reason: "The body is not UTF-8" })
    })
  )
}

/**
 * The request with a body that is JSON, UTF-8 and of bounded size, or an error that says which it is not. It is read
 * only when a handler asks for it: who may not come in has nothing read. A DELETE may leave it out.
 */
export const withJsonBody = (
  request: HttpServerRequest.HttpServerRequest,
  limit: number
): HttpServerRequest.HttpServerRequest => {
  const body = text(request, limit)
  return Object.create(request, {
    // HttpApi would read other types in other ways; the true type is checked above.
    headers: { value: { ...request.headers, "content-type": "application/json" } },
    text: { value: body },
    json: {
      value: Effect.flatMap(body, (content) => {
        if (content !== "") return parseJson("The body", content)
        return request.method === "DELETE"
          ? Effect.succeed({})
          : new MalformedBody({ reason: "The body is empty; it must be JSON" })
      })
    }
  })
}
