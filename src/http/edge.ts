import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpBody from "@effect/platform/HttpBody"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { randomUUID } from "node:crypto"
import { ExpectationFailed, InvalidRequest, MalformedRequest, MethodNotAllowed, RouteNotFound } from "../api/errors.ts"
import { LimitsConfig, ServerConfig } from "../Config.ts"
import { RateLimiter } from "../RateLimiter.ts"
import { StoreUnavailable } from "../Store.ts"
import * as Client from "../runtime/Client.ts"
import { large, reclaiming } from "../runtime/Memory.ts"
import { named } from "../runtime/Unhandled.ts"
import { Access } from "./Access.ts"
import { makeAccount } from "./account.ts"
import { batchFault } from "./batch.ts"
import { type BodyRules, withJsonBody } from "./body.ts"
import { corsHeaders, preflightHeaders } from "./cors.ts"
import { clientAddress, clientKey, isLoopback } from "./loopback.ts"
import { encode } from "./encoding.ts"
import { Listener } from "./Listener.ts"
import * as metrics from "./metrics.ts"
import { isOpenAi, respondOpenAi } from "./openAi.ts"
import { errorOf, render, respond } from "./respond.ts"
import { makeRouteOf, malformedParameter, type Route } from "./routes.ts"

/** Routes that monitors may call at any rate. */
const unlimited = new Set(["/health", "/ready"])

const bodied = new Set(["POST", "DELETE"])

const requestId = ({ headers }: HttpServerRequest.HttpServerRequest): string => {
  const given = headers["x-request-id"]
  return given !== undefined && /^[\x21-\x7e]{1,128}$/.test(given) ? given : randomUUID()
}

const addressed = (request: HttpServerRequest.HttpServerRequest, trustProxy: boolean) =>
  [Option.getOrUndefined(request.remoteAddress), request.headers["x-forwarded-for"], trustProxy] as const

/** The client's key for the rate limit, and for its turns. */
export const clientOf = (request: HttpServerRequest.HttpServerRequest, trustProxy: boolean): string =>
  clientKey(...addressed(request, trustProxy))

/** Checks of HTTP itself that Node leaves to us. */
const checkForm = (request: HttpServerRequest.HttpServerRequest): MalformedRequest | ExpectationFailed | undefined => {
  const { expect, host } = request.headers
  if (host !== undefined && expect === undefined) return undefined
  if (NodeHttpServerRequest.toIncomingMessage(request).httpVersion !== "1.1") return undefined
  if (host === undefined) return new MalformedRequest({ reason: "A request in HTTP/1.1 needs a Host header" })
  return /^100-continue$/i.test(expect ?? "") ? undefined : new ExpectationFailed()
}

/** The answer to a request that the server's shutdown ended. */
const shuttingDown = new StoreUnavailable({
  reason: "The server is shutting down before this was finished; send it again later. What was stored so far stays"
})

/** What every request passes: guards before the routes; rendering of errors, log and metrics after them. */
const make = Effect.gen(function* () {
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
  const findRoute = (url: string) => Effect.map(router.router, ({ routes }) => (routeOf ??= makeRouteOf(routes))(url))
  const plain = { limit: maxBodyBytes, typed: access.isKeyless }
  const batch = { ...plain, check: (body: unknown) => batchFault(body, maxBatch) }
  const rulesOf = ({ template }: Route): BodyRules => (template === "/index" ? batch : plain)
  yield* metrics.begin

  const admit = (request: HttpServerRequest.HttpServerRequest, route: Route | undefined) =>
    Effect.zipRight(
      route?.template === "/health"
        ? Effect.void
        : Effect.zipRight(
            access.checkHost(request),
            request.method === "POST" ? access.checkOrigin(request) : Effect.void
          ),
      route !== undefined && unlimited.has(route.template)
        ? Effect.void
        : Effect.tapError(limiter.take(clientOf(request, trustProxy)), () => metrics.rateLimited)
    )

  const direct = (
    app: HttpApp.Default<unknown>,
    request: HttpServerRequest.HttpServerRequest,
    route: Route | undefined,
    taken: (bytes: number) => void
  ): HttpApp.Default<unknown> => {
    if (route === undefined) return new RouteNotFound()
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
      return new InvalidRequest({ errors: [{ path: malformed, message: "must be UTF-8, percent-encoded" }] })
    }
    return bodied.has(request.method)
      ? Effect.provideService(
          app,
          HttpServerRequest.HttpServerRequest,
          withJsonBody(request, { ...rulesOf(route), taken })
        )
      : app
  }

  return (app: HttpApp.Default<unknown>): HttpApp.Default =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const started = performance.now()
      const id = requestId(request)
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
        const told = account({ id, method: request.method, route: route?.template, status, took })
        return isLarge ? Effect.zipRight(told, reclaim) : told
      }

      const finish = (response: HttpServerResponse.HttpServerResponse) => {
        const headers = { ...cors, "x-request-id": id, "x-content-type-options": "nosniff" }
        const whole = HttpServerResponse.setHeaders(response, headers)
        const { body } = whole
        if (body._tag !== "Stream") {
          // Bytes to this machine cost less than compressing them.
          const accepted = isLoopback(clientAddress(...addressed(request, trustProxy)))
            ? undefined
            : request.headers["accept-encoding"]
          return Effect.zipRight(finished(response.status), encode(whole, accepted))
        }
        // A stream counts as answered when it ends or its reader goes away.
        const stream = Stream.ensuringWith(body.stream, (exit) =>
          finished(Exit.isInterrupted(exit) ? 499 : response.status)
        )
        return Effect.succeed(HttpServerResponse.setBody(whole, HttpBody.stream(stream, body.contentType)))
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
        const answered = isOpenAi(route?.template ?? "") ? respondOpenAi : respond
        const { defect, inside } = rendered
        const logged =
          defect !== undefined
            ? Effect.logError("defect", cause)
            : inside !== undefined && inside !== rendered.body.detail
              ? Effect.logWarning(inside)
              : Effect.void
        return Effect.zipRight(Effect.annotateLogs(logged, "request_id", id), finish(answered(rendered)))
      }

      let isLate = false
      const answer: HttpApp.Default<unknown> =
        checkForm(request) ??
        Effect.zipRight(admit(request, route), direct(app, request, route, taken)).pipe(
          Client.working(clientOf(request, trustProxy))
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
        unfinished.add(end)
        return Effect.ensuring(
          named(`${request.method} ${route?.template ?? "unmatched"} ${id}`, answer),
          Effect.sync(() => unfinished.delete(end))
        )
      })
      return yield* Effect.matchCauseEffect(answered, { onSuccess: finish, onFailure: failed })
    })
})

export const layer = Layer.provide(HttpApiBuilder.middleware(make), HttpApiBuilder.Router.Live)
