import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/** An error of a server's that may be over later. */
export interface Passing {
  readonly retryable: boolean
  /** How long the server asks to be left alone, in milliseconds. */
  readonly waitMs?: number | undefined
  /** HTTP status; none where no answer came. */
  readonly status?: number | undefined
}

/** Whether a server says that it is asked too often, or that it is full. */
export const isBusy = ({ status }: Passing): boolean => status === 429 || status === 503

/** What `Retry-After` says: seconds or a date, or milliseconds in a header of its own. */
export const waitOf = (header: (name: string) => string | null | undefined, now: number): number | undefined => {
  const exact = header("retry-after-ms")?.trim() ?? ""
  if (/^\d{1,9}(?:\.\d{1,9})?$/.test(exact)) return Math.ceil(Number(exact))
  const said = header("retry-after")?.trim() ?? ""
  if (/^\d{1,9}(?:\.\d{1,9})?$/.test(said)) return Math.ceil(Number(said) * 1000)
  const date = Date.parse(said)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

export interface Patience {
  /** So many more attempts. */
  readonly times: (error: Passing) => number
  /** Before the second one, in milliseconds; longer each time, at random moments, so that callers do not come back all at once. */
  readonly firstMs: number
  /** Who is asked to wait for longer gives up, in milliseconds. */
  readonly longestMs: number
}

/** Tries again what may succeed later, no sooner than the server asks for. */
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
