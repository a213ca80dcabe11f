import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/**
 * Loads at the first use, once for all callers; after a failure the next use retries. Uninterruptible, since a caller
 * interrupted while it waits would cancel it for all others.
 */
export const once = <A, E, R>(load: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  const turn = Effect.unsafeMakeSemaphore(1)
  let loaded = Option.none<A>()
  const known = (otherwise: Effect.Effect<A, E, R>) =>
    Effect.suspend(() => (Option.isSome(loaded) ? Effect.succeed(loaded.value) : otherwise))
  const keep = (value: A) => {
    loaded = Option.some(value)
    return value
  }
  return known(Effect.uninterruptible(turn.withPermits(1)(known(Effect.map(load, keep)))))
}
