import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { type Embedder, EmbedderUnavailable } from "../Embedder.ts"
import type { EmbedderIdentity } from "../model/Collection.ts"
import type { Vector } from "../model/Passage.ts"
import { counter, labelling } from "../runtime/metrics.ts"
import { shared } from "../runtime/once.ts"
import type { Turns } from "../runtime/Turn.ts"
import { again, isBusy, type Passing } from "../vendors/again.ts"
import { queryTimeout } from "./Breakers.ts"
import type { Prefixes } from "../Embedders.ts"

/** A failed request. */
interface RequestFailed extends Passing {
  /** It timed out, or has more texts than the current batch size: fewer texts may succeed. */
  readonly tooMany?: boolean
}

/** A vector as a server sends it: null, or with null in it, where the model's numbers are none that JSON has. */
type Sent = ReadonlyArray<number | null> | null

/** Vectors as a server sends them, and its token count of the texts. */
interface Embedded {
  readonly vectors: ReadonlyArray<Sent>
  readonly tokens?: number | undefined
}

/** Called with the index of a text that was truncated or refused. */
type Told = (at: number, what: string) => Effect.Effect<void>

/** Statuses with which servers refuse the texts themselves. */
const refusals: ReadonlySet<number | undefined> = new Set([400, 413, 422])
const isRefusal = ({ status }: RequestFailed): boolean => refusals.has(status)
/** Whether one text may be the reason: with 500, servers also answer a text whose vector they cannot write as JSON. */
const isDueToText = (error: RequestFailed): boolean =>
  isRefusal(error) || (error.retryable && error.status !== undefined && error.status >= 500 && !isBusy(error))

const tooLong =
  /exceeds? (?:the )?(?:maximum )?context length|input length|too (?:long|large)|maximum.{0,20}(?:length|tokens)|context (?:length|size|window)/i

/** Passages can wait; a query cannot, and keyword search can answer instead. */
const attempts = { patient: { busy: 6, other: 3 }, urgent: { busy: 1, other: 1 } }
type Patience = keyof typeof attempts

/** Longest Retry-After that passages wait, in milliseconds. */
const longestWait = 120_000
/** How often a text that is too long is halved. */
const halvings = 6
/** Requests of a size that must succeed in time before a larger size is tried. */
const enough = 8
/** After this time, a size that timed out may be tried again, in milliseconds. */
const forgotten = 300_000

interface RequestsOptions {
  readonly backend: string
  readonly model: string
  /** Texts in one request, at most. */
  readonly batchSize: number
  readonly turns: Turns
  readonly timeoutMs: number
  readonly queryMs: number
  /** A vector for each text, in their order. */
  readonly embed: (texts: ReadonlyArray<string>) => Effect.Effect<Embedded, RequestFailed>
  /** Embeds a text that is too long, truncated by the server. */
  readonly embedCut?: ((text: string) => Effect.Effect<Embedded, RequestFailed>) | undefined
}

type Vectors = ReadonlyArray<Vector | undefined>

/** At more texts in a row, it is the server that fails, although it answers the shortest. */
const mostFailed = 8

/** A text that every server accepts. */
const anyText = "width"

/**
 * Requests to a server, with retries no sooner than its Retry-After, during which nobody asks it. Batches shrink on
 * timeouts and grow again; a text that is refused, or gets no usable vector, does not fail the others.
 */
const makeRequests = (options: RequestsOptions) => {
  const { backend, batchSize, embedCut, model, queryMs, timeoutMs, turns } = options
  const measured = measuring(backend, model)
  let most = batchSize
  let inTime = 0
  /** The smallest size that timed out, and when. */
  let failed = { size: Infinity, at: 0 }
  let pausedUntil = 0

  const pause = (urgency: Patience) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const wait = pausedUntil - now
      if (wait <= 0) return Effect.void
      if (urgency === "patient" || wait <= queryMs) return Effect.sleep(Duration.millis(wait))
      const reason = `it asks for a pause of ${Math.ceil(wait / 1000)} s (Retry-After)`
      return Effect.fail<RequestFailed>({ reason, retryable: false, status: 429 })
    })

  /** Pauses all requests for the server's Retry-After. */
  const heed = ({ waitMs }: RequestFailed) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      if (waitMs !== undefined) pausedUntil = Math.max(pausedUntil, now + Math.min(waitMs, longestWait))
    })

  const shrink = (size: number) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const less = Math.max(1, size >> 3)
      inTime = 0
      failed = { size: Math.min(size, failed.size), at: now }
      if (less >= most) return Effect.void
      most = less
      return Effect.logWarning(
        `${backend} ${model} did not answer ${size === 1 ? "1 text" : `${size} texts`} within ${timeoutMs} ms; sending ${less} at once until it is faster (embedding.batch_size)`
      )
    })

  /** Grows the batch size again after a while, but not to a size that failed recently. */
  const grow = (size: number) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      if (size < most || most === batchSize || ++inTime < enough) return
      if (now - failed.at > forgotten) failed = { size: Infinity, at: now }
      inTime = 0
      if (most * 2 < failed.size) most = Math.min(batchSize, most * 2)
    })

  const send = (texts: ReadonlyArray<string>, urgency: Patience, embed = options.embed) =>
    Effect.zipRight(
      pause(urgency),
      turns[urgency](
        Effect.suspend(() =>
          texts.length > most
            ? Effect.fail<RequestFailed>({ reason: "too many texts at once", retryable: false, tooMany: true })
            : measured(embed(texts)).pipe(
                Effect.timeoutFail({
                  duration: Duration.millis(timeoutMs),
                  onTimeout: (): RequestFailed => ({
                    reason: `no answer within ${timeoutMs} ms`,
                    retryable: false,
                    tooMany: true
                  })
                }),
                Effect.tapError((error) => (error.tooMany === true ? shrink(texts.length) : heed(error)))
              )
        )
      )
    ).pipe(
      Effect.filterOrFail(
        ({ vectors }) => vectors.length === texts.length,
        ({ vectors }): RequestFailed => ({
          reason: `gave ${vectors.length} vectors for ${texts.length} texts`,
          retryable: false
        })
      ),
      again({
        times: (error) => attempts[urgency][isBusy(error) ? "busy" : "other"],
        firstMs: 200,
        longestMs: urgency === "patient" ? longestWait : queryMs
      }),
      Effect.tap(() => grow(texts.length)),
      Effect.map(({ vectors }) => vectors.map(toVector))
    )

  /** Embeds the beginning of a text that is too long. */
  const shortened = (text: string, left: number): ReturnType<typeof send> =>
    embedCut !== undefined
      ? send([text], "patient", () => embedCut(text))
      : Effect.catchIf(
          send([text.slice(0, text.length >> 1).replace(/[\ud800-\udbff]$/, "")], "patient"),
          (error) => left > 1 && isDueToText(error) && tooLong.test(error.reason),
          () => shortened(text.slice(0, text.length >> 1), left - 1)
        )

  const halved = (texts: ReadonlyArray<string>, from: number, told: Told) => {
    const middle = texts.length >> 1
    return Effect.zipWith(
      passages(texts.slice(0, middle), from, told),
      passages(texts.slice(middle), from + middle, told),
      (first, second): Vectors => [...first, ...second]
    )
  }

  const refused = (at: number, told: Told, reason: string) =>
    Effect.as(told(at, `${model} refuses it, so only keyword search finds it: ${reason}`), [undefined])

  const refusedAlone = (
    text: string,
    at: number,
    told: Told,
    error: RequestFailed
  ): Effect.Effect<Vectors, RequestFailed> =>
    tooLong.test(error.reason)
      ? shortened(text, halvings).pipe(
          Effect.zipLeft(Metric.increment(truncated)),
          Effect.zipLeft(told(at, `too long for ${model}: only its beginning is searched by meaning`)),
          Effect.flatMap((answers) => usable(answers, at, told)),
          Effect.catchIf(isDueToText, ({ reason }) => refused(at, told, reason))
        )
      : refused(at, told, error.reason)

  /** Whether the server embeds anything at all; if not, no text is to blame. */
  const isTaken = Effect.match(send([anyText], "patient"), {
    onFailure: () => false,
    onSuccess: ([answer]) => Either.isRight(answer!)
  })

  /**
   * The vectors of an answer; a text without a usable one counts as refused, if the server has one for any. If none of
   * them is usable, one text may have spoiled those of all: `parted` asks for them in parts.
   */
  const usable = (
    answers: ReadonlyArray<Answer>,
    from: number,
    told: Told,
    parted?: Effect.Effect<Vectors, RequestFailed>
  ): Effect.Effect<Vectors, RequestFailed> => {
    const vectors = Effect.forEach(answers, (answer, at) =>
      Either.isRight(answer)
        ? Effect.succeed(answer.right)
        : Effect.as(refused(from + at, told, answer.left), undefined)
    )
    const lacks = answers.find(Either.isLeft)
    if (lacks === undefined || answers.some(Either.isRight)) return vectors
    return Effect.if(isTaken, {
      onTrue: () => parted ?? vectors,
      onFalse: () => Effect.fail<RequestFailed>({ reason: `whatever the text, ${lacks.left}`, retryable: false })
    })
  }

  let failedInARow = 0

  const passages = (
    texts: ReadonlyArray<string>,
    from: number,
    told: Told,
    isAgain = false
  ): Effect.Effect<Vectors, RequestFailed> =>
    Effect.matchEffect(send(texts, "patient"), {
      onSuccess: (answers) => {
        const hasSome = answers.some(Either.isRight)
        if (hasSome) failedInARow = 0
        if (texts.length === 1) return usable(answers, from, told)
        if (!hasSome) return usable(answers, from, told, halved(texts, from, told))
        // A text may have spoiled the vectors of its neighbours.
        return Effect.map(
          Effect.forEach(answers, (answer, at) =>
            Either.isRight(answer) ? Effect.succeed([answer.right]) : passages([texts[at]!], from + at, told)
          ),
          (vectors) => vectors.flat()
        )
      },
      onFailure: (error) => {
        if (error.tooMany === true && texts.length > 1) return halved(texts, from, told)
        if (!isDueToText(error)) return Effect.fail(error)
        const parted =
          texts.length > 1
            ? halved(texts, from, told)
            : // After 500, the server may have recovered only now.
              !isRefusal(error) && !isAgain
              ? passages(texts, from, told, true)
              : !isRefusal(error) && ++failedInARow > mostFailed
                ? Effect.fail(error)
                : refusedAlone(texts[0]!, from, told, error)
        return tooLong.test(error.reason)
          ? parted
          : Effect.if(isTaken, { onTrue: () => parted, onFalse: () => Effect.fail(error) })
      }
    })

  return {
    /** Fails as a whole. */
    urgent: (texts: ReadonlyArray<string>) => send(texts, "urgent"),
    patient: (texts: ReadonlyArray<string>) => send(texts, "patient"),
    /** Undefined for a text that the server refuses. `from` is the index of the first. */
    passages
  }
}

const seconds = MetricBoundaries.fromIterable([0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300])

/** Texts truncated to a model's window since the process started. */
export const truncated = counter(
  "clew_embedding_truncated_total",
  "Texts that were longer than the embedding model's window and were truncated"
)
const tokens = counter("clew_embedding_tokens_total", "Tokens of embedded texts, as counted by the server")
const requests = counter("clew_embedding_requests_total", "Requests to the embedding server, by outcome")
const durations = Metric.histogram("clew_embedding_request_duration_seconds", seconds, "Time of a request for vectors")

/** Counts and times the requests to a server; models come from the configuration and from collections. */
const measuring = (backend: string, model: string) => {
  const labelled = labelling(backend, model)
  const timed = labelled(durations)
  const counted = labelled(tokens)
  return <A extends { readonly tokens?: number | undefined }, E, R>(request: Effect.Effect<A, E, R>) =>
    Effect.flatMap(Clock.currentTimeMillis, (began) =>
      Effect.onExit(request, (exit) =>
        Effect.gen(function* () {
          const outcome = Exit.isSuccess(exit) ? "answered" : Exit.isInterrupted(exit) ? "left" : "failed"
          yield* Metric.increment(Metric.tagged(labelled(requests), "outcome", outcome))
          yield* Metric.update(timed, ((yield* Clock.currentTimeMillis) - began) / 1000)
          yield* Metric.incrementBy(counted, Exit.isSuccess(exit) ? (exit.value.tokens ?? 0) : 0)
        })
      )
    )
}

/**
 * A vector as a server sends it. Declared as a whole, since checking each number by a schema takes longer than parsing
 * the JSON.
 */
export const Numbers = Schema.declare(
  (value): value is Sent =>
    value === null ||
    (Array.isArray(value) && value.length > 0 && value.every((number) => number === null || typeof number === "number"))
)

/** What is asked of a server, whichever it is. */
export interface ServerOptions {
  readonly model: string
  readonly prefixes: Prefixes
  /** Texts in one request. */
  readonly batchSize: number
  /** Permits for concurrent requests of all callers; queries have priority. */
  readonly turns: Turns
  readonly timeoutMs: number
  /** Longest total wait for a query's vector; default 5 s, never longer than `timeoutMs`. */
  readonly queryTimeoutMs?: number | undefined
  /** The dimensions to request, if configured; fewer than the model's own if it can reduce them. */
  readonly dimensions?: number | undefined
}

interface RemoteOptions extends ServerOptions {
  readonly backend: string
  /** The digest of the model's weights, if the server reports it: vectors of two versions of a model never mix. */
  readonly digest?: Effect.Effect<string | undefined, RequestFailed> | undefined
  /** A vector for each text, in their order. */
  readonly embed: RequestsOptions["embed"]
  /** Embeds a text that is too long, truncated by the server; without this method, its beginning is sent. */
  readonly embedCut?: RequestsOptions["embedCut"]
}

/** A text's vector, or why it has none. */
type Answer = Either.Either<Vector, string>

const zero = "its vector is zero"
/** The square of a length below it is no normal number. */
const leastSquare = 2 ** -1022

/** L2-normalised; the reason if there is no direction. */
const toVector = (values: Sent): Answer => {
  const square = values === null ? NaN : values.reduce<number>((sum, value) => sum + (value ?? NaN) ** 2, 0)
  if (values === null || !Number.isFinite(square)) return Either.left("its vector is missing, or not of finite numbers")
  if (square < leastSquare) return Either.left(zero)
  const norm = Math.sqrt(square)
  // None is null: the square would not be finite.
  return Either.right(Float32Array.from(values, (value) => value! / norm))
}

/**
 * A remote embedder: sends batches, a few at once, with retries. Abandoned requests end with the scope at the latest.
 */
export const makeRemote = (options: RemoteOptions): Effect.Effect<typeof Embedder.Service, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    const { backend, batchSize, dimensions, model, prefixes, timeoutMs } = options
    const unavailable = (reason: string, refused = false) =>
      new EmbedderUnavailable({ reason: `${backend} ${model}: ${reason}`, ...(refused ? { refused } : {}) })

    const queryMs = Math.min(timeoutMs, options.queryTimeoutMs ?? queryTimeout)
    const requests = makeRequests({ ...options, queryMs })
    const failed = (error: RequestFailed) => unavailable(error.reason, isRefusal(error))

    const identify = Effect.fnUntraced(function* (patience: Patience) {
      const [answer] = yield* Effect.mapError(requests[patience]([anyText]), failed)
      const vector = yield* Either.mapLeft(answer!, (reason) => unavailable(`whatever the text, ${reason}`))
      if (dimensions !== undefined && vector.length !== dimensions) {
        return yield* unavailable(
          `embedding.dimensions is ${dimensions}, but the model gives ${vector.length} and cannot reduce them: set ${vector.length}, or remove the setting`
        )
      }
      const digest = yield* Effect.mapError(options.digest ?? Effect.succeed(undefined), failed)
      return {
        backend,
        model,
        dimensions: vector.length,
        queryPrefix: prefixes.query,
        passagePrefix: prefixes.passage,
        ...(digest === undefined ? {} : { digest })
      } satisfies EmbedderIdentity
    })
    let known: EmbedderIdentity | undefined

    /**
     * Only a vector shows the dimensions: asked for once, and again after a failure, or once forgotten. Concurrent callers
     * of the same patience share the request.
     */
    const identityOf = (patience: Patience) => {
      const asked = shared(
        scope,
        Effect.tap(identify(patience), (found) => Effect.sync(() => (known = found)))
      )
      return Effect.suspend(() => (known === undefined ? asked : Effect.succeed(known)))
    }
    const [identity, patient] = [identityOf("urgent"), identityOf("patient")]

    const forget = Effect.sync(() => (known = undefined))

    const checked = (vectors: Vectors, width: number) => {
      const other = vectors.find((vector) => vector !== undefined && vector.length !== width)
      return other === undefined
        ? Effect.succeed(vectors.map(Option.fromNullable))
        : Effect.zipRight(forget, unavailable(`gave vectors of ${other.length} dimensions, but ${width} before`))
    }

    const embedUrgently = Effect.fn("Embedder.embedQuery")(function* (text: string) {
      const { dimensions: width } = yield* identity
      const [answer] = yield* Effect.mapError(requests.urgent([text]), failed)
      if (Either.isRight(answer!)) return (yield* checked([answer.right], width))[0]!
      return answer!.left === zero ? Option.none() : yield* unavailable(answer!.left, true)
    })

    const embed = Effect.fn("Embedder.embed")(function* (texts: ReadonlyArray<string>, told: Told) {
      const { dimensions: width } = yield* patient
      const answers = yield* Effect.forEach(
        Arr.chunksOf(texts, batchSize),
        (part, at) => Effect.mapError(requests.passages(part, at * batchSize, told), failed),
        { concurrency: "unbounded" }
      )
      return yield* checked(answers.flat(), width)
    })

    let lingering = false

    /**
     * Lets one slow request continue: a server that is loading the model would stop when the connection closes, and
     * each query would start over.
     */
    const inTime = <A>(work: Effect.Effect<A, EmbedderUnavailable>) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.forkIn(Effect.interruptible(work), scope)
        const answer = yield* Fiber.join(fiber).pipe(
          Effect.timeoutOption(queryMs),
          Effect.onInterrupt(() => Fiber.interrupt(fiber))
        )
        if (Option.isSome(answer)) return answer.value
        if (lingering) yield* Fiber.interruptFork(fiber)
        else {
          lingering = true
          fiber.addObserver(() => (lingering = false))
        }
        return yield* unavailable(`no answer to a query within ${queryMs} ms`)
      })

    return {
      identity,
      patient,
      forget,
      embedQuery: (text) => (text.trim() === "" ? Effect.succeedNone : inTime(embedUrgently(prefixes.query + text))),
      embedPassages: (texts, told = () => Effect.void) =>
        texts.length === 0
          ? Effect.succeed([])
          : embed(
              texts.map((text) => prefixes.passage + text),
              told
            )
    }
  })
