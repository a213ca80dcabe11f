import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"

/**
 * Loads at the first use, once for all callers; after a failure the next use retries. Uninterruptible, since a caller
 * interrupted while it waits would cancel it for all others.
 */
export const once = <A, E, R>(load: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  const turn = Effect.unsafeMakeSemaphore(1)
  let loaded = Option.none<A>()
  const known = (otherwise: Effect.Effect<A, E, R>) =>
    Effect.suspend(() => (Option.isSome(loaded) ? Effect.succeed(loaded.value) : otherwise))
  const keep = (value: A) => {
    loaded = Option.some(value)
    return value
  }
  return known(Effect.uninterruptible(turn.withPermits(1)(known(Effect.map(load, keep)))))
}

/**
 * One run for all who want its result meanwhile, in a fiber of its own that ends with the scope: it goes on when they go
 * away.
 */
export const shared = <A, E, R>(scope: Scope.Scope, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  let running: Fiber.RuntimeFiber<A, E> | undefined
  const begin = Effect.map(Effect.forkIn(Effect.interruptible(work), scope), (fiber) => {
    running = fiber
    fiber.addObserver(() => (running = undefined))
    return fiber
  })
  return Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      Effect.suspend(() => (running === undefined ? begin : Effect.succeed(running))),
      // Not joined: a caller takes over nothing else of a fiber that another one has begun.
      (fiber) => restore(Effect.flatten(Fiber.await(fiber)))
    )
  )
}
