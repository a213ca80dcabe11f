import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { waitOf } from "../model/retryAfter.ts"

/** The longest Retry-After that a client follows, in milliseconds. */
const mostPatience = 60_000

/** Retries a request that the server was too busy to answer. */
export const retrying =
  (retries: number) =>
  <E, R>(sending: Effect.Effect<HttpClientResponse.HttpClientResponse, E, R>, path: string) => {
    const go = (done: number): Effect.Effect<HttpClientResponse.HttpClientResponse, E, R> =>
      Effect.gen(function* () {
        const response = yield* sending
        const { headers, status } = response
        const isBusy = (status === 429 || status === 503) && !path.endsWith("/ready")
        if (!isBusy || !(done < retries)) return response
        const asked = waitOf((name) => headers[name], yield* Clock.currentTimeMillis)
        if (asked !== undefined && asked > mostPatience) return response
        yield* Effect.sleep(Duration.millis(asked ?? Math.min(mostPatience, 250 * 2 ** done)))
        return yield* go(done + 1)
      })
    return go(0)
  }

/** Fails with the signal's reason once it is given. */
export const aborted = (signal: AbortSignal) =>
  Effect.async<never, unknown>((resume) => {
    const stop = () => resume(Effect.fail(signal.reason as unknown))
    if (signal.aborted) return stop()
    signal.addEventListener("abort", stop, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", stop))
  })
