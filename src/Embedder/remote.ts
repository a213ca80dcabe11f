import * as Arr from "effect/Array"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { type Embedder, EmbedderUnavailable } from "../Embedder.ts"
import type { EmbedderIdentity } from "../model/Collection.ts"
import type { Vector } from "../model/Passage.ts"
import type { Turns } from "../runtime/Turn.ts"
import { queryTimeout } from "./Breakers.ts"
import type { Prefixes } from "./prefixes.ts"

/** A request that a server did not answer as it should. `retryable`: the same request may succeed later. */
export class RequestFailed extends Schema.TaggedError<RequestFailed>()("RequestFailed", {
  reason: Schema.String,
  retryable: Schema.Boolean,
  /** HTTP status; none where no answer came. */
  status: Schema.optional(Schema.Number)
}) {}

/** What servers answer when it is the texts that they do not take. */
const refusals: ReadonlySet<number | undefined> = new Set([400, 413, 422])

/** A vector as a server sends it. Declared as a whole, since a schema of its numbers one by one takes longer than their JSON. */
export const Numbers = Schema.declare(
  (value): value is ReadonlyArray<number> =>
    Array.isArray(value) && value.length > 0 && value.every((number) => Number.isFinite(number))
)

export interface RemoteOptions {
  readonly backend: string
  readonly model: string
  readonly prefixes: Prefixes
  /** Texts in one request. */
  readonly batchSize: number
  /** For each request under way at once, of all callers together: queries are urgent. */
  readonly turns: Turns
  readonly timeoutMs: number
  /** Longest wait for a query's vector, all in all; 5 s unless given, and never longer than `timeoutMs`. */
  readonly queryTimeoutMs?: number | undefined
  /** Which weights the model's name stands for, where the server tells. */
  readonly digest?: Effect.Effect<string | undefined> | undefined
  /** A vector for each text, in their order, each of finite numbers. */
  readonly embed: (texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<ReadonlyArray<number>>, RequestFailed>
}

/** More attempts, later each time and at random moments, so that callers do not come back all at once. */
const attempts = (more: number) =>
  Schedule.exponential(Duration.millis(200), 2.5).pipe(Schedule.jittered, Schedule.intersect(Schedule.recurs(more)))

/** About two seconds more for passages; a query has somebody waiting, who may be answered by keywords instead. */
const patience = { patient: attempts(3), urgent: attempts(1) }

type Patience = keyof typeof patience

/** L2-normalised; none where the model gave no direction. */
const toVector = (values: ReadonlyArray<number>): Option.Option<Vector> => {
  const norm = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))
  return norm > 0 ? Option.some(Float32Array.from(values, (value) => value / norm)) : Option.none()
}

/**
 * An embedder behind a network: in batches, a few at once, with retries of what can be retried. Requests that nobody
 * waits for any more end with the scope at the latest.
 */
export const makeRemote = (options: RemoteOptions): Effect.Effect<typeof Embedder.Service, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    const { backend, batchSize, model, prefixes, timeoutMs, turns } = options
    const unavailable = (reason: string, refused = false) =>
      new EmbedderUnavailable({ reason: `${backend} ${model}: ${reason}`, ...(refused ? { refused } : {}) })

    const request = Effect.fn("Embedder.request")((texts: ReadonlyArray<string>, urgency: Patience) =>
      options.embed(texts).pipe(
        Effect.timeoutFail({
          duration: Duration.millis(timeoutMs),
          onTimeout: () => new RequestFailed({ reason: `no answer within ${timeoutMs} ms`, retryable: false })
        }),
        Effect.filterOrFail(
          (vectors) => vectors.length === texts.length,
          (vectors) =>
            new RequestFailed({
              reason: `gave ${vectors.length} vectors for ${texts.length} texts`,
              retryable: false
            })
        ),
        turns[urgency],
        Effect.retry({ schedule: patience[urgency], while: (error) => error.retryable }),
        Effect.mapError(({ reason, status }) => unavailable(reason, refusals.has(status)))
      )
    )

    const identify = Effect.gen(function* () {
      const [vector] = yield* request(["width"], "urgent")
      const digest = yield* options.digest ?? Effect.succeed(undefined)
      return {
        backend,
        model,
        dimensions: vector!.length,
        queryPrefix: prefixes.query,
        passagePrefix: prefixes.passage,
        ...(digest === undefined ? {} : { digest })
      } satisfies EmbedderIdentity
    })
    let known: EmbedderIdentity | undefined
    let asking: Deferred.Deferred<EmbedderIdentity, EmbedderUnavailable> | undefined

    /** The width shows in a vector only: asked for once, and again after a failure. Who comes meanwhile waits along. */
    const identity = Effect.suspend(() => {
      if (known !== undefined) return Effect.succeed(known)
      if (asking !== undefined) return Deferred.await(asking)
      const answer = Deferred.unsafeMake<EmbedderIdentity, EmbedderUnavailable>(FiberId.none)
      asking = answer
      return identify.pipe(
        Effect.tap((found) => Effect.sync(() => (known = found))),
        Effect.onExit(() => Effect.sync(() => (asking = undefined))),
        Effect.intoDeferred(answer),
        // Not the first caller's own: others wait for it too when that one goes.
        Effect.interruptible,
        Effect.forkIn(scope),
        Effect.zipRight(Deferred.await(answer))
      )
    })

    const embed = Effect.fn("Embedder.embed")(function* (texts: ReadonlyArray<string>, urgency: Patience) {
      const { dimensions } = yield* identity
      const ask = (part: ReadonlyArray<string>) => request(part, urgency)
      const answers = yield* Effect.forEach(Arr.chunksOf(texts, batchSize), ask, { concurrency: "unbounded" })
      const vectors = answers.flat()
      const other = vectors.find((vector) => vector.length !== dimensions)
      if (other !== undefined) {
        return yield* unavailable(`gave vectors of ${other.length} dimensions where it gave ${dimensions} before`)
      }
      return vectors.map(toVector)
    })

    const queryMs = Math.min(timeoutMs, options.queryTimeoutMs ?? queryTimeout)
    let lingering = false

    /**
     * Leaves one request that was too slow to go on: a server that loads the model for it would stop loading when the
     * connection closes, and each query begin anew.
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
      embedQuery: (text) =>
        text.trim() === ""
          ? Effect.succeedNone
          : Effect.map(inTime(embed([prefixes.query + text], "urgent")), ([vector]) =>
              Option.flatten(Option.fromNullable(vector))
            ),
      embedPassages: (texts) =>
        texts.length === 0
          ? Effect.succeed([])
          : embed(
              texts.map((text) => prefixes.passage + text),
              "patient"
            )
    }
  })
