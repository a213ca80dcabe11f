import * as Effect from "effect/Effect"

/** Lets the event loop turn once, so that a message or a signal can interrupt. */
export const nextTurn: Effect.Effect<void> = Effect.async<void>((resume) => {
  const waiting = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(waiting))
})

/** Milliseconds to compute before the event loop may turn. */
export const turnMs = 4
