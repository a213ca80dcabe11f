import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { waitOf } from "../model/retryAfter.ts"
import { isStale } from "./again.ts"
import { Cut, parsed } from "./json.ts"
import { redirectOf, shown } from "./redirect.ts"

/** An OpenAI-compatible server did not answer correctly; the reason says what to do. */
export class OpenAiError extends Schema.TaggedError<OpenAiError>()("OpenAiError", {
  reason: Schema.String,
  /** The same request may succeed later. */
  retryable: Schema.Boolean,
  /** HTTP status; undefined without a response. */
  status: Schema.optional(Schema.Number),
  /** The server's Retry-After, in milliseconds. */
  waitMs: Schema.optional(Schema.Number)
}) {
  override get message() {
    return this.reason
  }
}

export interface OpenAiServer {
  readonly url: string
  readonly apiKey: Option.Option<Redacted.Redacted>
  /** The environment variable with the API key. */
  readonly keyVariable: string
  /** Sent with every request; they replace default headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** The address of a path below a base address; only a base without a path gets `/v1`. */
export const endpoint = (url: string, path: string): string => {
  const { origin, pathname, search } = new URL(url)
  const base = pathname.replace(/(?<!\/)\/+$/, "")
  return `${origin}${base === "" ? "/v1" : base}/${path}${search}`
}

const Refusal = Schema.Struct({ error: Schema.Union(Schema.String, Schema.Struct({ message: Schema.String })) })

/** The server's own reason in a body that has one. */
export const refusalIn = (body: string): Option.Option<string> =>
  Option.map(Schema.decodeOption(Schema.parseJson(Refusal))(body), ({ error }) =>
    typeof error === "string" ? error : error.message
  )

const adviceOn = (status: number, { apiKey, keyVariable }: OpenAiServer): string => {
  switch (status) {
    case 401:
    case 403:
      return `; ${Option.isSome(apiKey) ? "check" : "set"} ${keyVariable} in the environment`
    case 404:
      return "; check the url and the model's name"
    case 429:
      return "; it accepts no more requests for now"
    default:
      return ""
  }
}

/** Shorter header values are versions, names and the like. */
const shortest = 16

/** Some servers repeat the key that they refuse, or the address. */
const withoutSecrets = (text: string, { apiKey, headers = {}, url }: OpenAiServer): string =>
  [
    ...Option.toArray(Option.map(apiKey, Redacted.value)),
    ...[new URL(url).search, ...new URL(url).searchParams.values(), ...Object.values(headers)]
      .map((value) => value.replace(/^bearer +/i, ""))
      .filter((value) => value.length >= shortest && !/^\d{4}-\d\d/.test(value))
  ].reduce((rest, secret) => (secret === "" ? rest : rest.replaceAll(secret, "…")), text)

const refused = (server: OpenAiServer, path: string, response: HttpClientResponse.HttpClientResponse) =>
  Effect.flatMap(
    Effect.map(
      Effect.orElseSucceed(response.text, () => ""),
      (text) => withoutSecrets(text, server)
    ),
    (body) => {
      const { headers, status } = response
      const address = shown(endpoint(server.url, path))
      const words =
        redirectOf(status, headers["location"], address, `/${path}`) ??
        Option.getOrElse(refusalIn(body), () => body.slice(0, 300)) + adviceOn(status, server)
      const reason = `${address} answered ${status}: ${words.replace(/^; /, "")}`
      return Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const waitMs = waitOf((name) => headers[name], now)
        const asked = waitMs === undefined ? "" : `; it asks for a pause of ${Math.ceil(waitMs / 1000)} s`
        return new OpenAiError({
          reason: `${reason}${asked}`,
          retryable: status === 429 || status >= 500,
          status,
          ...(waitMs === undefined ? {} : { waitMs })
        })
      })
    }
  )

interface Failed {
  readonly cause?: { readonly code?: string }
  readonly message?: string
}

/** What the client met. */
const causeOf = ({ cause }: HttpClientError.HttpClientError) => cause as Failed | undefined

const unreachable = (url: string) => (error: HttpClientError.HttpClientError) => {
  const cause = causeOf(error)
  const why = cause?.cause?.code ?? cause?.message ?? error.reason
  return new OpenAiError({
    reason: `no answer from ${url} (${why}); is the server running, and is that its address?`,
    retryable: true
  })
}

/** Posts JSON; a status other than 2xx is an error with the server's own words. */
export const post = Effect.fn("OpenAi.post")(function* (server: OpenAiServer, path: string, body: unknown) {
  const http = yield* HttpClient.HttpClient
  const request = HttpClientRequest.post(endpoint(server.url, path)).pipe(
    HttpClientRequest.bodyUnsafeJson(body),
    Option.match(server.apiKey, {
      onNone: () => (bare: HttpClientRequest.HttpClientRequest) => bare,
      onSome: (key) => HttpClientRequest.bearerToken(Redacted.value(key))
    }),
    HttpClientRequest.setHeaders(server.headers ?? {})
  )
  const response = yield* http.execute(request).pipe(
    // Nothing was answered yet, so the request can be repeated.
    Effect.retry({ times: 1, while: (error) => isStale(causeOf(error)?.cause?.code) }),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
    Effect.locally(HttpClient.currentTracerDisabledWhen, ({ url }) => url.includes("?")),
    Effect.mapError(unreachable(shown(server.url)))
  )
  return response.status >= 200 && response.status < 300 ? response : yield* refused(server, path, response)
})

/** The answer of an address as the schema has it; `wrong` is what to say of it, as it is shown, if it is something else. */
export const answerOf = <A, I>(
  address: string,
  schema: Schema.Schema<A, I>,
  wrong: string
): ((response: HttpClientResponse.HttpClientResponse) => Effect.Effect<A, OpenAiError>) => {
  const decode = Schema.decodeUnknown(schema)
  const cut = () => new OpenAiError({ reason: `${address} stopped in the middle of the answer`, retryable: true })
  /** Some answer a failure with 200, too. */
  const other = (text: string) => {
    const words = Option.match(refusalIn(text), { onNone: () => wrong, onSome: (own) => `answered: ${own}` })
    return new OpenAiError({ reason: `${address} ${words}`, retryable: false })
  }
  return (response) =>
    Effect.flatMap(Effect.mapError(response.text, cut), (text) =>
      Effect.try({ try: () => parsed(text), catch: (error) => (error instanceof Cut ? cut() : other(text)) }).pipe(
        Effect.flatMap((answer) => Effect.mapError(decode(answer), () => other(text)))
      )
    )
}
