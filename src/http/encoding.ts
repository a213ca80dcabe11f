import * as HttpBody from "@effect/platform/HttpBody"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { brotliCompress, constants, gzip } from "node:zlib"

type Encoding = "br" | "gzip"

/** Below this many bytes, compression saves too little. */
const worthwhile = 32 * 1024

/** The supported encoding that a client prefers; brotli if it prefers both equally. */
export const preferred = (accepted: string | undefined): Encoding | undefined => {
  const weights = new Map<string, number>()
  for (const part of (accepted ?? "").slice(0, 500).toLowerCase().split(",")) {
    const [name = "", ...parameters] = part.split(";").map((it) => it.trim())
    const weight = Number(parameters.find((it) => it.startsWith("q="))?.slice(2) ?? 1)
    weights.set(name, Number.isFinite(weight) ? weight : 0)
  }
  const weightOf = (name: Encoding) => weights.get(name) ?? weights.get("*") ?? 0
  const best: Encoding = weightOf("gzip") > weightOf("br") ? "gzip" : "br"
  return weightOf(best) > 0 ? best : undefined
}

const compress = (encoding: Encoding, bytes: Uint8Array): Effect.Effect<Uint8Array> =>
  Effect.async((resume) => {
    const done = (error: Error | null, result: Uint8Array) => resume(error ? Effect.die(error) : Effect.succeed(result))
    if (encoding === "gzip") gzip(bytes, { level: 5 }, done)
    else brotliCompress(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }, done)
  })

/** Compresses a response if the client accepts it, off the event loop; streams stay uncompressed. */
export const encode = (
  response: HttpServerResponse.HttpServerResponse,
  accepted: string | undefined
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const { body, headers } = response
  if (body._tag !== "Uint8Array" || body.body.length < worthwhile || headers["content-encoding"] !== undefined) {
    return Effect.succeed(response)
  }
  const vary = HttpServerResponse.setHeader(
    response,
    "vary",
    headers["vary"] === undefined ? "Accept-Encoding" : `${headers["vary"]}, Accept-Encoding`
  )
  const encoding = preferred(accepted)
  if (encoding === undefined) return Effect.succeed(vary)
  return Effect.map(compress(encoding, body.body), (bytes) =>
    HttpServerResponse.setHeader(
      HttpServerResponse.setBody(vary, HttpBody.uint8Array(bytes, body.contentType)),
      "content-encoding",
      encoding
    )
  )
}
