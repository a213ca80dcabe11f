import * as Sse from "@effect/experimental/Sse"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Effect from "effect/Effect"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Api } from "./api/Api.ts"
import { AskRequest, CitationsEvent, ErrorEvent, SourceEvent } from "./api/Ask.ts"
import type { CollectionInfo } from "./api/Collections.ts"
import { type DeleteResponse, type DocumentResponse, IndexRequest, type IndexResponse } from "./api/Documents.ts"
import { Problem, ProblemBody } from "./api/Problem.ts"
import { PromptRequest, type PromptResponse, QueryRequest } from "./api/Search.ts"
import { CollectionName } from "./model/Collection.ts"
import { DocumentId } from "./model/Document.ts"
import type { SearchResponse } from "./model/SearchResult.ts"
import type { Stats } from "./model/Stats.ts"

export { Api } from "./api/Api.ts"
export { type Failure, Problem } from "./api/Problem.ts"

export interface ClientOptions {
  /** Where the server is, as in `http://127.0.0.1:8484`. */
  readonly url: string
  /** The server's SERVICE_API_KEY, if it has one. */
  readonly apiKey?: string | undefined
}

const authorized =
  ({ apiKey }: ClientOptions) =>
  <E, R>(client: HttpClient.HttpClient.With<E, R>) =>
    apiKey === undefined ? client : HttpClient.mapRequest(client, HttpClientRequest.bearerToken(apiKey))

/**
 * A typed client for Effect programs, with a method for each operation. What goes wrong is typed by `_tag`, as
 * `CollectionNotFound` or `TooManyRequests`, and is a `Problem`.
 */
export const make = (options: ClientOptions) =>
  HttpApiClient.make(Api, { baseUrl: options.url, transformClient: authorized(options) })

/** What comes of a question, in this order: the passages found, the answer bit by bit, and if asked for, what holds. */
export type AskEvent =
  | ({ readonly type: "source" } & SourceEvent)
  | { readonly type: "token"; readonly text: string }
  | ({ readonly type: "citations" } & CitationsEvent)

const decodeSource = Schema.decode(Schema.parseJson(SourceEvent))
const decodeCitations = Schema.decode(Schema.parseJson(CitationsEvent))
const decodeError = Schema.decode(Schema.parseJson(ErrorEvent))

/** The answer broke off; what came before it stands. */
const broken = (detail: string) =>
  new Problem({ type: "about:blank", title: "Answer broken off", status: 200, detail, _tag: "AnswerFailed" })

const toEvent = ({ data, event }: Sse.Event) => {
  switch (event) {
    case "source":
      return Effect.map(decodeSource(data), (source): AskEvent => ({ type: "source", ...source }))
    case "citations":
      return Effect.map(decodeCitations(data), (citations): AskEvent => ({ type: "citations", ...citations }))
    case "error":
      return Effect.flatMap(decodeError(data), ({ message }) => Effect.fail(broken(message)))
    default:
      return Effect.succeed<AskEvent>({ type: "token", text: data })
  }
}

const problemOf = (response: HttpClientResponse.HttpClientResponse) =>
  Effect.flatMap(response.json, Schema.decodeUnknown(ProblemBody)).pipe(
    Effect.flatMap((body) => Effect.fail(new Problem(body)))
  )

/**
 * Asks a question and gives the answer as it is written; it ends when the answer is whole and fails with a `Problem`
 * when it was refused or broke off (`AnswerFailed`). Whoever stops reading stops the model.
 */
export const ask = (options: ClientOptions) => (request: typeof AskRequest.Encoded) =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const client = authorized(options)(yield* HttpClient.HttpClient)
      yield* Schema.decode(AskRequest)(request)
      const response = yield* client.execute(
        HttpClientRequest.bodyUnsafeJson(HttpClientRequest.post(new URL("/ask", options.url)), request)
      )
      if (response.status !== 200) return yield* problemOf(response)
      const events = response.stream.pipe(
        Stream.decodeText(),
        Stream.pipeThroughChannel(Sse.makeChannel<HttpClientError.HttpClientError, unknown>())
      )
      // A stream that ends without `done` was cut on its way.
      return Stream.concat(events, Stream.fail(broken("The connection ended before the answer did"))).pipe(
        Stream.takeUntil(({ event }) => event === "done"),
        Stream.filter(({ event }) => event !== "done"),
        Stream.mapEffect(toEvent)
      )
    })
  )

type Encoded<S extends Schema.Schema.Any> = Schema.Schema.Encoded<S>

/** The same operations as promises, with the JSON that goes over the wire; they reject with a `Problem`. */
export interface Client {
  readonly query: (request: Encoded<typeof QueryRequest>) => Promise<SearchResponse>
  readonly prompt: (request: Encoded<typeof PromptRequest>) => Promise<PromptResponse>
  /** For `for await`; leaving the loop stops the model. */
  readonly ask: (request: Encoded<typeof AskRequest>) => AsyncIterable<AskEvent>
  readonly index: (request: Encoded<typeof IndexRequest>) => Promise<IndexResponse>
  readonly getDocument: (docId: string, collection?: string) => Promise<DocumentResponse>
  readonly deleteDocument: (docId: string, collection?: string) => Promise<DeleteResponse>
  /** Deletes what came from exactly this source; deleting nothing is no error. */
  readonly deleteSource: (source: string, collection?: string) => Promise<DeleteResponse>
  readonly collections: () => Promise<ReadonlyArray<CollectionInfo>>
  readonly createCollection: (name: string) => Promise<CollectionInfo>
  readonly dropCollection: (name: string) => Promise<DeleteResponse>
  readonly stats: (collection?: string) => Promise<Stats>
  readonly health: () => Promise<{ readonly status: "ok"; readonly version: string }>
}

/** A client for programs without Effect; `fetch` does the rest, so it also runs in a browser. */
export const connect = (options: ClientOptions): Client => {
  const runtime = ManagedRuntime.make(FetchHttpClient.layer)
  const client = runtime.runSync(make(options))
  const run = async <A, E>(effect: Effect.Effect<A, E>): Promise<A> => {
    const exit = await runtime.runPromiseExit(effect)
    if (exit._tag === "Success") return exit.value
    throw exit.cause._tag === "Fail" ? exit.cause.error : exit.cause
  }
  const collectionOf = (name: string | undefined) =>
    name === undefined ? {} : { collection: CollectionName.make(name) }
  const decoded = <A, I, B, E>(schema: Schema.Schema<A, I>, input: I, use: (value: A) => Effect.Effect<B, E>) =>
    run(Effect.flatMap(Schema.decode(schema)(input), use))

  const asking = ask(options)

  return {
    ask: async function* (request) {
      yield* Stream.toAsyncIterableRuntime(asking(request), await runtime.runtime())
    },
    query: (request) => decoded(QueryRequest, request, (payload) => client.search.query({ payload })),
    prompt: (request) => decoded(PromptRequest, request, (payload) => client.search.prompt({ payload })),
    index: (request) => decoded(IndexRequest, request, (payload) => client.documents.index({ payload })),
    getDocument: (id, collection) =>
      run(client.documents.getDocument({ path: { doc_id: DocumentId.make(id) }, urlParams: collectionOf(collection) })),
    deleteDocument: (id, collection) =>
      run(
        client.documents.deleteDocument({ path: { doc_id: DocumentId.make(id) }, urlParams: collectionOf(collection) })
      ),
    deleteSource: (source, collection) =>
      run(client.documents.deleteBySource({ payload: { source, ...collectionOf(collection) }, urlParams: {} })),
    collections: () => run(Effect.map(client.collections.listCollections({}), ({ collections }) => collections)),
    createCollection: (name) =>
      run(client.collections.createCollection({ payload: { name: CollectionName.make(name) } })),
    dropCollection: (name) => run(client.collections.dropCollection({ path: { name: CollectionName.make(name) } })),
    stats: (collection) => run(client.system.stats({ urlParams: collectionOf(collection) })),
    health: () => run(client.system.health({}))
  }
}
