import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { int, list, text } from "../model/fields.ts"
import { GraphBuilt } from "../model/Graph.ts"
import { ReindexResponse } from "./Collections.ts"
import { IndexResponse } from "./Documents.ts"
import { about, Authorization, Needs, respondInEvents, segment, someText } from "./endpoint.ts"
import * as failures from "./failures.ts"
import { FilesResponse, ImportResponse } from "./Files.ts"
import { ProblemBody } from "./Problem.ts"

/** Long work that a client asked for, which goes on without its connection. */
export const Job = Schema.Struct({
  id: text("Identifies the job"),
  kind: Schema.Literal("index", "files", "import", "reindex", "graph").annotations({
    description: "What it does: that of POST /index, /files, /import, /collections/:name/reindex or /graph/build"
  }),
  state: Schema.Literal("queued", "running", "done", "failed", "cancelled").annotations({
    description: "queued: it waits for others; done, failed and cancelled are final"
  }),
  created_at: int("When it was asked for, in milliseconds since 1970"),
  started_at: Schema.optional(int("When it began")),
  ended_at: Schema.optional(int("When it ended")),
  progress: Schema.optional(
    Schema.Struct({
      done: int("So many are done"),
      total: Schema.optional(int("Of so many, if that is known")),
      unit: Schema.Literal("documents", "files", "passages", "calls").annotations({ description: "What is counted" })
    }).annotations({ identifier: "JobProgress", description: "How far it has come" })
  ),
  by: Schema.optional(text("The name of the key that asked for it")),
  collection: Schema.optional(text("The collection that it changes, if it is one")),
  // In this order: the first that has all fields.
  result: Schema.optional(
    Schema.Union(FilesResponse, IndexResponse, ReindexResponse, GraphBuilt, ImportResponse)
  ).annotations({ description: "Once it is done: the response that the endpoint gives without Prefer: respond-async" }),
  error: Schema.optional(ProblemBody).annotations({ description: "Why it failed: the endpoint's problem object" })
}).annotations({ identifier: "Job", description: "Long work that goes on without its client's connection" })
export type Job = typeof Job.Type

const JobsResponse = Schema.Struct({
  jobs: list(Job, "The newest first; those that ended are kept for an hour, at most a hundred")
}).annotations({ identifier: "JobsResponse", description: "The jobs of this process" })

/** A job's id in a path. */
export const JobId = segment(someText("id", 100, "The job's id"), 100, "The job's id")

const id = HttpApiSchema.param("id", JobId)

export class JobsGroup extends HttpApiGroup.make("jobs")
  .add(
    HttpApiEndpoint.get("listJobs", "/jobs")
      .addSuccess(JobsResponse)
      .annotateContext(about("List jobs", "The jobs of this process, the newest first."))
  )
  .add(
    HttpApiEndpoint.get("getJob")`/jobs/${id}`
      .addSuccess(Job)
      .addError(failures.JobNotFound)
      .addError(failures.InvalidRequest)
      .annotateContext(
        about(
          "Follow a job",
          "The job as it is now. With Accept: text/event-stream, server-sent events: progress with the job whenever it comes on, and at the end done, failed or cancelled, with the job.",
          { transform: respondInEvents("Events; the data of each is a Job") }
        )
      )
  )
  .add(
    HttpApiEndpoint.del("cancelJob")`/jobs/${id}`
      .addSuccess(Job)
      .addError(failures.JobNotFound)
      .addError(failures.InvalidRequest)
      .annotate(Needs, { right: "write" })
      .annotateContext(
        about(
          "Cancel a job",
          "Stops a job at a safe point, and answers with what has become of it: what it stored stays. A job that has ended stays as it is. Another key's job needs the right admin."
        )
      )
  )
  .middlewareEndpoints(Authorization)
  .annotateContext(OpenApi.annotations({ title: "Jobs", description: "Work that outlives its request." })) {}
