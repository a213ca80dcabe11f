import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"

/*
 * Both are only for uninterruptible regions, where nothing comes between two steps: `Effect.ensuring` and `Effect.locally`
 * do the same there in several times as many.
 */

/** Runs an effect, and `then` however it ends; elsewhere, if it succeeds or fails. */
export const afterwards = <A, E, R>(effect: Effect.Effect<A, E, R>, then: () => void): Effect.Effect<A, E, R> =>
  Effect.matchCauseEffect(effect, {
    onFailure: (cause) => {
      then()
      return Effect.failCause(cause)
    },
    onSuccess: (value) => {
      then()
      return Effect.succeed(value)
    }
  })

/** Runs an effect with another value of a reference. */
export const meanwhile = <A, E, R, V>(
  effect: Effect.Effect<A, E, R>,
  ref: FiberRef.FiberRef<V>,
  change: (before: V) => V
): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) => {
    const before = fiber.getFiberRef(ref)
    const back = FiberRef.set(ref, before)
    return Effect.zipRight(
      FiberRef.set(ref, change(before)),
      Effect.matchCauseEffect(effect, {
        onFailure: (cause) => Effect.zipRight(back, Effect.failCause(cause)),
        onSuccess: (value) => Effect.as(back, value)
      })
    )
  })
