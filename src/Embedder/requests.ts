import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Schema from "effect/Schema"
import type { Turns } from "../runtime/Turn.ts"
import { again, isBusy } from "../vendors/again.ts"
import { measuring, truncated } from "./metrics.ts"

/** A failed request. `retryable`: the same request may succeed later. */
export class RequestFailed extends Schema.TaggedError<RequestFailed>()("RequestFailed", {
  reason: Schema.String,
  retryable: Schema.Boolean,
  /** HTTP status; undefined without a response. */
  status: Schema.optional(Schema.Number),
  /** The server's Retry-After, in milliseconds. */
  waitMs: Schema.optional(Schema.Number),
  /** It timed out, or has more texts than the current batch size: fewer texts may succeed. */
  tooMany: Schema.optional(Schema.Boolean)
}) {}

/** Vectors as a server sends them, and its token count of the texts. */
export interface Embedded {
  readonly vectors: ReadonlyArray<ReadonlyArray<number>>
  readonly tokens?: number | undefined
}

/** Called with the index of a text that was truncated or refused. */
export type Told = (at: number, what: string) => Effect.Effect<void>

/** Statuses with which servers refuse the texts themselves. */
const refusals: ReadonlySet<number | undefined> = new Set([400, 413, 422])
export const isRefusal = ({ status }: RequestFailed): boolean => refusals.has(status)

const tooLong =
  /exceeds? (?:the )?(?:maximum )?context length|input length|too (?:long|large)|maximum.{0,20}(?:length|tokens)|context (?:length|size|window)/i

/** Passages can wait; a query cannot, and keyword search can answer instead. */
const attempts = { patient: { busy: 6, other: 3 }, urgent: { busy: 1, other: 1 } }
export type Patience = keyof typeof attempts

/** Longest Retry-After that passages wait, in milliseconds. */
const longestWait = 120_000
/** How often a text that is too long is halved. */
const halvings = 6
/** Requests of a size that must succeed in time before a larger size is tried. */
const enough = 8
/** After this time, a size that timed out may be tried again, in milliseconds. */
const forgotten = 300_000

export interface RequestsOptions {
  readonly backend: string
  readonly model: string
  /** Texts in one request, at most. */
  readonly batchSize: number
  readonly turns: Turns
  readonly timeoutMs: number
  readonly queryMs: number
  /** A vector for each text, in their order, each of finite numbers. */
  readonly embed: (texts: ReadonlyArray<string>) => Effect.Effect<Embedded, RequestFailed>
  /** Embeds a text that is too long, truncated by the server. */
  readonly embedCut?: ((text: string) => Effect.Effect<Embedded, RequestFailed>) | undefined
}

type Vectors = ReadonlyArray<ReadonlyArray<number> | undefined>

/** A text that every server accepts. */
export const harmless = "width"

/**
 * Requests to a server, with retries no sooner than its Retry-After, during which nobody asks it. Batches shrink on
 * timeouts and grow again; a refused text does not fail the others.
 */
export const makeRequests = (options: RequestsOptions) => {
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
      return Effect.fail(new RequestFailed({ reason, retryable: false, status: 429 }))
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
        `${backend} ${model} did not answer ${size} texts within ${timeoutMs} ms; sending ${less} at once until it is faster (embedding.batch_size)`
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
            ? Effect.fail(new RequestFailed({ reason: "too many texts at once", retryable: false, tooMany: true }))
            : measured(embed(texts)).pipe(
                Effect.timeoutFail({
                  duration: Duration.millis(timeoutMs),
                  onTimeout: () =>
                    new RequestFailed({ reason: `no answer within ${timeoutMs} ms`, retryable: false, tooMany: true })
                }),
                Effect.tapError((error) => (error.tooMany === true ? shrink(texts.length) : heed(error)))
              )
        )
      )
    ).pipe(
      Effect.filterOrFail(
        ({ vectors }) => vectors.length === texts.length,
        ({ vectors }) =>
          new RequestFailed({ reason: `gave ${vectors.length} vectors for ${texts.length} texts`, retryable: false })
      ),
      again({
        times: (error) => attempts[urgency][isBusy(error) ? "busy" : "other"],
        firstMs: 200,
        longestMs: urgency === "patient" ? longestWait : queryMs
      }),
      Effect.tap(() => grow(texts.length)),
      Effect.map(({ vectors }) => vectors)
    )

  /** Embeds the beginning of a text that is too long. */
  const shortened = (text: string, left: number): Effect.Effect<Vectors, RequestFailed> =>
    embedCut !== undefined
      ? send([text], "patient", () => embedCut(text))
      : Effect.catchIf(
          send([text.slice(0, text.length >> 1).replace(/[\ud800-\udbff]$/, "")], "patient"),
          (error) => left > 1 && isRefusal(error) && tooLong.test(error.reason),
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

  const refused = (at: number, told: Told, { reason }: RequestFailed) =>
    Effect.as(told(at, `${model} refuses it, so only keyword search finds it: ${reason}`), [undefined])

  const alone = (text: string, at: number, told: Told, error: RequestFailed): Effect.Effect<Vectors, RequestFailed> =>
    tooLong.test(error.reason)
      ? shortened(text, halvings).pipe(
          Effect.zipLeft(Metric.increment(truncated)),
          Effect.zipLeft(told(at, `too long for ${model}: only its beginning is searched by meaning`)),
          Effect.catchIf(isRefusal, (error) => refused(at, told, error))
        )
      : refused(at, told, error)

  /** Whether the server accepts anything at all; if so, a refusal is due to the texts. */
  const isTaken = Effect.isSuccess(send([harmless], "patient"))

  const passages = (texts: ReadonlyArray<string>, from: number, told: Told): Effect.Effect<Vectors, RequestFailed> =>
    Effect.catchAll(send(texts, "patient"), (error): Effect.Effect<Vectors, RequestFailed> => {
      if (error.tooMany === true && texts.length > 1) return halved(texts, from, told)
      if (!isRefusal(error)) return Effect.fail(error)
      if (texts.length > 1) {
        return tooLong.test(error.reason)
          ? halved(texts, from, told)
          : Effect.if(isTaken, { onTrue: () => halved(texts, from, told), onFalse: () => Effect.fail(error) })
      }
      return tooLong.test(error.reason)
        ? alone(texts[0]!, from, told, error)
        : Effect.if(isTaken, { onTrue: () => alone(texts[0]!, from, told, error), onFalse: () => Effect.fail(error) })
    })

  return {
    /** Fails as a whole. */
    urgent: (texts: ReadonlyArray<string>) => send(texts, "urgent"),
    /** Undefined for a text that the server refuses. `from` is the index of the first. */
    passages
  }
}
