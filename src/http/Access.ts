import type * as Headers from "@effect/platform/Headers"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { timingSafeEqual } from "node:crypto"
import { Api } from "../api/Api.ts"
import { Authorization, Needs, StatsAuthorization, Writing } from "../api/endpoint.ts"
import { Forbidden, ReadOnly, Unauthorized } from "../api/errors.ts"
import { type Caller, current, mustHave, mustSeeAll, mustUse, owner } from "../Caller.ts"
import { ServerConfig } from "../Config.ts"
import type { Right } from "../model/Key.ts"
import { digest, makeKeys } from "./keys.ts"
import { isLoopback, isLoopbackName, nameOf } from "./loopback.ts"
import * as metrics from "./metrics.ts"
import * as OAuth from "./oauth.ts"

/** What a key needs for a route of the contract. */
interface Need {
  readonly right: Right
  readonly allCollections: boolean
}

/** What the contract says, by method and path. */
const readNeeds = (): ReadonlyMap<string, Need> => {
  const needs = new Map<string, Need>()
  // HttpApi.reflect would also read all schemas, at each start.
  for (const { annotations, endpoints, middlewares } of Object.values(Api.groups)) {
    const ofGroup = Context.merge(Api.annotations, annotations)
    for (const endpoint of Object.values(endpoints)) {
      const { right, allCollections = false } = Context.get(Context.merge(ofGroup, endpoint.annotations), Needs)
      const isWriting = [middlewares, endpoint.middlewares].some((all) => (all as ReadonlySet<unknown>).has(Writing))
      needs.set(`${endpoint.method} ${endpoint.path}`, {
        right: right ?? (isWriting ? "write" : "read"),
        allCollections
      })
    }
  }
  return needs
}

const readingMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"])

const ofRaw: Need = { right: "read", allCollections: false }

/** The collections that a request names in its address. */
const namedIn = Effect.gen(function* () {
  const { params, route } = yield* HttpRouter.RouteContext
  const { collection } = yield* HttpServerRequest.ParsedSearchParams
  const { name } = params
  return [
    ...(typeof collection === "string" ? [collection] : (collection ?? [])),
    ...(route.path.startsWith("/collections/") && name !== undefined ? [name] : [])
  ]
})

/** Fails unless the caller may do what the request's route does. */
const permit = Effect.fnUntraced(function* (caller: Caller, needs: ReadonlyMap<string, Need>) {
  const { route } = yield* HttpRouter.RouteContext
  const { right, allCollections } = needs.get(`${route.method} ${route.path}`) ?? ofRaw
  yield* mustHave(caller, right)
  if (caller.collections === undefined) return
  if (allCollections) yield* mustSeeAll(caller)
  for (const collection of yield* namedIn) yield* mustUse(caller, collection)
})

/** Whoever has SERVICE_API_KEY. */
const holder: Caller = { ...owner, who: "SERVICE_API_KEY" }

/** Seconds between two looks at whether the key of an open stream still counts. */
const looks = 5

const described = ({ collections, name, rights, who }: Caller): string =>
  JSON.stringify([name, who, [...rights], collections && [...collections]])

/** Access control: the keys or, without one, the Host and Origin that a browser sends. */
export class Access extends Effect.Service<Access>()("clew/http/Access", {
  effect: Effect.gen(function* () {
    const config = yield* ServerConfig
    const { apiKey, corsOrigins, host, publicStats, readOnly } = config
    const key = Option.map(apiKey, (value) => digest(Redacted.value(value)))
    const oauth = yield* OAuth.make(config)
    const keys = yield* makeKeys
    const needs = readNeeds()
    /** Whoever reaches the server is let in. */
    const isKeyless = () => Option.isNone(key) && oauth === undefined && !keys.isUsed()
    const isGuarded = () => isKeyless() && isLoopback(host)

    const isKey = (token: string): boolean => Option.isSome(key) && timingSafeEqual(digest(token), key.value)
    const missing =
      oauth === undefined
        ? new Unauthorized({ reason: undefined, challenge: undefined })
        : new Unauthorized({
            reason: `This needs a token of ${config.oauthIssuer}${Option.isSome(key) || config.keys.length > 0 ? " or the API key" : ""}: send it as \`Authorization: Bearer <token>\``,
            challenge: oauth.challenge
          })

    /** Whose key, or whose issuer's token, it is. */
    const identify = Effect.fnUntraced(
      function* (token: string | undefined) {
        yield* keys.looked
        if (isKeyless()) return owner
        if (token === undefined) return yield* missing
        const caller = yield* keys.callerOf(token)
        if (isKey(token)) return holder
        if (caller !== undefined) return caller
        if (oauth === undefined) return yield* missing
        const subject = yield* oauth.check(token)
        return { ...owner, who: `token${subject === undefined ? "" : ` of ${subject}`}` } satisfies Caller
      },
      Effect.tapErrorTag("Unauthorized", () => metrics.unauthorized)
    )

    /** From here on the fiber works for the caller. */
    const admit = (token: string | undefined) =>
      Effect.tap(identify(token), (caller) => Effect.zipRight(permit(caller, needs), FiberRef.set(current, caller)))

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
      /** Who asks; undefined if the server needs a key and none was sent. */
      whoami: Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
        Effect.gen(function* () {
          const token = fromHeader(headers)
          yield* keys.looked
          if (isKeyless()) return { caller: owner, authenticated: false }
          if (headers["authorization"] === undefined) return { caller: undefined, authenticated: false }
          return { caller: yield* identify(token), authenticated: true }
        })
      ),
      /** What ends when the key of this request is gone, or may do something else. */
      revoked: Effect.gen(function* () {
        const request = yield* Effect.context<Effect.Effect.Context<typeof authorize>>()
        const given = described(yield* FiberRef.get(current))
        const looking = Effect.zipRight(authorize, FiberRef.get(current)).pipe(
          Effect.map(described),
          // The issuer of the token cannot be asked.
          Effect.catchTag("AccessUnavailable", () => Effect.succeed(given))
        )
        return Effect.repeat(looking, {
          while: (now) => now === given,
          schedule: Schedule.spaced(`${looks} seconds`)
        }).pipe(Effect.ignore, Effect.provide(request))
      }),
      /** The key of a WebSocket: in the header, or in a subprotocol, which is all that a browser can set. */
      authorizeSocket: Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
        const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((it) => it.trim())
        const carried = offered.find((it) => it.startsWith("bearer."))?.slice("bearer.".length)
        return admit(fromHeader(headers) ?? (carried && Buffer.from(carried, "base64url").toString("utf8")))
      }),
      /** A web page may have pointed another name at this server (DNS rebinding). */
      checkHost: (request: HttpServerRequest.HttpServerRequest): Effect.Effect<void, Forbidden> => {
        const name = nameOf(request.headers["host"] ?? "")
        return !isGuarded() || isLoopbackName(name) || name === host
          ? Effect.void
          : new Forbidden({
              reason: "Without an API key this server only accepts the host localhost; use that name, or set a key"
            })
      },
      /** Whether a route of the contract only reads; others, as that of MCP, may write. */
      isReading: (method: string, route: string | undefined): boolean =>
        readingMethods.has(method) || needs.get(`${method} ${route}`)?.right === "read",
      /** Without a key, no page of another site may change or follow the index. */
      checkOrigin: (request: HttpServerRequest.HttpServerRequest): Effect.Effect<void, Forbidden> =>
        isKeyless() && isForeign(request)
          ? new Forbidden({
              reason: "A page of another site may not do this without an API key; add its origin to server.cors_origins"
            })
          : Effect.void
    }
  })
}) {}

/** The middleware of the contract. */
export const layerMiddleware = Layer.unwrapEffect(
  Effect.map(Access, ({ authorize, publicStats, readOnly }) => {
    const bearer = () => authorize as never
    return Layer.mergeAll(
      Layer.succeed(Authorization, Authorization.of({ bearer })),
      Layer.succeed(StatsAuthorization, StatsAuthorization.of({ bearer: publicStats ? () => Effect.void : bearer })),
      Layer.succeed(Writing, Writing.of(readOnly ? new ReadOnly() : Effect.void))
    )
  })
)
