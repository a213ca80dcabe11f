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
