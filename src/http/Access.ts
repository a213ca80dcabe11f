import type * as Headers from "@effect/platform/Headers"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { createHash, timingSafeEqual } from "node:crypto"
import { Forbidden, ReadOnly, Unauthorized } from "../api/errors.ts"
import { Authorization, StatsAuthorization, Writing } from "../api/Middleware.ts"
import { ServerConfig } from "../Config.ts"
import * as metrics from "./metrics.ts"
import { isLoopback, isLoopbackName, nameOf } from "./loopback.ts"

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Who may come in: the API key, and without one what a browser says of where a request comes from. */
export class Access extends Effect.Service<Access>()("clew/http/Access", {
  effect: Effect.gen(function* () {
    const { apiKey, corsOrigins, host, publicStats, readOnly } = yield* ServerConfig
    const key = Option.map(apiKey, (value) => digest(Redacted.value(value)))
    const guarded = Option.isNone(key) && isLoopback(host)

    /** Digests are of one length, so that the comparison takes the same time whatever was sent. */
    const isKey = (token: string): boolean => Option.isNone(key) || timingSafeEqual(digest(token), key.value)
    const refused = Effect.zipRight(metrics.unauthorized, new Unauthorized())

    const fromHeader = (headers: Headers.Headers): string | undefined =>
      /^bearer +(\S.*)$/i.exec(headers["authorization"] ?? "")?.[1]

    /** The key as the value of the header, which HttpApi takes from any scheme. */
    const authorize = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
      if (Option.isNone(key)) return Effect.void
      const token = fromHeader(headers)
      return token !== undefined && isKey(token) ? Effect.void : refused
    })

    const isForeign = ({ headers }: HttpServerRequest.HttpServerRequest): boolean => {
      const origin = headers["origin"]
      if (origin === undefined || corsOrigins.includes(origin)) return false
      return !URL.canParse(origin) || new URL(origin).host !== headers["host"]
    }

    return {
      publicStats,
      readOnly,
      isKeyless: Option.isNone(key),
      authorize,
      /** The key of a WebSocket: in the header, or as a browser can send it, in a subprotocol. */
      authorizeSocket: Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
        if (Option.isNone(key)) return Effect.void
        const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((it) => it.trim())
        const carried = offered.find((it) => it.startsWith("bearer."))?.slice("bearer.".length)
        const token = fromHeader(headers) ?? (carried && Buffer.from(carried, "base64url").toString("utf8"))
        return token !== undefined && isKey(token) ? Effect.void : refused
      }),
      /** A name that leads here from outside may have been pointed here by a web page (DNS rebinding). */
      checkHost: (request: HttpServerRequest.HttpServerRequest): Effect.Effect<void, Forbidden> => {
        const name = nameOf(request.headers["host"] ?? "")
        return !guarded || isLoopbackName(name) || name === host
          ? Effect.void
          : new Forbidden({
              reason: "Without an API key this server answers only to localhost; use that name, or set a key"
            })
      },
      /** Without a key, no other site's page may change or follow the index. */
      checkOrigin: (request: HttpServerRequest.HttpServerRequest): Effect.Effect<void, Forbidden> =>
        Option.isNone(key) && isForeign(request)
          ? new Forbidden({
              reason:
                "A page of another site may not do this without an API key; list its origin in server.cors_origins"
            })
          : Effect.void
    }
  })
}) {}

const authorization = Layer.effect(
  Authorization,
  Effect.map(Access, ({ authorize }) => Authorization.of({ bearer: () => authorize as never }))
)

const statsAuthorization = Layer.effect(
  StatsAuthorization,
  Effect.map(Access, ({ authorize, publicStats }) =>
    StatsAuthorization.of({ bearer: () => (publicStats ? Effect.void : authorize) as never })
  )
)

const writing = Layer.effect(
  Writing,
  Effect.map(Access, ({ checkOrigin, readOnly }) =>
    Writing.of(readOnly ? new ReadOnly() : (Effect.flatMap(HttpServerRequest.HttpServerRequest, checkOrigin) as never))
  )
)

/** The middleware that the contract names. */
export const layerMiddleware = Layer.mergeAll(authorization, statsAuthorization, writing)
