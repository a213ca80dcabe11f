import * as Sse from "@effect/experimental/Sse"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import type * as Brand from "effect/Brand"
import * as Cause from "effect/Cause"
import type * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Api } from "./api/Api.ts"
import { broken, check, cut, invalid, ownProblem } from "./api/clientProblems.ts"
import { AskRequest, CitationsEvent, ErrorEvent, SourceEvent } from "./api/Ask.ts"
import { IndexRequest, type ListParams, type PassagesParams } from "./api/Documents.ts"
import { CompareRequest, type SuggestParams, type WhyParams } from "./api/Insight.ts"
import type { EntitiesParams, EntityParams, GraphBuildRequest } from "./api/Graph.ts"
import type { Job } from "./api/Jobs.ts"
import { JudgementsRequest } from "./api/Judgements.ts"
import { Problem, problemType } from "./api/Problem.ts"
import { PromptRequest, QueryRequest, SimilarBody } from "./api/Search.ts"
import { aborted, retrying } from "./api/waiting.ts"
import { began, followed, formOf, type LongWork, problemOf, type SentFiles } from "./api/working.ts"
import type { CollectionName } from "./model/Collection.ts"
import type { DocumentId } from "./model/Document.ts"
import type { Filter } from "./model/Filter.ts"

export { Api } from "./api/Api.ts"
export type { Job } from "./api/Jobs.ts"
export { type Failure, Problem } from "./api/Problem.ts"
export type { LongWork, SentFile, SentFiles } from "./api/working.ts"

export interface ClientOptions {
  /** The server's address, such as `http://127.0.0.1:8484`. */
  readonly url: string
  /** The server's SERVICE_API_KEY, if it has one. */
  readonly apiKey?: string | undefined
  /** Retries of a request answered with 429 or 503, each after Retry-After; default 2. */
  readonly retries?: number | undefined
  /** Timeout in milliseconds of a promise, or of the first event of `ask` or `follow`; default none. */
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

/** The client for what is no plain call: answers in events, and jobs. */
const sender = (options: ClientOptions) =>
  Effect.map(HttpClient.HttpClient, (client) =>
    HttpClient.mapRequest(transport(options)(client), HttpClientRequest.prependUrl(options.url))
  )

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

const timedOut = (timeoutMs: number) => ownProblem("TimedOut", "Timed out", 0, `No answer within ${timeoutMs} ms`)

const within = <A, E, R>(timeoutMs: number | undefined, effect: Effect.Effect<A, E, R>) =>
  timeoutMs === undefined
    ? effect
    : Effect.timeoutFail(effect, { duration: timeoutMs, onTimeout: () => timedOut(timeoutMs) })

/** The stream, if its first part comes in time. */
const begunWithin =
  (timeoutMs: number | undefined) =>
  <A, E, R>(stream: Stream.Stream<A, E, R>): Stream.Stream<A, E | Problem, R> =>
    timeoutMs === undefined
      ? stream
      : Stream.fromPull(
          Effect.map(Stream.toPull(stream), (pull) => {
            let hasBegun = false
            return Effect.suspend((): Effect.Effect<Chunk.Chunk<A>, Option.Option<E | Problem>, R> => {
              if (hasBegun) return pull
              hasBegun = true
              return Effect.timeoutFail(pull, {
                duration: timeoutMs,
                onTimeout: () => Option.some(timedOut(timeoutMs))
              })
            })
          })
        )

/**
 * Asks a question and streams the answer. The stream ends when the answer is complete, and fails with a `Problem` if it
 * was refused or cut short (`AnswerFailed`). If the reader stops, the model stops.
 */
export const ask = (options: ClientOptions) => (request: typeof AskRequest.Encoded) =>
  begunWithin(options.timeoutMs)(
    Stream.unwrapScoped(
      Effect.gen(function* () {
        yield* check(AskRequest, request)
        const client = yield* sender(options)
        const response = yield* client.execute(
          HttpClientRequest.bodyUnsafeJson(HttpClientRequest.post("/ask"), request)
        )
        if (response.status !== 200) return yield* problemOf(response)
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
  )

/**
 * Asks for long work as a job, which goes on without this client; and follows one until it has ended. For Effect
 * programs, like `make`.
 */
export const working = (options: ClientOptions) => ({
  begin: (work: LongWork) => Effect.flatMap(sender(options), (client) => began(client, work)),
  follow: (id: string) =>
    begunWithin(options.timeoutMs)(Stream.unwrap(Effect.map(sender(options), (client) => followed(client, id))))
})

/** A transport failure as a `Problem`, the only error of `connect`: no answer, or not Clew's. */
const toProblem =
  (url: string) =>
  (error: unknown): unknown => {
    const unreachable = (status: number, detail: string) => ownProblem("Unreachable", "Unreachable", status, detail)
    if (error instanceof HttpClientError.ResponseError) {
      // The body broke off, which each runtime's `fetch` says in its own way.
      if (error.reason === "Decode" && !(error.cause instanceof SyntaxError)) return cut
      return unreachable(error.response.status, `${url} answered ${error.response.status}, and is not Clew`)
    }
    if (error instanceof HttpClientError.RequestError) return unreachable(0, `No answer from ${url}: ${error.message}`)
    if (!ParseResult.isParseError(error)) return error
    return unreachable(
      0,
      `${url} gave an answer that this client does not understand; the server may have another version`
    )
  }

/** Parameters as a program writes them: names are texts like others. */
type Plain<A> = A extends string & Brand.Brand<string>
  ? string
  : A extends object
    ? { readonly [K in keyof A]: Plain<A[K]> }
    : A

export type ListRequest = Plain<typeof ListParams.Type>
export type PassagesRequest = Plain<typeof PassagesParams.Type>
export type EntityRequest = Plain<typeof EntityParams.Type>
type EntitiesRequest = Plain<Omit<typeof EntitiesParams.Type, "cursor">> & { readonly cursor?: string | undefined }

/**
 * The same operations as promises, with the JSON of the wire, for programs without Effect; they reject with a `Problem`.
 * `fetch` does the rest, so it also runs in a browser.
 */
export const connect = (options: ClientOptions) => {
  // Nothing here traces, and a browser would ask the server first whether the headers may be sent.
  const untraced = Layer.fiberRefLocallyScopedWith(HttpClient.currentTracerPropagation, () => false)
  const runtime = ManagedRuntime.make(Layer.merge(FetchHttpClient.layer, untraced))
  const asProblem = toProblem(options.url)
  const { collections, documents, files, graph, health, insight, jobs, judgements, search, system } = runtime.runSync(
    HttpApiClient.make(Api, {
      baseUrl: options.url,
      transformClient: transport(options),
      // An error of parsing that is left is one of the request.
      transformResponse: Effect.mapError((error) => (ParseResult.isParseError(error) ? asProblem(error) : error))
    })
  )

  const run = async <A, E>(effect: Effect.Effect<A, E>, call: CallOptions = {}): Promise<A> => {
    const { signal, timeoutMs = options.timeoutMs } = call
    const exit = await runtime.runPromiseExit(within(timeoutMs, effect), signal === undefined ? {} : { signal })
    if (exit._tag === "Success") return exit.value
    if (signal?.aborted === true && Cause.isInterrupted(exit.cause)) throw signal.reason
    const error = Cause.squash(exit.cause)
    throw ParseResult.isParseError(error) ? invalid(error) : asProblem(error)
  }
  /** The parts of a stream, until it ends or the signal is given. */
  const each = async function* <A, E>(
    stream: Stream.Stream<A, E, HttpClient.HttpClient>,
    signal: AbortSignal | undefined
  ): AsyncIterable<A> {
    const parts = Stream.mapError(stream, asProblem)
    const stopping = signal === undefined ? parts : Stream.interruptWhen(parts, aborted(signal))
    yield* Stream.toAsyncIterableRuntime(stopping, await runtime.runtime())
  }
  /** A method that checks its request before it is sent. */
  const checked =
    <A, I, B, E>(schema: Schema.Schema<A, I>, send: (value: A) => Effect.Effect<B, E>) =>
    (input: I, call?: CallOptions): Promise<B> =>
      run(Effect.flatMap(check(schema, input), send), call)

  /** Of the default collection, if it is not named. */
  const ofCollection = (collection: string | undefined) => ({ collection: collection as CollectionName | undefined })
  const byId = (docId: string, collection: string | undefined) => ({
    path: { doc_id: docId as DocumentId },
    urlParams: ofCollection(collection)
  })
  const onClient = <A, E>(effect: Effect.Effect<A, E, HttpClient.HttpClient>) =>
    Effect.flatMap(runtime.runtimeEffect, (services) => Effect.mapError(Effect.provide(effect, services), asProblem))

  return {
    /** For `for await`; leaving the loop stops the model. */
    ask: async function* (
      request: typeof AskRequest.Encoded,
      { signal, timeoutMs = options.timeoutMs }: CallOptions = {}
    ): AsyncIterable<AskEvent> {
      yield* each(ask({ ...options, timeoutMs })(request), signal)
    },
    query: checked(QueryRequest, (payload) => search.query({ payload })),
    /** Passages like one of the index, or like a text. */
    similar: checked(SimilarBody, (payload) => search.similar({ payload })),
    prompt: checked(PromptRequest, (payload) => search.prompt({ payload })),
    /** Why a document has its rank for a question, or is not indexed. */
    why: (request: Plain<typeof WhyParams.Type>, call?: CallOptions) =>
      run(insight.why({ urlParams: request as typeof WhyParams.Type }), call),
    /** What two settings find, and how ranks move between them. */
    compare: checked(CompareRequest, (payload) => insight.compare({ payload })),
    /** Titles, headings and names that begin with what was typed. */
    suggest: (request: Plain<typeof SuggestParams.Type>, call?: CallOptions) =>
      run(insight.suggest({ urlParams: request as typeof SuggestParams.Type }), call),
    index: checked(IndexRequest, (payload) => documents.index({ payload })),
    getDocument: (docId: string, collection?: string, call?: CallOptions) =>
      run(documents.getDocument(byId(docId, collection)), call),
    /** A page of a document's passages, with their texts. */
    passages: (docId: string, request: PassagesRequest = {}, call?: CallOptions) =>
      run(
        documents.listPassages({ ...byId(docId, undefined), urlParams: request as typeof PassagesParams.Type }),
        call
      ),
    /** A page of documents; `cursor` is the `next_cursor` of the previous page. */
    listDocuments: (request: ListRequest = {}, call?: CallOptions) =>
      run(documents.listDocuments({ urlParams: request as typeof ListParams.Type }), call),
    deleteDocument: (docId: string, collection?: string, call?: CallOptions) =>
      run(documents.deleteDocument(byId(docId, collection)), call),
    /** Deletes the documents of exactly this source; deleting nothing is not an error. */
    deleteSource: (source: string, collection?: string, call?: CallOptions) =>
      run(documents.deleteBySource({ payload: { source, ...ofCollection(collection) }, urlParams: {} }), call),
    /** Deletes every document that a filter matches; the filter must not be empty. */
    deleteMatching: (filter: Filter, collection?: string, call?: CallOptions) =>
      run(documents.deleteBySource({ payload: { filter, ...ofCollection(collection) }, urlParams: {} }), call),
    collections: async (call?: CallOptions) => (await run(collections.listCollections({}), call)).collections,
    createCollection: (name: string, call?: CallOptions) =>
      run(collections.createCollection({ payload: { name: name as CollectionName } }), call),
    dropCollection: (name: string, call?: CallOptions) =>
      run(collections.dropCollection({ path: { name: name as CollectionName } }), call),
    stats: (collection?: string, call?: CallOptions) =>
      run(system.stats({ urlParams: ofCollection(collection) }), call),
    /** Indexes files of every format that Clew reads. */
    files: (sent: SentFiles, call?: CallOptions) =>
      run(
        Effect.flatMap(formOf(sent), (payload) => files.files({ payload })),
        call
      ),
    /** Stores what clew export wrote. */
    import: (lines: string, call?: CallOptions) => run(files.import({ payload: lines }), call),
    reindex: (collection: string, options: { readonly force?: boolean } = {}, call?: CallOptions) =>
      run(collections.reindex({ path: { name: collection as CollectionName }, payload: options }), call),
    buildGraph: (request: typeof GraphBuildRequest.Encoded = {}, call?: CallOptions) =>
      run(graph.buildGraph({ payload: request as typeof GraphBuildRequest.Type }), call),
    /** A page of the names that join documents; `cursor` is the `next_cursor` of the previous page. */
    entities: async ({ cursor, ...request }: EntitiesRequest = {}, call?: CallOptions) => {
      // An empty text would be the number 0.
      const urlParams = { ...request, cursor: cursor === undefined ? undefined : Number(cursor || NaN) }
      return run(graph.listEntities({ urlParams: urlParams as typeof EntitiesParams.Type }), call)
    },
    /** Where a name occurs, and its neighbours. */
    entity: (name: string, request: EntityRequest = {}, call?: CallOptions) =>
      run(graph.getEntity({ path: { name }, urlParams: request as typeof EntityParams.Type }), call),
    /** The passages that join two names. */
    path: (from: string, to: string, collection?: string, call?: CallOptions) =>
      run(graph.getPath({ urlParams: { from, to, ...ofCollection(collection) } }), call),
    judge: checked(JudgementsRequest, (payload) => judgements.judge({ payload })),
    /** The judgements of a question. */
    judged: async (query: string, call?: CallOptions) =>
      (await run(judgements.judged({ urlParams: { query } }), call)).judgements,
    /** Asks for long work as a job, which goes on without this client. */
    begin: (work: LongWork, call?: CallOptions) => run(onClient(working(options).begin(work)), call),
    jobs: async (call?: CallOptions) => (await run(jobs.listJobs({}), call)).jobs,
    job: (id: string, call?: CallOptions) => run(jobs.getJob({ path: { id } }), call),
    cancelJob: (id: string, call?: CallOptions) => run(jobs.cancelJob({ path: { id } }), call),
    /** A job as it comes on, for `for await`, until it has ended. */
    follow: async function* (
      id: string,
      { signal, timeoutMs = options.timeoutMs }: CallOptions = {}
    ): AsyncIterable<Job> {
      yield* each(working({ ...options, timeoutMs }).follow(id), signal)
    },
    whoami: (call?: CallOptions) => run(health.whoami({}), call),
    report: (call?: CallOptions) => run(health.report({}), call),
    health: (call?: CallOptions) => run(system.health({}), call)
  }
}
export type Client = ReturnType<typeof connect>
