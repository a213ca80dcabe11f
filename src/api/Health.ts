import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { Check } from "../model/Check.ts"
import { flag, int, list, number, text } from "../model/fields.ts"
import { Right } from "../model/Key.ts"
import { Stats, Watching } from "../model/Stats.ts"
import { Answerer } from "./Ask.ts"
import { about, Authorization, Needs } from "./endpoint.ts"
import * as failures from "./failures.ts"
import { Job } from "./Jobs.ts"

export const WhoamiResponse = Schema.Struct({
  name: Schema.optional(text("The key's name in server.keys; absent for SERVICE_API_KEY and for tokens")),
  rights: list(Right, "What this caller may do; nothing without a key that the server needs"),
  collections: Schema.optional(list(Schema.String, "The only collections that it sees; absent if it sees all")),
  authenticated: flag("Whether a key or a token was sent, and needed"),
  read_only: flag("Whether the server refuses writes of everybody")
}).annotations({ identifier: "Whoami", description: "Who asks, and what they may do" })
export type WhoamiResponse = typeof WhoamiResponse.Type

const Stage = Schema.Struct({
  stage: text("embed, rank, vector, keyword or fuse"),
  p50_ms: number("Half took at most this, in milliseconds"),
  p95_ms: number("95 % took at most this, in milliseconds"),
  count: int("So many were measured")
}).annotations({
  identifier: "StageTimes",
  description: "How long a stage of a search takes, since the server's start"
})

const Slow = Schema.Struct({
  query: text("The query, at most its first 500 characters"),
  ms: int("How long it took, in milliseconds"),
  mode: Schema.Literal("hybrid", "vector", "keyword").annotations({ description: "How it was searched for" }),
  at: int("When it was answered, in milliseconds since 1970")
}).annotations({ identifier: "SlowQuery", description: "A query that took long" })
export type Slow = typeof Slow.Type

const HealthCheck = Schema.Struct({
  ...Struct.omit(Check.fields, "next"),
  fix: Check.fields.next
}).annotations({ identifier: "HealthCheck", description: "A finding" })

export const HealthReport = Schema.Struct({
  stats: Stats.annotations({ description: "What the index holds" }),
  llm: Answerer.annotations({ description: "What answers questions now" }),
  reranker: Schema.optional(text("What reranks results; absent if nothing does")),
  watched: list(Watching, "How this process follows files; none if it does not"),
  jobs: list(Job, "The newest first"),
  stages: list(Stage, "The stages of searches, the slowest first"),
  slow: list(Slow, "The last 50 queries that took 100 ms or longer, the newest first"),
  checks: list(HealthCheck, "What clew doctor finds without reading the index")
}).annotations({ identifier: "HealthReport", description: "How the server is" })
export type HealthReport = typeof HealthReport.Type

export class HealthGroup extends HttpApiGroup.make("health")
  .add(
    HttpApiEndpoint.get("whoami", "/whoami")
      .addSuccess(WhoamiResponse)
      .addError(failures.Unauthorized)
      .addError(failures.InsufficientScope)
      .addError(failures.AccessUnavailable)
      .annotateContext(
        about("Who am I?", "What the sent key allows, or no key at all. A wrong key gets 401, as everywhere.", {
          override: { security: [{}, { bearer: [] }] }
        })
      )
  )
  .add(
    HttpApiEndpoint.get("report", "/health/report")
      .addSuccess(HealthReport)
      .addError(failures.StoreUnavailable)
      .addError(failures.EmbedderUnavailable)
      .addError(failures.CollectionNotFound)
      .annotate(Needs, { right: "admin", allCollections: true })
      .middleware(Authorization)
      .annotateContext(
        about(
          "How is the server?",
          "Sizes, watched files, jobs, slow stages and queries, and findings, in one response."
        )
      )
  )
  .annotateContext(OpenApi.annotations({ title: "Console", description: "What a console shows of the server." })) {}
