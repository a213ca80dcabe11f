import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as SynchronizedRef from "effect/SynchronizedRef"

/**
 * Loads at the first use, once for all callers; after a failure the next use retries. Uninterruptible, since a caller
 * interrupted while it waits would cancel it for all others.
 */
export const once = <A, E, R>(load: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  const loaded = SynchronizedRef.unsafeMake(Option.none<A>())
  return Effect.uninterruptible(
    SynchronizedRef.modifyEffect(loaded, (before) =>
      Option.match(before, {
        onSome: (value) => Effect.succeed([value, before] as const),
        onNone: () => Effect.map(load, (value) => [value, Option.some(value)] as const)
      })
    )
  )
}
