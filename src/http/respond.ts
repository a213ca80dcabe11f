import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as HttpBody from "@effect/platform/HttpBody"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { brotliCompress, constants, gzip } from "node:zlib"
import { fromIssues, InternalError, RouteNotFound } from "../api/errors.ts"
import { type FieldError, type ProblemBody, problemBody, problemType, type OpenAiError } from "../api/Problem.ts"
import type { Fault } from "../model/checked.ts"
import { replaced } from "../runtime/installation.ts"
import { didYouMean } from "../terms/nearest.ts"

/** An error whose class declares its HTTP status. */
interface StatusError {
  readonly _tag: string
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
  readonly errors?: ReadonlyArray<FieldError>
}

/** The status annotated on the error's class; 0 if there is none. */
const statusOf = (error: object): number =>
  Schema.isSchema(error.constructor) ? HttpApiSchema.getStatus(error.constructor.ast, 0) : 0

const isStatusError = (error: unknown): error is StatusError =>
  Predicate.hasProperty(error, "_tag") && error instanceof Error && statusOf(error) > 0

/** Clients must not learn where the server keeps files: only the last part of an absolute path goes out. */
export const withoutPaths = (text: string): string =>
  text.replace(/(?<![\w:/.])(?:\/[^\s/'"`,;:()]+)+\/([^\s/'"`,;:()]+)/g, "$1")

/** Addresses as network errors name them: a URL, numbers, or a name after the error. */
const addresses = [
  /\b[a-z][a-z+.-]{1,20}:\/\/[^\s'"`<>;,)]+/gi,
  /(?<=\b(?:getaddrinfo|connect) [A-Z_]{1,30} )[^\s'"`;,)]+/g,
  /\[[0-9a-f:.]{2,45}\](?::\d{1,5})?/gi,
  /\b(?:\d{1,3}\.){3}\d{1,3}\b(?::\d{1,5}\b)?/g,
  /\b(?:localhost|[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,10}):\d{2,5}\b/gi
]

/** As `withoutPaths`, for internal failures: also hides the addresses of other servers. The log keeps them. */
export const withoutInside = (text: string): string =>
  withoutPaths(addresses.reduce((left, address) => left.replace(address, "[address]"), text))

/** The request's id in the log and in the response; the edge has set it. */
export const idOf = ({ headers }: HttpServerRequest.HttpServerRequest): string => headers["x-request-id"] ?? ""

interface Rendered {
  readonly body: ProblemBody
  readonly headers: Readonly<Record<string, string>>
  /** Set for a defect, which must be logged. */
  readonly defect?: string
  /** The internal failure with the details that the body hides. */
  readonly inside?: string
}

/** Maps the platform's errors to ours. */
const ownOf = (error: unknown): unknown => {
  if (Predicate.isTagged(error, "HttpApiDecodeError")) {
    return fromIssues((error as unknown as { readonly issues: ReadonlyArray<Fault> }).issues, didYouMean)
  }
  return Predicate.isTagged(error, "RouteNotFound") && !isStatusError(error)
    ? new RouteNotFound({ served: undefined })
    : error
}

/** Renders any error as a problem object; an unknown error is a defect, identified by the given id. */
export const render = (error: unknown, id: string): Rendered => {
  const known = ownOf(error)
  const ours: StatusError = isStatusError(known) ? known : new InternalError({ id })
  const body = problemBody({
    _tag: ours._tag,
    status: statusOf(ours),
    detail: (statusOf(ours) < 500 ? withoutPaths : withoutInside)(
      (ours === known ? undefined : replaced()) ?? ours.message
    ),
    errors: ours.errors
  })
  const shown = { body, headers: ours.headers ?? {} }
  if (ours !== known) return { ...shown, defect: id }
  return body.status < 500 ? shown : { ...shown, inside: ours.message }
}

/** The first failure, else the first defect; none if the request was only interrupted. */
export const errorOf = (cause: Cause.Cause<unknown>): Option.Option<unknown> =>
  Option.orElse(Cause.failureOption(cause), () => Cause.dieOption(cause))

/**
 * The failure of an answer that has begun, rendered and logged once, a known one only as a failure of `where`; an
 * interruption goes on.
 */
export const failed = (cause: Cause.Cause<unknown>, id: string, where?: string): Effect.Effect<Rendered> =>
  Option.match(errorOf(cause), {
    onNone: () => Effect.failCause(cause) as Effect.Effect<never>,
    onSome: (error) => {
      const rendered = render(error, id)
      const { body, defect, inside = body.detail } = rendered
      const known = where === undefined ? Effect.void : Effect.logWarning(`${where}: ${inside}`)
      const logged =
        defect === undefined ? known : Effect.annotateLogs(Effect.logError("defect", cause), "request_id", defect)
      return Effect.as(logged, rendered)
    }
  })

const kinds: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error"
}

/** Codes that OpenAI clients know; otherwise the error's own name. */
const codes: Readonly<Record<string, string>> = {
  Unauthorized: "invalid_api_key",
  TooManyRequests: "rate_limit_exceeded"
}

const snake = (name: string): string => name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase()

/** An error in OpenAI's form. */
export const openAiError = ({ body }: Pick<Rendered, "body">): OpenAiError => ({
  error: {
    message: body.detail,
    type: kinds[body.status] ?? (body.status >= 500 ? "server_error" : "invalid_request_error"),
    code: codes[body._tag] ?? snake(body._tag),
    param: body.errors?.[0]?.path ?? null
  }
})

/** An error as a response, in OpenAI's form at its addresses, whatever is there. */
export const respond = (rendered: Rendered, url: string): HttpServerResponse.HttpServerResponse => {
  const { body, headers } = rendered
  const [shown, contentType] = /^\/v1(?:[/?]|$)/.test(url)
    ? [openAiError(rendered), "application/json"]
    : [body, problemType]
  return HttpServerResponse.text(JSON.stringify(shown), { status: body.status, contentType, headers })
}

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
