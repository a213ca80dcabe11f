import * as Effect from "effect/Effect"

/** Lets the event loop turn once. Effect.yieldNow lets other fibers run, but no timers, sockets or signals. */
export const nextTurn: Effect.Effect<void> = Effect.async<void>((resume) => {
  const waiting = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(waiting))
})

/** A point at which an uninterruptible effect may be interrupted. */
export const mayEnd: Effect.Effect<void> = Effect.interruptible(Effect.void)

/** Lets the event loop turn, and may be interrupted there, even in an uninterruptible region such as a transaction. */
export const nextTurnOrEnd: Effect.Effect<void> = Effect.zipRight(nextTurn, mayEnd)

/** Milliseconds to compute before letting the event loop turn. */
export const turnMs = 5

/** Work that yields wherever it can pause. */
export type Steps<A> = Generator<undefined, A>

/** Runs the steps while the event loop turns, in turns of so many milliseconds. */
export const inTurns = <A>(make: () => Steps<A>, turn = turnMs): Effect.Effect<A> =>
  Effect.suspend(() => {
    const steps = make()
    const go = (): Effect.Effect<A> => {
      const until = performance.now() + turn
      do {
        const { done, value } = steps.next()
        if (done === true) return Effect.succeed(value)
      } while (performance.now() < until)
      return Effect.flatMap(nextTurn, go)
    }
    return go()
  })

/** A pause between two writes of one job, in real time, in which another process that waits for the lock gets it. */
export const letOthersWrite: Effect.Effect<void> = Effect.async<void>((resume) => {
  const timer = setTimeout(() => resume(Effect.void), 30)
  return Effect.sync(() => clearTimeout(timer))
})

/** How long one job may write step after step before another process gets its turn, in milliseconds. */
const longestTurn = 250

/** Run it after each write of a long job: it lets others write whenever the job has been writing for a while. */
export const sharingWrites = (): Effect.Effect<void> => {
  let since = performance.now()
  return Effect.suspend(() =>
    performance.now() - since < longestTurn
      ? Effect.void
      : Effect.zipRight(
          letOthersWrite,
          Effect.sync(() => {
            since = performance.now()
          })
        )
  )
}
