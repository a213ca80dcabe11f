import * as Arr from "effect/Array"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { type Embedder, EmbedderUnavailable } from "../Embedder.ts"
import type { EmbedderIdentity } from "../model/Collection.ts"
import type { Vector } from "../model/Passage.ts"
import type { Turns } from "../runtime/Turn.ts"
import { queryTimeout } from "./Breakers.ts"
import { harmless, isRefusal, makeRequests, type RequestFailed, type RequestsOptions, type Told } from "./requests.ts"
import type { Prefixes } from "./prefixes.ts"

/**
 * A vector as a server sends it. Declared as a whole, since checking each number by a schema takes longer than parsing
 * the JSON.
 */
export const Numbers = Schema.declare(
  (value): value is ReadonlyArray<number> =>
    Array.isArray(value) && value.length > 0 && value.every((number) => Number.isFinite(number))
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

export interface RemoteOptions extends ServerOptions {
  readonly backend: string
  /** The digest of the model's weights, if the server reports it. */
  readonly digest?: Effect.Effect<string | undefined> | undefined
  /** A vector for each text, in their order, each of finite numbers. */
  readonly embed: RequestsOptions["embed"]
  /** Embeds a text that is too long, truncated by the server; without this method, its beginning is sent. */
  readonly embedCut?: RequestsOptions["embedCut"]
}

/** L2-normalised; none if the model gave no direction. */
const toVector = (values: ReadonlyArray<number>): Option.Option<Vector> => {
  const norm = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))
  return norm > 0 ? Option.some(Float32Array.from(values, (value) => value / norm)) : Option.none()
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

    const identify = Effect.gen(function* () {
      const [vector] = yield* Effect.mapError(requests.urgent([harmless]), failed)
      if (dimensions !== undefined && vector!.length !== dimensions) {
        return yield* unavailable(
          `embedding.dimensions is ${dimensions}, but the model gives ${vector!.length} and cannot reduce them: set ${vector!.length}, or remove the setting`
        )
      }
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

    /**
     * Only a vector shows the dimensions: asked for once, and again after a failure. Concurrent callers share the
     * request.
     */
    const identity = Effect.suspend(() => {
      if (known !== undefined) return Effect.succeed(known)
      if (asking !== undefined) return Deferred.await(asking)
      const answer = Deferred.unsafeMake<EmbedderIdentity, EmbedderUnavailable>(FiberId.none)
      asking = answer
      return identify.pipe(
        Effect.tap((found) => Effect.sync(() => (known = found))),
        Effect.onExit(() => Effect.sync(() => (asking = undefined))),
        Effect.intoDeferred(answer),
        // Not in the first caller's fiber: others still wait for it if that caller goes.
        Effect.interruptible,
        Effect.forkIn(scope),
        Effect.zipRight(Deferred.await(answer))
      )
    })

    const checked = (vectors: ReadonlyArray<ReadonlyArray<number> | undefined>, width: number) => {
      const other = vectors.find((vector) => vector !== undefined && vector.length !== width)
      return other === undefined
        ? Effect.succeed(vectors.map((vector) => (vector === undefined ? Option.none() : toVector(vector))))
        : Effect.fail(unavailable(`gave vectors of ${other.length} dimensions, but ${width} before`))
    }

    const embedUrgently = Effect.fn("Embedder.embedQuery")(function* (text: string) {
      const { dimensions: width } = yield* identity
      return (yield* checked(yield* Effect.mapError(requests.urgent([text]), failed), width))[0]!
    })

    const embed = Effect.fn("Embedder.embed")(function* (texts: ReadonlyArray<string>, told: Told) {
      const { dimensions: width } = yield* identity
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
