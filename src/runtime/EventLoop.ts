import * as Effect from "effect/Effect"

/** Lets the event loop turn once; Effect.yieldNow lets other fibers run, but no timer, socket or signal. */
export const nextTurn: Effect.Effect<void> = Effect.async<void>((resume) => {
  const waiting = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(waiting))
})

/** Where an effect that may not be interrupted elsewhere may be. */
export const mayEnd: Effect.Effect<void> = Effect.interruptible(Effect.void)

/** The same within what may not be interrupted, such as a transaction: here it may be. */
export const nextTurnOrEnd: Effect.Effect<void> = Effect.zipRight(nextTurn, mayEnd)

/** Milliseconds to compute before the event loop may turn. */
export const turnMs = 5

/** Work that yields wherever others may have their turn. */
export type Steps<A> = Generator<undefined, A>

/** What steps come to, without a pause. */
export const atOnce = <A>(steps: Steps<A>): A => {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/** What steps come to, while the event loop turns. */
export const inTurns = <A>(make: () => Steps<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    const steps = make()
    const go = (): Effect.Effect<A> => {
      const until = performance.now() + turnMs
      do {
        const { done, value } = steps.next()
        if (done === true) return Effect.succeed(value)
      } while (performance.now() < until)
      return Effect.flatMap(nextTurn, go)
    }
    return go()
  })

/** Between two writes of one job: real time, in which another process that waits for the lock tries again and gets it. */
export const letOthersWrite: Effect.Effect<void> = Effect.async<void>((resume) => {
  const timer = setTimeout(() => resume(Effect.void), 30)
  return Effect.sync(() => clearTimeout(timer))
})
