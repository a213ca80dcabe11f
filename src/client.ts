import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as Effect from "effect/Effect"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import { Api } from "./api/Api.ts"
import type { CollectionInfo } from "./api/Collections.ts"
import { type DeleteResponse, type DocumentResponse, IndexRequest, type IndexResponse } from "./api/Documents.ts"
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

/**
 * A typed client for Effect programs, with a method for each operation. What goes wrong is typed by `_tag`, as
 * `CollectionNotFound` or `TooManyRequests`, and is a `Problem`.
 */
export const make = ({ apiKey, url }: ClientOptions) =>
  HttpApiClient.make(Api, {
    baseUrl: url,
    transformClient: (client) =>
      apiKey === undefined ? client : HttpClient.mapRequest(client, HttpClientRequest.bearerToken(apiKey))
  })

type Encoded<S extends Schema.Schema.Any> = Schema.Schema.Encoded<S>

/** The same operations as promises, with the JSON that goes over the wire; they reject with a `Problem`. */
export interface Client {
  readonly query: (request: Encoded<typeof QueryRequest>) => Promise<SearchResponse>
  readonly prompt: (request: Encoded<typeof PromptRequest>) => Promise<PromptResponse>
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

  return {
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
