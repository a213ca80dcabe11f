import * as Effect from "effect/Effect"

/**
 * While the effect runs, SIGINT and SIGTERM end the process at once, as they do without handlers. For a call that blocks
 * the thread for long and changes nothing: a handler would only run after it.
 */
export const endedBySignals = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() =>
      (["SIGINT", "SIGTERM"] as const).map((signal) => {
        const held = process.rawListeners(signal)
        process.removeAllListeners(signal)
        return { signal, held }
      })
    ),
    () => effect,
    (all) =>
      Effect.sync(() => {
        for (const { held, signal } of all) for (const one of held) process.on(signal, one as NodeJS.SignalsListener)
      })
  )
