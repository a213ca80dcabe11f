import * as Effect from "effect/Effect"

/** Lets the event loop turn once; Effect.yieldNow lets other fibers run, but no timer, socket or signal. */
export const nextTurn: Effect.Effect<void> = Effect.async<void>((resume) => {
  const waiting = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(waiting))
})

/** Milliseconds to compute before the event loop may turn. */
export const turnMs = 5
