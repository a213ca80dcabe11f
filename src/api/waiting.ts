import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** The longest Retry-After that a client follows, in seconds. */
const mostPatience = 60

/** Retries a request that the server was too busy to answer. */
export const retrying =
  (retries: number) =>
  <E, R>(sending: Effect.Effect<HttpClientResponse.HttpClientResponse, E, R>, path: string) => {
    const go = (left: number): Effect.Effect<HttpClientResponse.HttpClientResponse, E, R> =>
      Effect.flatMap(sending, (response) => {
        const { headers, status } = response
        const told = Number(headers["retry-after"] ?? NaN)
        const isBusy = (status === 429 || status === 503) && !path.endsWith("/ready")
        if (!isBusy || left === 0 || told > mostPatience) return Effect.succeed(response)
        const seconds = Number.isFinite(told) ? told : 0.25 * 2 ** (retries - left)
        return Effect.zipRight(Effect.sleep(Duration.seconds(seconds)), go(left - 1))
      })
    return go(retries)
  }

/** Fails with the signal's reason once it is given. */
export const aborted = (signal: AbortSignal) =>
  Effect.async<never, unknown>((resume) => {
    const stop = () => resume(Effect.fail(signal.reason as unknown))
    if (signal.aborted) return stop()
    signal.addEventListener("abort", stop, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", stop))
  })
