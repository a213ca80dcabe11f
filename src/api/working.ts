import * as Sse from "@effect/experimental/Sse"
import * as HttpBody from "@effect/platform/HttpBody"
import type * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { IndexRequest } from "./Documents.ts"
import type { GraphBuildRequest } from "./Graph.ts"
import { check, cut, invalid } from "./clientProblems.ts"
import { exportType } from "./Files.ts"
import { Job, JobId } from "./Jobs.ts"
import { CollectionName } from "../model/Collection.ts"
import { Problem, ProblemBody } from "./Problem.ts"

/** A file to send: its name, which may have folders, becomes the source of its document. */
export interface SentFile {
  readonly name: string
  readonly content: string | Blob | Uint8Array<ArrayBuffer>
}

export interface SentFiles {
  readonly files: ReadonlyArray<SentFile>
  readonly collection?: string | undefined
  /** A folder that is set before every name. */
  readonly prefix?: string | undefined
}

/** By their tags: what comes from another frame or sandbox has other classes. */
const Content = Schema.declare(
  (value): value is SentFile["content"] =>
    /^\[object (?:String|Blob|File|ArrayBuffer|\w+Array)\]$/.test(Object.prototype.toString.call(value)),
  { message: () => "content must be a text, a Blob or bytes" }
)
const SentForm = Schema.Struct({
  files: Schema.Array(Schema.Struct({ name: Schema.String, content: Content })),
  collection: Schema.optional(Schema.String),
  prefix: Schema.optional(Schema.String)
})

/** The form that POST /files takes. */
export const formOf = (sent: SentFiles): Effect.Effect<FormData, Problem> =>
  Effect.map(check(SentForm, sent), ({ collection, files, prefix }) => {
    const form = new FormData()
    if (collection !== undefined) form.append("collection", collection)
    if (prefix !== undefined) form.append("prefix", prefix)
    for (const { content, name } of files) {
      form.append("file", content instanceof Blob ? content : new Blob([content]), name)
    }
    return form
  })

/** Long work that a server can do as a job. */
export type LongWork =
  | ({ readonly kind: "index" } & typeof IndexRequest.Encoded)
  | ({ readonly kind: "files" } & SentFiles)
  | { readonly kind: "import"; readonly lines: string }
  | { readonly kind: "reindex"; readonly collection: string; readonly force?: boolean | undefined }
  | ({ readonly kind: "graph" } & typeof GraphBuildRequest.Encoded)

const InCollection = Schema.Struct({ collection: CollectionName })
const OfJob = Schema.Struct({ id: JobId })

const requestOf = (work: LongWork) => {
  const post = HttpClientRequest.post
  switch (work.kind) {
    case "files":
      return Effect.map(formOf(work), (form) => HttpClientRequest.bodyFormData(post("/files"), form))
    case "import":
      return Effect.succeed(HttpClientRequest.setBody(post("/import"), HttpBody.text(work.lines, exportType)))
    case "reindex":
      return Effect.flatMap(check(InCollection, work), ({ collection }) =>
        HttpClientRequest.bodyJson(post(`/collections/${collection}/reindex`), { force: work.force })
      )
    case "graph":
    case "index": {
      const { kind, ...body } = work
      return HttpClientRequest.bodyJson(post(kind === "graph" ? "/graph/build" : "/index"), body)
    }
  }
}

const decodeJob = Schema.decodeUnknown(Job)
const decodeEvent = Schema.decode(Schema.parseJson(Job))

export const problemOf = (response: HttpClientResponse.HttpClientResponse) =>
  Effect.flatMap(response.json, Schema.decodeUnknown(ProblemBody)).pipe(
    Effect.flatMap((body) => Effect.fail(new Problem(body)))
  )

/** Asks a server for a job. */
export const began = <E, R>(client: HttpClient.HttpClient.With<E, R>, work: LongWork) =>
  Effect.scoped(
    Effect.gen(function* () {
      const request = HttpClientRequest.setHeader(yield* requestOf(work), "prefer", "respond-async")
      const response = yield* client.execute(request)
      if (response.status !== 202) return yield* problemOf(response)
      return yield* Effect.flatMap(response.json, decodeJob)
    })
  )

/** A job as it comes on, until it has ended. */
export const followed = <E, R>(client: HttpClient.HttpClient.With<E, R>, id: string) =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const path = yield* Effect.mapError(Schema.encode(OfJob)({ id }), invalid)
      const response = yield* client.get(`/jobs/${path.id}`, { accept: "text/event-stream" })
      if (response.status !== 200) return yield* problemOf(response)
      const events = response.stream.pipe(Stream.decodeText(), Stream.pipeThroughChannel(Sse.makeChannel()))
      return Stream.concat(events, Stream.fail(cut)).pipe(
        Stream.takeUntil(({ event }) => event !== "progress"),
        Stream.mapEffect(({ data }) => decodeEvent(data))
      )
    })
  )
