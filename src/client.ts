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
import {
  type DeleteResponse,
  type DocumentResponse,
  IndexRequest,
  type IndexResponse,
  type ListResponse
} from "./api/Documents.ts"
import { fromIssues } from "./api/issues.ts"
import { Problem, problemBody, ProblemBody, problemType } from "./api/Problem.ts"
import { PromptRequest, QueryRequest } from "./api/Search.ts"
import { CollectionName } from "./model/Collection.ts"
import { DocumentId, Source } from "./model/Document.ts"
import { aborted, retrying } from "./api/waiting.ts"
import { Filter } from "./model/Filter.ts"
import type { PromptResponse, SearchResponse } from "./model/SearchResult.ts"
import type { CollectionInfo, Stats } from "./model/Stats.ts"

export { Api } from "./api/Api.ts"
export { type Failure, Problem } from "./api/Problem.ts"

export interface ClientOptions {
  /** The server's address, such as `http://127.0.0.1:8484`. */
  readonly url: string
  /** The server's SERVICE_API_KEY, if it has one. */
  readonly apiKey?: string | undefined
  /** Retries of a request answered with 429 or 503, each after Retry-After; default 2. */
  readonly retries?: number | undefined
  /** Timeout in milliseconds of a promise, or of the start of an answer to `ask`; default none. */
  readonly timeoutMs?: number | undefined
}

/** Options of one call. */
export interface CallOptions {
  /** Cancels the call: it rejects with the signal's reason, and the server stops. */
  readonly signal?: AbortSignal | undefined
  /** Overrides the client's timeout. */
  readonly timeoutMs?: number | undefined
}

/** Whether Clew itself answered; a proxy before it has errors of its own, which would not decode. */
const isOurs = ({ headers, status }: HttpClientResponse.HttpClientResponse): boolean => {
  const type = headers["content-type"] ?? ""
  return status < 400 || type.startsWith(problemType) || (status === 503 && type.startsWith("application/json"))
}

const transport =
  ({ apiKey, retries = 2 }: ClientOptions) =>
  <E, R>(client: HttpClient.HttpClient.With<E, R>) => {
    const checked = HttpClient.transformResponse(
      HttpClient.transform(client, (sending, { url }) => retrying(retries)(sending, url)),
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

/** Decodes the caller's input; invalid input fails as it would at the server, and is not sent. */
const check = <A, I>(schema: Schema.Schema<A, I>, input: I): Effect.Effect<A, Problem> =>
  Effect.mapError(Schema.decode(schema, { errors: "all" })(input), invalid)

/**
 * A typed client for Effect programs, with a method for each operation. Each error is a `Problem` with a `_tag` such as
 * `CollectionNotFound` or `TooManyRequests`.
 */
export const make = (options: ClientOptions) =>
  HttpApiClient.make(Api, { baseUrl: options.url, transformClient: transport(options) })

/**
 * The events of an answer, in order: the passages found, the answer in fragments and, on request, the checked
 * citations.
 */
export type AskEvent =
  | ({ readonly type: "source" } & SourceEvent)
  | { readonly type: "token"; readonly text: string }
  | ({ readonly type: "citations" } & CitationsEvent)

const decodeSource = Schema.decode(Schema.parseJson(SourceEvent))
const decodeCitations = Schema.decode(Schema.parseJson(CitationsEvent))
const decodeError = Schema.decode(Schema.parseJson(ErrorEvent))

/** The answer was cut short; what came before is valid. */
const broken = (detail: string) =>
  new Problem({ type: "about:blank", title: "Answer cut short", status: 200, detail, _tag: "AnswerFailed" })

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

const within = <A, E, R>(timeoutMs: number | undefined, effect: Effect.Effect<A, E, R>) =>
  timeoutMs === undefined
    ? effect
    : Effect.timeoutFail(effect, {
        duration: timeoutMs,
        onTimeout: () => {
          const detail = `No answer within ${timeoutMs} ms`
          return new Problem({ type: "about:blank", title: "Timed out", status: 0, detail, _tag: "TimedOut" })
        }
      })

/**
 * Asks a question and streams the answer. The stream ends when the answer is complete, and fails with a `Problem` if it
 * was refused or cut short (`AnswerFailed`). If the reader stops, the model stops.
 */
export const ask = (options: ClientOptions) => (request: typeof AskRequest.Encoded) =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const client = transport(options)(yield* HttpClient.HttpClient)
      yield* check(AskRequest, request)
      const url = HttpClientRequest.prependUrl(HttpClientRequest.post("/ask"), options.url)
      const response = yield* within(options.timeoutMs, client.execute(HttpClientRequest.bodyUnsafeJson(url, request)))
      if (response.status !== 200) return yield* problemOf(response)
      const cut = broken("The connection ended before the answer did")
      const events = response.stream.pipe(
        Stream.mapError(() => cut),
        Stream.decodeText(),
        Stream.pipeThroughChannel(Sse.makeChannel<Problem, unknown>())
      )
      // A stream without `done` was cut short.
      return Stream.concat(events, Stream.fail(cut)).pipe(
        Stream.takeUntil(({ event }) => event === "done"),
        Stream.filter(({ event }) => event !== "done"),
        Stream.mapEffect(toEvent)
      )
    })
  )

/** A transport failure as a `Problem`, the only error of `connect`: no answer, or not Clew's. */
const toProblem =
  (url: string) =>
  (error: unknown): unknown => {
    const unreachable = (status: number, detail: string) =>
      new Problem({ type: "about:blank", title: "Unreachable", status, detail, _tag: "Unreachable" })
    if (error instanceof HttpClientError.ResponseError) {
      return unreachable(error.response.status, `${url} answered ${error.response.status}, and is not Clew`)
    }
    if (error instanceof HttpClientError.RequestError) return unreachable(0, `No answer from ${url}: ${error.message}`)
    if (!ParseResult.isParseError(error)) return error
    return unreachable(
      0,
      `${url} gave an answer that this client does not understand; the server may have another version`
    )
  }

type Encoded<S extends Schema.Schema.Any> = Schema.Schema.Encoded<S>

/** The same operations as promises, with the JSON of the wire; they reject with a `Problem`. */
export interface Client {
  readonly query: (request: Encoded<typeof QueryRequest>, call?: CallOptions) => Promise<SearchResponse>
  readonly prompt: (request: Encoded<typeof PromptRequest>, call?: CallOptions) => Promise<PromptResponse>
  /** For `for await`; leaving the loop stops the model. */
  readonly ask: (request: Encoded<typeof AskRequest>, call?: CallOptions) => AsyncIterable<AskEvent>
  readonly index: (request: Encoded<typeof IndexRequest>, call?: CallOptions) => Promise<IndexResponse>
  readonly getDocument: (docId: string, collection?: string, call?: CallOptions) => Promise<DocumentResponse>
  /** A page of documents; `cursor` is the `next_cursor` of the previous page. */
  readonly listDocuments: (request?: ListRequest, call?: CallOptions) => Promise<ListResponse>
  readonly deleteDocument: (docId: string, collection?: string, call?: CallOptions) => Promise<DeleteResponse>
  /** Deletes the documents of exactly this source; deleting nothing is not an error. */
  readonly deleteSource: (source: string, collection?: string, call?: CallOptions) => Promise<DeleteResponse>
  /** Deletes every document that a filter matches; the filter must not be empty. */
  readonly deleteMatching: (filter: Filter, collection?: string, call?: CallOptions) => Promise<DeleteResponse>
  readonly collections: (call?: CallOptions) => Promise<ReadonlyArray<CollectionInfo>>
  readonly createCollection: (name: string, call?: CallOptions) => Promise<CollectionInfo>
  readonly dropCollection: (name: string, call?: CallOptions) => Promise<DeleteResponse>
  readonly stats: (collection?: string, call?: CallOptions) => Promise<Stats>
  readonly health: (call?: CallOptions) => Promise<{ readonly status: "ok"; readonly version: string }>
}

export interface ListRequest {
  readonly filter?: Filter | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly collection?: string | undefined
}

const inCollection = { collection: Schema.optional(CollectionName) }
const Name = Schema.Struct({ name: CollectionName })
const InCollection = Schema.Struct(inCollection)
const ById = Schema.Struct({ doc_id: DocumentId, ...inCollection })
const ByFilter = Schema.Struct({ filter: Filter, ...inCollection })
const Listing = Schema.Struct({
  filter: Schema.optional(Filter),
  limit: Schema.optional(Schema.Int.pipe(Schema.between(1, 1000))),
  cursor: Schema.optional(Schema.String),
  ...inCollection
})
const BySource = Schema.Struct({ source: Source, ...inCollection })

/** A client for programs without Effect; `fetch` does the rest, so it also runs in a browser. */
export const connect = (options: ClientOptions): Client => {
  const runtime = ManagedRuntime.make(FetchHttpClient.layer)
  const { collections, documents, search, system } = runtime.runSync(make(options))
  const asProblem = toProblem(options.url)

  const run = async <A, E>(effect: Effect.Effect<A, E>, call: CallOptions = {}): Promise<A> => {
    const { signal, timeoutMs = options.timeoutMs } = call
    const exit = await runtime.runPromiseExit(within(timeoutMs, effect), signal === undefined ? {} : { signal })
    if (exit._tag === "Success") return exit.value
    throw signal?.aborted === true && Cause.isInterrupted(exit.cause)
      ? signal.reason
      : asProblem(Cause.squash(exit.cause))
  }
  const checked = <A, I, B, E>(
    schema: Schema.Schema<A, I>,
    input: I,
    call: CallOptions | undefined,
    use: (value: A) => Effect.Effect<B, E>
  ) => run(Effect.flatMap(check(schema, input), use), call)

  return {
    ask: async function* (request, { signal, timeoutMs = options.timeoutMs } = {}) {
      const events = Stream.mapError(ask({ ...options, timeoutMs })(request), asProblem)
      const stream = signal === undefined ? events : Stream.interruptWhen(events, aborted(signal))
      yield* Stream.toAsyncIterableRuntime(stream, await runtime.runtime())
    },
    query: (request, call) => checked(QueryRequest, request, call, (payload) => search.query({ payload })),
    prompt: (request, call) => checked(PromptRequest, request, call, (payload) => search.prompt({ payload })),
    index: (request, call) => checked(IndexRequest, request, call, (payload) => documents.index({ payload })),
    getDocument: (id, collection, call) =>
      checked(ById, { doc_id: id, collection }, call, ({ doc_id, ...urlParams }) =>
        documents.getDocument({ path: { doc_id }, urlParams })
      ),
    listDocuments: (request = {}, call) =>
      checked(Listing, request, call, (urlParams) => documents.listDocuments({ urlParams })),
    deleteDocument: (id, collection, call) =>
      checked(ById, { doc_id: id, collection }, call, ({ doc_id, ...urlParams }) =>
        documents.deleteDocument({ path: { doc_id }, urlParams })
      ),
    deleteSource: (source, collection, call) =>
      checked(BySource, { source, collection }, call, (payload) =>
        documents.deleteBySource({ payload, urlParams: {} })
      ),
    deleteMatching: (filter, collection, call) =>
      checked(ByFilter, { filter, collection }, call, (payload) =>
        documents.deleteBySource({ payload, urlParams: {} })
      ),
    collections: (call) =>
      run(
        Effect.map(collections.listCollections({}), (all) => all.collections),
        call
      ),
    createCollection: (name, call) =>
      checked(Name, { name }, call, (payload) => collections.createCollection({ payload })),
    dropCollection: (name, call) => checked(Name, { name }, call, (path) => collections.dropCollection({ path })),
    stats: (collection, call) =>
      checked(InCollection, { collection }, call, (urlParams) => system.stats({ urlParams })),
    health: (call) => run(system.health({}), call)
  }
}
