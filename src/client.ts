import * as Sse from "@effect/experimental/Sse"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Api } from "./api/Api.ts"
import { AskRequest, CitationsEvent, ErrorEvent, SourceEvent } from "./api/Ask.ts"
import { type DeleteResponse, type DocumentResponse, IndexRequest, type IndexResponse } from "./api/Documents.ts"
import { fromIssues } from "./api/issues.ts"
import { Problem, problemBody, ProblemBody, problemType } from "./api/Problem.ts"
import { PromptRequest, QueryRequest } from "./api/Search.ts"
import { CollectionName } from "./model/Collection.ts"
import { DocumentId, Source } from "./model/Document.ts"
import type { PromptResponse, SearchResponse } from "./model/SearchResult.ts"
import type { CollectionInfo, Stats } from "./model/Stats.ts"

export { Api } from "./api/Api.ts"
export { type Failure, Problem } from "./api/Problem.ts"

export interface ClientOptions {
  /** Where the server is, as in `http://127.0.0.1:8484`. */
  readonly url: string
  /** The server's SERVICE_API_KEY, if it has one. */
  readonly apiKey?: string | undefined
}

/** Whether it is Clew that answered; what stands before it has errors of its own, which would not decode. */
const isOurs = ({ headers, status }: HttpClientResponse.HttpClientResponse): boolean => {
  const type = headers["content-type"] ?? ""
  return status < 400 || type.startsWith(problemType) || (status === 503 && type.startsWith("application/json"))
}

const transport =
  ({ apiKey }: ClientOptions) =>
  <E, R>(client: HttpClient.HttpClient.With<E, R>) => {
    const checked = HttpClient.transformResponse(
      client,
      Effect.filterOrFail(
        isOurs,
        (response) => new HttpClientError.ResponseError({ request: response.request, response, reason: "StatusCode" })
      )
    )
    return apiKey === undefined ? checked : HttpClient.mapRequest(checked, HttpClientRequest.bearerToken(apiKey))
  }

const invalid = (error: ParseResult.ParseError): Problem => {
  const { errors, message } = fromIssues(ParseResult.ArrayFormatter.formatErrorSync(error))
  const tag = "InvalidRequest"
  return new Problem({ ...problemBody({ _tag: tag, status: 400, detail: message, errors }), _tag: tag })
}

/** Decodes what the caller gave; what cannot be right fails as it would at the server, and is not sent. */
const check = <A, I>(schema: Schema.Schema<A, I>, input: I): Effect.Effect<A, Problem> =>
  Effect.mapError(Schema.decode(schema, { errors: "all" })(input), invalid)

/**
 * A typed client for Effect programs, with a method for each operation. What goes wrong is typed by `_tag`, as
 * `CollectionNotFound` or `TooManyRequests`, and is a `Problem`.
 */
export const make = (options: ClientOptions) =>
  HttpApiClient.make(Api, { baseUrl: options.url, transformClient: transport(options) })

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
      const client = transport(options)(yield* HttpClient.HttpClient)
      yield* check(AskRequest, request)
      const url = HttpClientRequest.prependUrl(HttpClientRequest.post("/ask"), options.url)
      const response = yield* client.execute(HttpClientRequest.bodyUnsafeJson(url, request))
      if (response.status !== 200) return yield* problemOf(response)
      const cut = broken("The connection ended before the answer did")
      const events = response.stream.pipe(
        Stream.mapError(() => cut),
        Stream.decodeText(),
        Stream.pipeThroughChannel(Sse.makeChannel<Problem, unknown>())
      )
      // A stream that ends without `done` was cut on its way.
      return Stream.concat(events, Stream.fail(cut)).pipe(
        Stream.takeUntil(({ event }) => event === "done"),
        Stream.filter(({ event }) => event !== "done"),
        Stream.mapEffect(toEvent)
      )
    })
  )

/** What goes wrong on the way, as the one error that callers of `connect` get: there was no answer, or not Clew's. */
const toProblem =
  (url: string) =>
  (error: unknown): unknown => {
    const unreachable = (status: number, detail: string) =>
      new Problem({ type: "about:blank", title: "Unreachable", status, detail, _tag: "Unreachable" })
    if (error instanceof HttpClientError.ResponseError) {
      return unreachable(error.response.status, `${url} answered ${error.response.status}, and not as Clew does`)
    }
    if (error instanceof HttpClientError.RequestError) return unreachable(0, `No answer from ${url}: ${error.message}`)
    if (!ParseResult.isParseError(error)) return error
    return unreachable(0, `${url} gave an answer that this client does not know; another version may be there`)
  }

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

const inCollection = { collection: Schema.optional(CollectionName) }
const Name = Schema.Struct({ name: CollectionName })
const InCollection = Schema.Struct(inCollection)
const ById = Schema.Struct({ doc_id: DocumentId, ...inCollection })
const BySource = Schema.Struct({ source: Source, ...inCollection })

/** A client for programs without Effect; `fetch` does the rest, so it also runs in a browser. */
export const connect = (options: ClientOptions): Client => {
  const runtime = ManagedRuntime.make(FetchHttpClient.layer)
  const { collections, documents, search, system } = runtime.runSync(make(options))
  const asking = ask(options)
  const asProblem = toProblem(options.url)

  const run = async <A, E>(effect: Effect.Effect<A, E>): Promise<A> => {
    const exit = await runtime.runPromiseExit(effect)
    if (exit._tag === "Success") return exit.value
    throw asProblem(Cause.squash(exit.cause))
  }
  const checked = <A, I, B, E>(schema: Schema.Schema<A, I>, input: I, use: (value: A) => Effect.Effect<B, E>) =>
    run(Effect.flatMap(check(schema, input), use))

  return {
    ask: async function* (request) {
      yield* Stream.toAsyncIterableRuntime(Stream.mapError(asking(request), asProblem), await runtime.runtime())
    },
    query: (request) => checked(QueryRequest, request, (payload) => search.query({ payload })),
    prompt: (request) => checked(PromptRequest, request, (payload) => search.prompt({ payload })),
    index: (request) => checked(IndexRequest, request, (payload) => documents.index({ payload })),
    getDocument: (id, collection) =>
      checked(ById, { doc_id: id, collection }, ({ doc_id, ...urlParams }) =>
        documents.getDocument({ path: { doc_id }, urlParams })
      ),
    deleteDocument: (id, collection) =>
      checked(ById, { doc_id: id, collection }, ({ doc_id, ...urlParams }) =>
        documents.deleteDocument({ path: { doc_id }, urlParams })
      ),
    deleteSource: (source, collection) =>
      checked(BySource, { source, collection }, (payload) => documents.deleteBySource({ payload, urlParams: {} })),
    collections: () => run(Effect.map(collections.listCollections({}), (all) => all.collections)),
    createCollection: (name) => checked(Name, { name }, (payload) => collections.createCollection({ payload })),
    dropCollection: (name) => checked(Name, { name }, (path) => collections.dropCollection({ path })),
    stats: (collection) => checked(InCollection, { collection }, (urlParams) => system.stats({ urlParams })),
    health: () => run(system.health({}))
  }
}
