import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** The caller is over the rate limit. */
export class TooManyRequests extends Schema.TaggedError<TooManyRequests>()(
  "TooManyRequests",
  { retryAfterSeconds: Schema.Int, perSecond: Schema.Int },
  HttpApiSchema.annotations({ status: 429 })
) {
  get headers() {
    return { "retry-after": String(this.retryAfterSeconds) }
  }
  override get message() {
    return `Over ${this.perSecond} requests a second (rate_limit_per_second); try again in ${this.retryAfterSeconds} s`
  }
}

/** Limits the rate of callers: each key has a token bucket that refills at a steady rate. */
export class RateLimiter extends Context.Tag("clew/RateLimiter")<
  RateLimiter,
  {
    /** Takes one token from the key's bucket, or fails at once and takes none. */
    readonly take: (key: string) => Effect.Effect<void, TooManyRequests>
  }
>() {}
