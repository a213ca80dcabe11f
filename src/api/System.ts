import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { text } from "../model/fields.ts"
import { Stats, StoreInfo } from "../model/Stats.ts"
import { about, InCollection, Needs, StatsAuthorization } from "./endpoint.ts"
import * as failures from "./failures.ts"

const HealthResponse = Schema.Struct({
  status: Schema.Literal("ok").annotations({ description: "Always ok" }),
  version: text("Clew's version")
}).annotations({ identifier: "HealthResponse", description: "The process answers" })

const Check = Schema.Union(
  Schema.Struct({ status: Schema.Literal("ok") }),
  Schema.Struct({
    status: Schema.Literal("failed"),
    reason: text("What is wrong")
  })
).annotations({ identifier: "Check", description: "The state of one part" })
export type Check = typeof Check.Type

const checks = Schema.Struct({
  store: Check,
  embedder: Check,
  reranker: Schema.optional(
    Check.annotations({ description: "Where one is configured; without it the server is ready all the same" })
  )
}).annotations({ description: "The state of each part" })

const store = Schema.optional(StoreInfo).annotations({ description: "Absent if it does not answer" })

const Ready = Schema.Struct({ status: Schema.Literal("ready"), checks, store }).annotations({
  identifier: "Ready",
  description: "The server can answer queries"
})

const NotReady = Schema.Struct({ status: Schema.Literal("unavailable"), checks, store }).annotations({
  ...HttpApiSchema.annotations({ status: 503 }),
  identifier: "NotReady",
  description: "The server cannot answer queries now"
})

export class SystemGroup extends HttpApiGroup.make("system")
  .add(
    HttpApiEndpoint.get("health", "/health")
      .addSuccess(HealthResponse)
      .annotateContext(
        about(
          "Is the process alive?",
          "Answers as long as the process runs; touches nothing. Never needs the key, never rate-limited."
        )
      )
  )
  .add(
    HttpApiEndpoint.get("ready", "/ready")
      .addSuccess(Ready)
      .addSuccess(NotReady)
      .addError(failures.Forbidden)
      .annotateContext(
        about(
          "Can the server answer queries?",
          "Checks the index, the embedder, and a configured reranker, which need not answer. Never needs the key, never rate-limited."
        )
      )
  )
  .add(
    HttpApiEndpoint.get("stats", "/stats")
      .setUrlParams(InCollection)
      .addSuccess(Stats)
      .addError(failures.InvalidRequest)
      .addError(failures.CollectionNotFound)
      .addError(failures.StoreUnavailable)
      .addError(failures.EmbedderUnavailable)
      .addError(failures.Forbidden)
      .addError(failures.TooManyRequests)
      .middleware(StatsAuthorization)
      .annotateContext(
        about("Index statistics", "What the whole index or one collection holds. Open to everyone with public_stats.")
      )
  )
  .add(
    HttpApiEndpoint.get("metrics", "/metrics")
      .addSuccess(HttpApiSchema.Text({ contentType: "text/plain; version=0.0.4; charset=utf-8" }))
      .addError(failures.Forbidden)
      .addError(failures.TooManyRequests)
      .annotate(Needs, { allCollections: true })
      .middleware(StatsAuthorization)
      .annotateContext(
        about("Prometheus metrics", "Metrics in Prometheus text format. Open to everyone with public_stats.")
      )
  )
  .annotateContext(OpenApi.annotations({ title: "System", description: "The state of the server." })) {}
