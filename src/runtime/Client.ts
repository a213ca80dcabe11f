import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"

/** The client that a fiber works for; queues let clients take turns. Work of the process itself has none. */
export const current: FiberRef.FiberRef<string> = FiberRef.unsafeMake("")

/** Runs an effect for a client. */
export const working =
  (client: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.locally(effect, current, client)
