import * as Effect from "effect/Effect"

/** Loads a module at its first use and keeps it, which saves short commands the time. */
export const lazily = <A>(load: () => Promise<A>): Effect.Effect<A> => {
  let loading: Promise<A> | undefined
  return Effect.promise(() => (loading ??= load()))
}
