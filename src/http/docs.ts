import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { Api } from "../api/Api.ts"

/** All the page needs is in the page; it talks to this server alone. */
const policy =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

/** The page as @effect/platform writes it, which is two megabytes of script: loaded when it is first asked for. */
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

/** GET /openapi.json and GET /docs, which nobody needs a key for. */
export const layer = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const document = yield* Effect.cached(
      // One caller that goes away must not leave an interruption as the answer to all.
      Effect.uninterruptible(
        Effect.sync(() =>
          HttpServerResponse.text(JSON.stringify(OpenApi.fromApi(Api)), { contentType: "application/json" })
        )
      )
    )
    yield* router.get("/openapi.json", document)
    let loading: Fiber.RuntimeFiber<HttpServerResponse.HttpServerResponse, unknown> | undefined
    // In a fiber of its own, which goes on when who asked first goes away.
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
