import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Collections } from "../Collections.ts"
import { Api } from "../api/Api.ts"
import { Access, layerMiddleware } from "./Access.ts"
import * as ask from "./ask.ts"
import * as chat from "./chat.ts"
import * as collections from "./collections.ts"
import * as graph from "./graph.ts"
import * as docs from "./docs.ts"
import * as judgements from "./judgements.ts"
import * as documents from "./documents.ts"
import * as edge from "./edge.ts"
import { measured } from "./metrics.ts"
import * as search from "./search.ts"
import * as socket from "./socket.ts"
import * as system from "./system.ts"

const groups = Layer.mergeAll(
  search.layer,
  ask.layer,
  chat.layer,
  documents.layer,
  collections.layer,
  graph.layer,
  judgements.layer,
  system.layer,
  socket.layer
)

const config = HttpRouter.setRouterConfig({ maxParamLength: 10_000, caseSensitive: true, ignoreTrailingSlash: false })

/** The current tracer, extended to measure the stages of queries. */
const stages = Layer.unwrapEffect(Effect.map(Effect.tracer, (tracer) => Layer.setTracer(measured(tracer))))

/**
 * The production routes and middleware, on the provided server. `traced` makes a span for each request, which is worth
 * its cost only if traces are collected.
 */
export const layer = (options: { readonly traced: boolean }) => {
  const served = HttpApiBuilder.serve().pipe(
    Layer.provide(edge.layer),
    Layer.provide(docs.layer),
    Layer.provide(HttpApiBuilder.api(Api)),
    Layer.provide(groups),
    Layer.provide(layerMiddleware),
    Layer.provide(Layer.merge(Access.Default, Collections.Default)),
    Layer.provide(NodeHttpServer.layerContext),
    Layer.provide(stages),
    Layer.provide(config)
  )
  return options.traced ? served : HttpMiddleware.withTracerDisabledWhen(served, () => true)
}
