import * as Effect from "effect/Effect"

/** Runs an effect while no other of the same turn runs. */
export type Turn = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * One after the other, in the order of asking; who waits can be interrupted. Unlike a semaphore's permit, a turn cannot
 * be lost: who has it stands in the queue, not in the outcome of having waited.
 */
export const make = (): Turn => {
  const queue: Array<{ begin: () => void }> = []
  return (effect) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        const me = { begin: () => {} }
        queue.push(me)
        const first = Effect.async<void>((resume) => {
          me.begin = () => resume(Effect.void)
          if (queue[0] === me) me.begin()
        })
        const leave = Effect.sync(() => {
          const place = queue.indexOf(me)
          queue.splice(place, 1)
          if (place === 0) queue[0]?.begin()
        })
        return Effect.ensuring(Effect.zipRight(restore(first), restore(effect)), leave)
      })
    )
}
