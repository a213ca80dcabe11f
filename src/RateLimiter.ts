import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { ServerConfig } from "./Config.ts"
import { fault } from "./model/fault.ts"

/** The caller is over the rate limit. */
export class TooManyRequests extends fault<TooManyRequests>()(
  "TooManyRequests",
  429,
  { retryAfterSeconds: Schema.Int, perSecond: Schema.Int },
  ({ perSecond, retryAfterSeconds }) =>
    `Over ${perSecond} requests a second (rate_limit_per_second); try again in ${retryAfterSeconds} s`
) {
  get headers() {
    return { "retry-after": String(this.retryAfterSeconds) }
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

interface Bucket {
  tokens: number
  /** When `tokens` was computed, in milliseconds since the epoch. */
  at: number
}

interface Options {
  /** Tokens added per second, and a bucket's capacity. */
  readonly perSecond: number
  /** Most buckets; beyond that the least recently used is dropped, and starts full if its key returns. */
  readonly capacity: number
}

const make = ({ capacity, perSecond }: Options) => {
  // In order of use, since a Map keeps insertion order.
  const buckets = new Map<string, Bucket>()

  const bucketOf = (key: string, now: number): Bucket => {
    const known = buckets.get(key)
    if (known === undefined) {
      if (buckets.size >= capacity) buckets.delete(buckets.keys().next().value!)
      return { tokens: perSecond, at: now }
    }
    buckets.delete(key)
    // A clock set back adds no tokens.
    known.tokens = Math.min(perSecond, known.tokens + (Math.max(0, now - known.at) / 1000) * perSecond)
    known.at = now
    return known
  }

  return RateLimiter.of({
    take: (key) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const bucket = bucketOf(key, now)
        buckets.set(key, bucket)
        if (bucket.tokens < 1) {
          const retryAfterSeconds = Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond))
          return new TooManyRequests({ retryAfterSeconds, perSecond })
        }
        bucket.tokens--
        return Effect.void
      })
  })
}

/** Buckets in this process's memory, limited in number. */
export const layer = (options: Options): Layer.Layer<RateLimiter> => Layer.sync(RateLimiter, () => make(options))

/** As `rate_limit_per_second` says, for 10,000 clients at once. */
export const layerConfig: Layer.Layer<RateLimiter, never, ServerConfig> = Layer.unwrapEffect(
  Effect.map(ServerConfig, ({ rateLimitPerSecond }) => layer({ perSecond: rateLimitPerSecond, capacity: 10_000 }))
)
