import * as Headers from "@effect/platform/Headers"
import * as HttpServer from "@effect/platform/HttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { ServerConfig, TelemetryConfig } from "../Config.ts"
import type { RateLimiter } from "../RateLimiter.ts"
import type { OpenIndex } from "../OpenIndex.ts"
import { isPermissive } from "./cors.ts"
import * as Listener from "./Listener.ts"
import { isLoopback } from "./loopback.ts"
import * as server from "./server.ts"
import * as telemetry from "./telemetry.ts"
import { logUnhandled } from "../runtime/Unhandled.ts"

export interface Options<E, E2> {
  readonly allowUnauthenticated: boolean
  /** The engine; closed after the last request. */
  readonly engine: Layer.Layer<OpenIndex, E>
  readonly serving: Layer.Layer<ServerConfig | RateLimiter, E2>
}

/** A warning at the start of a server without a key. */
const warning = Effect.flatMap(ServerConfig, ({ apiKey, corsOrigins, host }) => {
  if (Option.isSome(apiKey)) return Effect.void
  if (!isLoopback(host)) {
    return Effect.logWarning(`No SERVICE_API_KEY: everyone who can reach ${host} can read and change the index`)
  }
  return isPermissive(corsOrigins)
    ? Effect.logWarning(
        "No SERVICE_API_KEY: a web page open in a browser here could read the index; set a key or server.cors_origins"
      )
    : Effect.void
})

const announce = Layer.effectDiscard(
  Effect.gen(function* () {
    const { readOnly } = yield* ServerConfig
    const { address } = yield* HttpServer.HttpServer
    if (address._tag !== "TcpAddress") return
    const host = address.hostname.includes(":") ? `[${address.hostname}]` : address.hostname
    yield* warning
    yield* Effect.logInfo(`Listening on http://${host}:${address.port}${readOnly ? ", read-only" : ""}`)
  })
)

const traced = Layer.unwrapEffect(
  Effect.map(TelemetryConfig, ({ otlpEndpoint }) =>
    Layer.provide(server.layer({ traced: otlpEndpoint !== undefined }), telemetry.layer(otlpEndpoint))
  )
)

/** Serves until interrupted; then running requests finish before the engine closes. */
export const serve = <E, E2>({ allowUnauthenticated, engine, serving }: Options<E, E2>) => {
  const app = Layer.merge(announce, Layer.scopedDiscard(logUnhandled())).pipe(
    Layer.provideMerge(traced),
    Layer.provideMerge(Listener.layer),
    Layer.provide(engine)
  )
  return Layer.launch(
    // A server that cannot listen must not create an index.
    Layer.unwrapEffect(Effect.as(Listener.check({ allowUnauthenticated }), app)).pipe(Layer.provide(serving))
    // A browser's WebSocket has the key in its subprotocol, which must not appear in traces.
  ).pipe(Effect.locallyWith(Headers.currentRedactedNames, (names) => [...names, "sec-websocket-protocol"]))
}
