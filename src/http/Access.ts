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

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Access control: the API key or, without one, the Host and Origin that a browser sends. */
export class Access extends Effect.Service<Access>()("clew/http/Access", {
  effect: Effect.gen(function* () {
    const { apiKey, corsOrigins, host, publicStats, readOnly } = yield* ServerConfig
    const key = Option.map(apiKey, (value) => digest(Redacted.value(value)))
    const guarded = Option.isNone(key) && isLoopback(host)

    /** Digests have one length, so that the comparison takes the same time for any token. */
    const isKey = (token: string): boolean => Option.isNone(key) || timingSafeEqual(digest(token), key.value)
    const refused = Effect.zipRight(metrics.unauthorized, new Unauthorized())

    const fromHeader = (headers: Headers.Headers): string | undefined =>
      /^bearer +(\S.*)$/i.exec(headers["authorization"] ?? "")?.[1]

    /** Checks the header itself, since HttpApi accepts a key from any scheme. */
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
      /** The key of a WebSocket: in the header, or in a subprotocol, which is all that a browser can set. */
      authorizeSocket: Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
        if (Option.isNone(key)) return Effect.void
        const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((it) => it.trim())
        const carried = offered.find((it) => it.startsWith("bearer."))?.slice("bearer.".length)
        const token = fromHeader(headers) ?? (carried && Buffer.from(carried, "base64url").toString("utf8"))
        return token !== undefined && isKey(token) ? Effect.void : refused
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
        Option.isNone(key) && isForeign(request)
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
