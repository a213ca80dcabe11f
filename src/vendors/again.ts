import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/** A server's error that may be temporary. */
export interface Passing {
  readonly reason: string
  /** The same request may succeed later. */
  readonly retryable: boolean
  /** The server's Retry-After, in milliseconds. */
  readonly waitMs?: number | undefined
  /** HTTP status; undefined without a response. */
  readonly status?: number | undefined
}

/** Whether the server is overloaded or limits the rate. */
export const isBusy = ({ status }: Passing): boolean => status === 429 || status === 503

/** Whether an error's code says that a kept-open connection was closed at the other end, which shows only when it is used. */
export const isStale = (code: unknown): boolean =>
  code === "UND_ERR_SOCKET" || code === "ECONNRESET" || code === "EPIPE"

interface Patience {
  /** Most further attempts. */
  readonly times: (error: Passing) => number
  /** Pause before the second attempt, in milliseconds; it grows each time, with jitter so that callers do not return together. */
  readonly firstMs: number
  /** Longest accepted pause, in milliseconds; if the server asks for more, the request fails. */
  readonly longestMs: number
}

/** Retries what may succeed later, no sooner than the server asks. */
export const again =
  ({ firstMs, longestMs, times }: Patience) =>
  <A, E extends Passing, R>(attempt: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const from = (done: number, pause: number): Effect.Effect<A, E, R> =>
      Effect.catchAll(attempt, (error) =>
        Effect.gen(function* () {
          if (!error.retryable || done >= times(error)) return yield* Effect.fail(error)
          const wait = Math.max(pause * (yield* Random.nextRange(0.8, 1.2)), error.waitMs ?? 0)
          if (wait > longestMs) return yield* Effect.fail(error)
          yield* Effect.sleep(Duration.millis(wait))
          return yield* from(done + 1, pause * 2.5)
        })
      )
    return from(0, firstMs)
  }
