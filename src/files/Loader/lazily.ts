import * as Effect from "effect/Effect"

/** A module that is loaded when it is first needed, which spares a short command the time; held from then on. */
export const lazily = <A>(load: () => Promise<A>): Effect.Effect<A> => {
  let loading: Promise<A> | undefined
  return Effect.promise(() => (loading ??= load()))
}
