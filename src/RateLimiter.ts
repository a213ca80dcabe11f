import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { ServerConfig } from "./Config.ts"
import { fault } from "./model/fault.ts"
import { Kept } from "./runtime/Kept.ts"

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
  readonly tokens: number
  /** When there were so many, in milliseconds since the epoch. */
  readonly at: number
}

interface Options {
  /** Tokens added per second, and a bucket's capacity. */
  readonly perSecond: number
  /** Most buckets; beyond that the least recently used is dropped, and starts full if its key returns. */
  readonly capacity: number
}

const make = ({ capacity, perSecond }: Options) => {
  const buckets = new Kept<string, Bucket>(capacity)

  return RateLimiter.of({
    take: (key) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const { at, tokens } = buckets.get(key) ?? { tokens: perSecond, at: now }
        // A clock set back adds no tokens.
        const filled = Math.min(perSecond, tokens + (Math.max(0, now - at) / 1000) * perSecond)
        const isEnough = filled >= 1
        buckets.add(key, { tokens: isEnough ? filled - 1 : filled, at: now })
        return isEnough
          ? Effect.void
          : new TooManyRequests({ retryAfterSeconds: Math.max(1, Math.ceil((1 - filled) / perSecond)), perSecond })
      })
  })
}

/** Buckets in this process's memory, limited in number. */
export const layer = (options: Options): Layer.Layer<RateLimiter> => Layer.sync(RateLimiter, () => make(options))

/** As `rate_limit_per_second` says, for 10,000 clients at once. */
export const layerConfig: Layer.Layer<RateLimiter, never, ServerConfig> = Layer.unwrapEffect(
  Effect.map(ServerConfig, ({ rateLimitPerSecond }) => layer({ perSecond: rateLimitPerSecond, capacity: 10_000 }))
)
