import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import type * as Headers from "@effect/platform/Headers"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpBody from "@effect/platform/HttpBody"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { randomUUID } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { LimitsConfig, ServerConfig } from "../Config.ts"
import { RateLimiter } from "../RateLimiter.ts"
import { StoreUnavailable } from "../Store.ts"
import { ExpectationFailed, MalformedRequest, MethodNotAllowed, RouteNotFound, badField } from "../api/errors.ts"
import { large, reclaiming } from "../runtime/Memory.ts"
import * as Client from "../runtime/Turn.ts"
import { name } from "../runtime/Unhandled.ts"
import { afterwards, meanwhile } from "../runtime/afterwards.ts"
import { Access } from "./Access.ts"

import { batchFault, chatFault, embeddingsFault, type BodyRules, withJsonBody } from "./body.ts"
import { Listener } from "./Listener.ts"
import { clientAddress, clientOf, isLoopback } from "./loopback.ts"
import * as metrics from "./metrics.ts"
import { makeAccount } from "./metrics.ts"
import { encode, errorOf, render, respond } from "./respond.ts"
import { attempt } from "../model/attempt.ts"

/** A route's template, for metrics and log, and its methods. */
export interface Route {
  readonly template: string
  readonly methods: ReadonlyArray<string>
}

/** GET of /mcp opens a stream, of which a HEAD would tell nothing. */
const withImplied = (template: string, methods: ReadonlySet<string>): ReadonlyArray<string> => [
  ...methods,
  ...(methods.has("GET") && template !== "/mcp" ? ["HEAD"] : []),
  "OPTIONS"
]

const pathOf = (url: string): string => {
  const end = url.indexOf("?")
  return end === -1 ? url : url.slice(0, end)
}

/** Finds a router's route for a URL's path, for any method. */
const makeRouteOf = (
  mounted: Iterable<{ readonly path: string; readonly method: string }>,
  served: ReadonlySet<string> | undefined
) => {
  const methods = new Map<string, Set<string>>()
  for (const { method, path } of mounted)
    if (served?.has(path) !== false) methods.set(path, (methods.get(path) ?? new Set()).add(method))
  const routes = [...methods].map(([template, methods]): Route & { readonly pattern: RegExp } => ({
    template,
    methods: withImplied(template, methods),
    pattern: new RegExp(`^${template.replace(/[.]/g, "\\.").replace(/:\w+/g, "[^/]+").replace(/\*$/, ".*")}$`)
  }))
  const isOpen = ({ template }: Route) => /[:*]/.test(template)
  const fixed = new Map(routes.filter((route) => !isOpen(route)).map((route) => [route.template, route]))
  const open = routes.filter(isOpen)
  return (url: string): Route | undefined => {
    const path = pathOf(url)
    return fixed.get(path) ?? open.find(({ pattern }) => pattern.test(path))
  }
}

/** Routes that monitors may call at any rate. */
const unlimited = new Set(["/health", "/ready"])

const isEncoded = (text: string): boolean =>
  !text.includes("%") || attempt(() => decodeURIComponent(text)) !== undefined

/** The parameter, in the path or the query string, whose value is not percent-encoded UTF-8, if any. */
const malformedParameter = (url: string, { template }: Route): string | undefined => {
  if (isEncoded(url) || unlimited.has(template)) return undefined
  const path = pathOf(url)
  if (!isEncoded(path)) return /:(\w+)/.exec(template)?.[1]
  // Taken as it is written, %E9 would name another source, without a word. A % alone is what a person typed.
  const given = url.slice(path.length + 1).split("&")
  return given
    .find((each) => !isEncoded(each.replaceAll(/%(?![\da-f]{2})/gi, "")))
    ?.split("=", 1)[0]!
    .slice(0, 60)
}

const exposed =
  "x-request-id, retry-after, location, www-authenticate, allow, mcp-session-id, x-clew-llm, x-clew-mode, x-clew-fusion, x-clew-degraded, x-clew-omitted"

/** Whether pages of any origin may call. */
export const isPermissive = (origins: ReadonlyArray<string>): boolean => origins.includes("*")

/** The CORS headers of every response; empty for an origin that may not call. */
const corsHeaders = (origins: ReadonlyArray<string>, request: Headers.Headers): Readonly<Record<string, string>> => {
  if (isPermissive(origins)) return { "access-control-allow-origin": "*", "access-control-expose-headers": exposed }
  const origin = request["origin"]
  if (origin === undefined || !origins.includes(origin)) return { vary: "Origin" }
  return { vary: "Origin", "access-control-allow-origin": origin, "access-control-expose-headers": exposed }
}

const addable =
  /^(?:x-stainless-[a-z-]{1,40}|mcp-[a-z-]{1,40}|last-event-id|traceparent|tracestate|baggage|b3|x-b3-[a-z]{1,20})$/

/** The headers that clients of OpenAI and MCP, and those that trace, add; a preflight request lists them. */
const added = (request: Headers.Headers): ReadonlyArray<string> =>
  (request["access-control-request-headers"] ?? "")
    .slice(0, 2000)
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => addable.test(name))

/** The headers of the response to a preflight request. */
const preflightHeaders = (
  origins: ReadonlyArray<string>,
  request: Headers.Headers,
  methods: ReadonlyArray<string>
): Readonly<Record<string, string>> => {
  const granted = corsHeaders(origins, request)
  if (granted["access-control-allow-origin"] === undefined) return granted
  return {
    ...granted,
    "access-control-allow-methods": methods.join(", "),
    "access-control-allow-headers": ["authorization, content-type, prefer, x-request-id", ...added(request)].join(", "),
    "access-control-max-age": "600"
  }
}

/** Routes of which every field of the body has a default. */
const emptyBodies = new Set(["/collections/:name/reindex", "/graph/build"])

/** Routes whose handlers read a body of another kind than JSON themselves. */
const rawBodies = new Set(["/files", "/import"])

const bodied = new Set(["POST", "DELETE"])

const requestId = ({ headers }: HttpServerRequest.HttpServerRequest): string => {
  const given = headers["x-request-id"]
  return given !== undefined && /^[\x21-\x7e]{1,128}$/.test(given) ? given : randomUUID()
}

/** Whether a request names its host twice; Node keeps the first, a proxy before us may go by the other. */
const hasTwoHosts = ({ rawHeaders }: IncomingMessage): boolean => {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length === 4 && name.toLowerCase() === "host") hosts++
  }
  return hosts > 1
}

/** Checks of HTTP itself that Node leaves to us. */
const checkForm = (request: HttpServerRequest.HttpServerRequest): MalformedRequest | ExpectationFailed | undefined => {
  const { expect, host } = request.headers
  const incoming = NodeHttpServerRequest.toIncomingMessage(request)
  if (hasTwoHosts(incoming)) return new MalformedRequest({ reason: "A request has one Host header, not several" })
  if (host !== undefined && expect === undefined) return undefined
  if (incoming.httpVersion !== "1.1") return undefined
  if (host === undefined) return new MalformedRequest({ reason: "A request in HTTP/1.1 needs a Host header" })
  return /^100-continue$/i.test(expect ?? "") ? undefined : new ExpectationFailed()
}

/** The answer to a request that the server's shutdown ended. */
const shuttingDown = new StoreUnavailable({
  reason: "The server is shutting down before this was finished; send it again later. What was stored so far stays"
})

/** What every request passes: guards before the routes; rendering of errors, log and metrics after them. */
const make = (served: ReadonlySet<string> | undefined) =>
  Effect.gen(function* () {
    const access = yield* Access
    const limiter = yield* RateLimiter
    const { unfinished } = yield* Listener
    const { corsOrigins, maxBodyBytes, trustProxy } = yield* ServerConfig
    const { maxBatch } = yield* LimitsConfig
    const account = yield* makeAccount
    const reclaim = yield* reclaiming
    const router = yield* HttpApiBuilder.Router
    let routeOf: ReturnType<typeof makeRouteOf> | undefined
    /** Built at the first request, when everything is mounted. */
    const findRoute = (url: string) =>
      Effect.map(router.router, ({ routes }) => (routeOf ??= makeRouteOf(routes, served))(url))
    const checks: Readonly<Record<string, BodyRules["check"]>> = {
      "/index": (body: unknown) => batchFault(body, maxBatch),
      "/v1/chat/completions": chatFault,
      "/v1/embeddings": embeddingsFault
    }
    const rulesOf = ({ template }: Route): BodyRules => ({
      limit: maxBodyBytes,
      typed: access.isKeyless(),
      mayBeEmpty: emptyBodies.has(template),
      check: checks[template]
    })
    yield* metrics.begin

    const admit = (request: HttpServerRequest.HttpServerRequest, route: Route | undefined, client: string) =>
      Effect.zipRight(
        route?.template === "/health"
          ? Effect.void
          : Effect.zipRight(
              access.checkHost(request),
              access.isReading(request.method, route?.template) ? Effect.void : access.checkOrigin(request)
            ),
        route !== undefined && unlimited.has(route.template)
          ? Effect.void
          : Effect.tapError(limiter.take(client), () => metrics.rateLimited)
      )

    const direct = (
      app: HttpApp.Default<unknown>,
      request: HttpServerRequest.HttpServerRequest,
      route: Route | undefined,
      taken: (bytes: number) => void
    ): HttpApp.Default<unknown> => {
      if (route === undefined)
        return new RouteNotFound({ served: served && [...served].filter((path) => path.lastIndexOf("/") === 0) })
      if (request.method === "OPTIONS") {
        const headers =
          request.headers["access-control-request-method"] === undefined
            ? { allow: route.methods.join(", ") }
            : preflightHeaders(corsOrigins, request.headers, route.methods)
        return Effect.succeed(HttpServerResponse.empty({ headers }))
      }
      if (!route.methods.includes(request.method)) return new MethodNotAllowed({ allowed: route.methods })
      const malformed = malformedParameter(request.url, route)
      if (malformed !== undefined) {
        return badField(malformed, "must be UTF-8, percent-encoded")
      }
      // Ignored, it would have documents stored in another collection, or searched in all, without a word.
      if (request.method === "POST" && ["?", "&"].some((mark) => request.url.includes(`${mark}collection=`))) {
        return badField(
          "collection",
          "collection must not be in the query string of a POST: its body, form or path names it"
        )
      }
      return bodied.has(request.method) && !rawBodies.has(route.template)
        ? meanwhile(app, FiberRef.currentContext, (around) =>
            Context.add(
              around,
              HttpServerRequest.HttpServerRequest,
              withJsonBody(request, { ...rulesOf(route), taken })
            )
          )
        : app
    }

    return (app: HttpApp.Default<unknown>): HttpApp.Default =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const started = performance.now()
        const id = requestId(request)
        const remote = Option.getOrUndefined(request.remoteAddress)
        const address = clientAddress(remote, request.headers["x-forwarded-for"], trustProxy)
        const client = clientOf(address)
        // Later log lines use this id.
        NodeHttpServerRequest.toIncomingMessage(request).headers["x-request-id"] = id
        const route = yield* findRoute(request.url)
        const cors = corsHeaders(corsOrigins, request.headers)

        let isLarge = false
        const taken = (bytes: number) => {
          isLarge = bytes > large
        }
        const finished = (status: number) => {
          const took = performance.now() - started
          const counted = account({ id, method: request.method, route: route?.template, status, took })
          return isLarge ? Effect.zipRight(counted, reclaim) : counted
        }

        const finish = (response: HttpServerResponse.HttpServerResponse) => {
          const headers = { ...cors, "x-request-id": id, "x-content-type-options": "nosniff" }
          const complete = HttpServerResponse.setHeaders(response, headers)
          const { body } = complete
          if (body._tag !== "Stream") {
            // Bytes to this machine cost less than compressing them.
            const accepted = isLoopback(address) ? undefined : request.headers["accept-encoding"]
            return Effect.zipRight(finished(response.status), encode(complete, accepted))
          }
          // A stream counts as answered when it ends or its reader goes away.
          const stream = Stream.ensuringWith(body.stream, (exit) =>
            finished(Exit.isInterrupted(exit) ? 499 : response.status)
          )
          return Effect.succeed(HttpServerResponse.setBody(complete, HttpBody.stream(stream, body.contentType)))
        }

        const failed = (cause: Cause.Cause<unknown>) => {
          const error = errorOf(cause)
          // The client has gone (nginx's 499): nobody is left to answer.
          if (Option.isNone(error) && NodeHttpServerRequest.toIncomingMessage(request).socket.destroyed) {
            return Effect.zipRight(finished(499), Effect.failCause(cause) as Effect.Effect<never>)
          }
          const rendered = render(
            // If something else than this request was interrupted: a defect.
            Option.getOrElse(error, () => (isLate ? shuttingDown : cause)),
            id
          )
          const { defect, inside } = rendered
          const logged =
            defect !== undefined
              ? Effect.logError("defect", cause)
              : inside !== undefined && inside !== rendered.body.detail
                ? Effect.logWarning(inside)
                : Effect.void
          return Effect.zipRight(Effect.annotateLogs(logged, "request_id", id), finish(respond(rendered, request.url)))
        }

        let isLate = false
        const answer: HttpApp.Default<unknown> =
          checkForm(request) ??
          meanwhile(
            Effect.zipRight(admit(request, route, client), direct(app, request, route, taken)),
            Client.current,
            () => client
          )
        const answered = Effect.withFiberRuntime<
          HttpServerResponse.HttpServerResponse,
          unknown,
          HttpServerRequest.HttpServerRequest
        >((fiber) => {
          const end = () => {
            isLate = true
            fiber.unsafeInterruptAsFork(FiberId.none)
          }
          const forget = name(`${request.method} ${route?.template ?? "unmatched"} ${id}`)
          unfinished.add(end)
          // A server runs all but its handlers uninterruptibly.
          return afterwards(answer, () => {
            unfinished.delete(end)
            forget()
          })
        })
        return yield* Effect.matchCauseEffect(answered, { onSuccess: finish, onFailure: failed })
      })
  })

/** For these routes alone, or all that are mounted. */
export const layer = (served?: ReadonlySet<string>) =>
  Layer.provide(HttpApiBuilder.middleware(make(served)), HttpApiBuilder.Router.Live)
