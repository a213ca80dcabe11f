import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"

/*
 * `afterwards` and `meanwhile` are only for uninterruptible regions, where nothing comes between two steps:
 * `Effect.ensuring` and `Effect.locally` do the same there in several times as many.
 */

/** Runs an effect, and `then`, and what it returns, however it ends; elsewhere, if it succeeds or fails. */
export const afterwards = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  then: () => Effect.Effect<void> | void
): Effect.Effect<A, E, R> => {
  const before = (result: Effect.Effect<A, E>): Effect.Effect<A, E> => {
    const last = then()
    return last === undefined ? result : Effect.zipRight(last, result)
  }
  return Effect.matchCauseEffect(effect, {
    onFailure: (cause) => before(Effect.failCause(cause)),
    onSuccess: (value) => before(Effect.succeed(value))
  })
}

/** Takes what is there at once, uses it, and gives it back however the use ends, which can be interrupted. */
export const holding = <T, A, E, R>(
  take: () => T,
  use: (taken: T) => Effect.Effect<A, E, R>,
  giveBack: (taken: T) => Effect.Effect<void> | void
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) => {
    const taken = take()
    return afterwards(restore(Effect.suspend(() => use(taken))), () => giveBack(taken))
  })

/** Runs an effect with another value of a reference. */
export const meanwhile = <A, E, R, V>(
  effect: Effect.Effect<A, E, R>,
  ref: FiberRef.FiberRef<V>,
  change: (before: V) => V
): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) => {
    const before = fiber.getFiberRef(ref)
    return Effect.zipRight(
      FiberRef.set(ref, change(before)),
      afterwards(effect, () => FiberRef.set(ref, before))
    )
  })
