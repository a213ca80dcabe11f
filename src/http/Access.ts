import type * as Headers from "@effect/platform/Headers"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { createHash, timingSafeEqual } from "node:crypto"
import { Authorization, StatsAuthorization, Writing } from "../api/endpoint.ts"
import { Forbidden, ReadOnly, Unauthorized } from "../api/errors.ts"
import { ServerConfig } from "../Config.ts"
import { isLoopback, isLoopbackName, nameOf } from "./loopback.ts"
import * as metrics from "./metrics.ts"
import * as OAuth from "./oauth.ts"

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Access control: the API key or, without one, the Host and Origin that a browser sends. */
export class Access extends Effect.Service<Access>()("clew/http/Access", {
  effect: Effect.gen(function* () {
    const config = yield* ServerConfig
    const { apiKey, corsOrigins, host, publicStats, readOnly } = config
    const key = Option.map(apiKey, (value) => digest(Redacted.value(value)))
    const oauth = yield* OAuth.make(config)
    /** Whoever reaches the server is let in. */
    const isKeyless = Option.isNone(key) && oauth === undefined
    const guarded = isKeyless && isLoopback(host)

    /** Digests have one length, so that the comparison takes the same time for any token. */
    const isKey = (token: string): boolean => Option.isSome(key) && timingSafeEqual(digest(token), key.value)
    const missing =
      oauth === undefined
        ? new Unauthorized({ reason: undefined, challenge: undefined })
        : new Unauthorized({
            reason: `This needs a token of ${config.oauthIssuer}${Option.isSome(key) ? " or the API key" : ""}: send it as \`Authorization: Bearer <token>\``,
            challenge: oauth.challenge
          })

    /** The key, or a token of the issuer, opens. */
    const admit = (token: string | undefined) =>
      isKeyless || (token !== undefined && isKey(token))
        ? Effect.void
        : Effect.tapErrorTag(
            token === undefined || oauth === undefined ? missing : oauth.check(token),
            "Unauthorized",
            () => metrics.unauthorized
          )

    const fromHeader = (headers: Headers.Headers): string | undefined =>
      /^bearer +(\S.*)$/i.exec(headers["authorization"] ?? "")?.[1]

    /** Checks the header itself, since HttpApi accepts a key from any scheme. */
    const authorize = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => admit(fromHeader(headers)))

    const isForeign = ({ headers }: HttpServerRequest.HttpServerRequest): boolean => {
      const origin = headers["origin"]
      if (origin === undefined || corsOrigins.includes(origin)) return false
      return !URL.canParse(origin) || new URL(origin).host !== headers["host"]
    }

    return {
      publicStats,
      readOnly,
      isKeyless,
      oauth,
      authorize,
      /** The key of a WebSocket: in the header, or in a subprotocol, which is all that a browser can set. */
      authorizeSocket: Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
        const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((it) => it.trim())
        const carried = offered.find((it) => it.startsWith("bearer."))?.slice("bearer.".length)
        return admit(fromHeader(headers) ?? (carried && Buffer.from(carried, "base64url").toString("utf8")))
      }),
      /** A web page may have pointed another name at this server (DNS rebinding). */
      checkHost: (request: HttpServerRequest.HttpServerRequest): Effect.Effect<void, Forbidden> => {
        const name = nameOf(request.headers["host"] ?? "")
        return !guarded || isLoopbackName(name) || name === host
          ? Effect.void
          : new Forbidden({
              reason: "Without an API key this server only accepts the host localhost; use that name, or set a key"
            })
      },
      /** Without a key, no page of another site may change or follow the index. */
      checkOrigin: (request: HttpServerRequest.HttpServerRequest): Effect.Effect<void, Forbidden> =>
        isKeyless && isForeign(request)
          ? new Forbidden({
              reason: "A page of another site may not do this without an API key; add its origin to server.cors_origins"
            })
          : Effect.void
    }
  })
}) {}

/** The middleware of the contract. */
export const layerMiddleware = Layer.unwrapEffect(
  Effect.map(Access, ({ authorize, checkOrigin, publicStats, readOnly }) => {
    const bearer = () => authorize as never
    const own = Effect.flatMap(HttpServerRequest.HttpServerRequest, checkOrigin) as never
    return Layer.mergeAll(
      Layer.succeed(Authorization, Authorization.of({ bearer })),
      Layer.succeed(StatsAuthorization, StatsAuthorization.of({ bearer: publicStats ? () => Effect.void : bearer })),
      Layer.succeed(Writing, Writing.of(readOnly ? new ReadOnly() : own))
    )
  })
)
