import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Headers from "@effect/platform/Headers"
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Api } from "../api/Api.ts"
import { RouteNotFound } from "../api/errors.ts"
import { Collections } from "../Collections.ts"
import { isOpen, ServerConfig, TelemetryConfig } from "../Config.ts"
import type { OpenIndex } from "../OpenIndex.ts"
import type { RateLimiter } from "../RateLimiter.ts"
import { once } from "../runtime/once.ts"
import { stacked } from "../runtime/stacked.ts"
import { logUnhandled } from "../runtime/Unhandled.ts"
import { version } from "../version.ts"
import { Access, layerMiddleware } from "./Access.ts"
import * as ask from "./ask.ts"
import * as console from "./console.ts"
import * as documents from "./documents.ts"
import * as edge from "./edge.ts"
import * as files from "./files.ts"
import * as health from "./health.ts"
import * as jobs from "./Jobs.ts"
import * as insight from "./insight.ts"
import * as Listener from "./Listener.ts"
import { isLoopback } from "./loopback.ts"
import * as mcp from "./mcp.ts"
import { measured } from "./metrics.ts"
import { wellKnown } from "./oauth.ts"
import * as openai from "./openai.ts"
import * as search from "./search.ts"
import * as socket from "./socket.ts"
import * as system from "./system.ts"

/** The page contains everything it needs, and talks only to this server. */
const policy =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

/** The page of @effect/platform, two megabytes of script: loaded at the first request. */
const docsPage = Effect.gen(function* () {
  const { layer } = yield* Effect.promise(() => import("@effect/platform/HttpApiSwagger"))
  // Relative, so that a request that is tried goes below a proxy's path, too.
  const beside = Api.annotate(OpenApi.Servers, [{ url: "./" }])
  const api = Layer.succeed(HttpApi.Api, { api: beside as never, context: {} as never })
  const router = yield* Effect.provide(
    Effect.flatMap(HttpApiBuilder.Router, ({ router }) => router),
    Layer.provideMerge(layer({ path: "/docs" }), Layer.merge(api, HttpApiBuilder.Router.Live))
  )
  const app = yield* HttpRouter.toHttpApp(router)
  const response = yield* app
  return HttpServerResponse.setHeaders(response, {
    "content-security-policy": policy,
    "referrer-policy": "no-referrer"
  })
})

/** GET /openapi.json and GET /docs, which need no key. */
export const docs = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const document = once(
      Effect.sync(() =>
        HttpServerResponse.text(JSON.stringify(OpenApi.fromApi(Api)), { contentType: "application/json" })
      )
    )
    yield* router.get("/openapi.json", document)
    yield* router.get("/docs", once(docsPage))
  })
)

const resourcePaths = [wellKnown, `${wellKnown}/*`] as const

/** Where clients learn who issues tokens for this server (RFC 9728). */
const resource = HttpApiBuilder.Router.use((router) =>
  Effect.flatMap(Access, ({ oauth }) =>
    oauth === undefined
      ? Effect.void
      : Effect.forEach(
          resourcePaths,
          (path) =>
            router.get(
              path,
              // A path may have signs that mean something in a router's.
              Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) =>
                oauth.paths.has(url.split("?", 1)[0]!)
                  ? Effect.succeed(HttpServerResponse.unsafeJson(oauth.metadata))
                  : new RouteNotFound({ served: undefined })
              )
            ),
          { discard: true }
        )
  )
)

/** Sends traces to an OTLP collector, over HTTP as JSON; without an endpoint it loads and sends nothing. */
export const telemetry = (endpoint: string | undefined): Layer.Layer<never> =>
  endpoint === undefined
    ? Layer.empty
    : Layer.unwrapEffect(
        Effect.gen(function* () {
          const [OtlpTracer, OtlpSerialization, FetchHttpClient] = yield* Effect.promise(() =>
            Promise.all([
              import("@effect/opentelemetry/OtlpTracer"),
              import("@effect/opentelemetry/OtlpSerialization"),
              import("@effect/platform/FetchHttpClient")
            ])
          )
          return OtlpTracer.layer({
            url: `${endpoint.replace(/(?<!\/)\/+$/, "").replace(/\/v1\/traces$/, "")}/v1/traces`,
            resource: { serviceName: "clew", serviceVersion: version }
          }).pipe(Layer.provide(OtlpSerialization.layerJson), Layer.provide(FetchHttpClient.layer))
        })
      )

const groups = [
  search.layer,
  insight.layer,
  search.graphLayer,
  search.judgementsLayer,
  ask.layer,
  openai.chatLayer,
  openai.embeddingsLayer,
  documents.layer,
  documents.collectionsLayer,
  files.layer,
  health.layer,
  jobs.layer,
  system.layer,
  socket.layer
] as const

const config = HttpRouter.setRouterConfig({ maxParamLength: 10_000, caseSensitive: true, ignoreTrailingSlash: false })

/** The current tracer, extended to measure the stages of queries. */
const stages = Layer.unwrapEffect(Effect.map(Effect.tracer, (tracer) => Layer.setTracer(measured(tracer))))

/** What MCP's clients are told of the index. */
type Mcp = Parameters<typeof mcp.layer>[0] & {
  /** No other API is served. */
  readonly mcpOnly?: boolean
}

/** Routes of a server for MCP alone: its own, and those of monitors. */
const besideMcp: ReadonlySet<string> = new Set(["/mcp", "/health", "/ready", "/metrics", ...resourcePaths])

/**
 * The production routes and middleware, on the provided server. `traced` makes a span for each request, which is worth
 * its cost only if traces are collected.
 */
export const layer = (options: { readonly traced: boolean; readonly mcp?: Mcp | undefined }) => {
  const served = stacked(
    config,
    stages,
    NodeHttpServer.layerContext,
    Access.Default,
    Collections.Default,
    jobs.Jobs.Default,
    layerMiddleware,
    ...groups,
    HttpApiBuilder.api(Api),
    mcp.layer(options.mcp ?? {}),
    resource,
    console.layer,
    docs,
    edge.layer(options.mcp?.mcpOnly === true ? besideMcp : undefined),
    HttpApiBuilder.serve()
  )
  return options.traced ? served : HttpMiddleware.withTracerDisabledWhen(served, () => true)
}

export interface Options<E, E2> {
  readonly allowUnauthenticated: boolean
  /** The engine; closed after the last request. */
  readonly engine: Layer.Layer<OpenIndex, E>
  readonly serving: Layer.Layer<ServerConfig | RateLimiter, E2>
  readonly mcp?: Mcp | undefined
  /** Done once the server listens, with its address for a browser of this machine; its scope ends with the server. */
  readonly onListening?: ((url: string) => Effect.Effect<void, never, Scope.Scope>) | undefined
}

/** A warning at the start of a server without a key. */
const warning = Effect.flatMap(ServerConfig, (config) => {
  const { corsOrigins, host } = config
  if (!isOpen(config)) return Effect.void
  if (!isLoopback(host)) {
    return Effect.logWarning(`No SERVICE_API_KEY: everyone who can reach ${host} can read and change the index`)
  }
  return edge.isPermissive(corsOrigins)
    ? Effect.logWarning(
        "No SERVICE_API_KEY: a web page open in a browser here could read the index; set a key or server.cors_origins"
      )
    : Effect.void
})

const announce = (onListening: Options<unknown, unknown>["onListening"]) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      const { readOnly } = yield* ServerConfig
      const { address } = yield* HttpServer.HttpServer
      if (address._tag !== "TcpAddress") return
      const inUrl = (host: string) => (host.includes(":") ? `[${host}]` : host)
      yield* warning
      yield* Effect.logInfo(
        `Listening on http://${inUrl(address.hostname)}:${address.port}${readOnly ? ", read-only" : ""}`
      )
      const isAny = address.hostname === "0.0.0.0" || address.hostname === "::"
      yield* onListening?.(`http://${isAny ? "127.0.0.1" : inUrl(address.hostname)}:${address.port}`) ?? Effect.void
    })
  )

const traced = (mcp: Mcp | undefined) =>
  Layer.unwrapEffect(
    Effect.map(TelemetryConfig, ({ otlpEndpoint }) =>
      stacked(telemetry(otlpEndpoint), layer({ traced: otlpEndpoint !== undefined, mcp }))
    )
  )

/**
 * What traces do not show: any header may have a key, such as a model's server's `api-key`, or a browser's WebSocket's
 * subprotocol.
 */
const secretHeaders =
  /^(?!(?:accept|accept-encoding|connection|content-length|content-type|date|host|prefer|retry-after|traceparent|transfer-encoding|user-agent|x-request-id)$)/

/** Serves until interrupted; then running requests finish before the engine closes. */
export const serve = <E, E2>({ allowUnauthenticated, engine, mcp, onListening, serving }: Options<E, E2>) => {
  const app = stacked(engine, Listener.layer, traced(mcp), announce(onListening), Layer.scopedDiscard(logUnhandled()))
  return Layer.launch(
    // A server that cannot listen must not create an index.
    Layer.unwrapEffect(Effect.as(Listener.check({ allowUnauthenticated }), app)).pipe(Layer.provide(serving))
  ).pipe(Effect.locally(Headers.currentRedactedNames, [secretHeaders]))
}
