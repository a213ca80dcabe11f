import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { version } from "../version.ts"

/** Sends traces to an OTLP collector, over HTTP as JSON; without an endpoint it loads and sends nothing. */
export const layer = (endpoint: string | undefined): Layer.Layer<never> =>
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
