import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { Api } from "../api/Api.ts"

/** The page contains everything it needs, and talks only to this server. */
const policy =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

/** The page of @effect/platform, two megabytes of script: loaded at the first request. */
const page = Effect.gen(function* () {
  const { layer } = yield* Effect.promise(() => import("@effect/platform/HttpApiSwagger"))
  const api = Layer.succeed(HttpApi.Api, { api: Api as never, context: {} as never })
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
export const layer = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const document = yield* Effect.cached(
      // A caller that goes away must not leave its interruption as the result for all.
      Effect.uninterruptible(
        Effect.sync(() =>
          HttpServerResponse.text(JSON.stringify(OpenApi.fromApi(Api)), { contentType: "application/json" })
        )
      )
    )
    yield* router.get("/openapi.json", document)
    let loading: Fiber.RuntimeFiber<HttpServerResponse.HttpServerResponse, unknown> | undefined
    // In a separate fiber, which continues when the first caller goes away.
    const load = Effect.suspend(() =>
      loading === undefined
        ? Effect.tap(Effect.forkDaemon(page), (fiber) => Effect.sync(() => (loading = fiber)))
        : Effect.succeed(loading)
    )
    const again = Effect.sync(() => (loading = undefined))
    yield* router.get(
      "/docs",
      Effect.flatMap(load, (fiber) => Effect.tapErrorCause(Fiber.join(fiber), () => again))
    )
  })
)
