import * as Effect from "effect/Effect"
import { mayEnd } from "../Store/sqlite/transaction.ts"

/** Lets the event loop turn once, so that a message or a signal can interrupt, also within a transaction. */
export const nextTurn: Effect.Effect<void> = Effect.zipRight(
  Effect.async<void>((resume) => {
    const waiting = setImmediate(() => resume(Effect.void))
    return Effect.sync(() => clearImmediate(waiting))
  }),
  mayEnd
)

/** Milliseconds to compute before the event loop may turn. */
export const turnMs = 4
