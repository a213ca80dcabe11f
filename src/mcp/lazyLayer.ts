import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as SynchronizedRef from "effect/SynchronizedRef"

/**
 * Builds a layer at first use and keeps it until the scope closes. If building fails, the next use tries again: an
 * index that is missing now may exist at the next call.
 */
export const lazyLayer = <A, E>(layer: Layer.Layer<A, E>) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const built = yield* SynchronizedRef.make(Option.none<Context.Context<A>>())
    const build = Effect.gen(function* () {
      const own = yield* Scope.fork(scope, ExecutionStrategy.sequential)
      return yield* Layer.buildWithScope(layer, own).pipe(
        Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : Scope.close(own, exit)))
      )
    })
    const opening = SynchronizedRef.modifyEffect(built, (known) =>
      Option.match(known, {
        onSome: (context) => Effect.succeed([context, known] as const),
        onNone: () => Effect.map(build, (context) => [context, Option.some(context)] as const)
      })
    )
    // In a separate fiber: a caller interrupted while it waits would cancel it for all others.
    const opened = Effect.flatMap(Effect.forkIn(Effect.interruptible(opening), scope), Fiber.join)
    const context = Effect.flatMap(
      SynchronizedRef.get(built),
      Option.match({ onSome: Effect.succeed, onNone: () => opened })
    )
    return {
      use: <B, E2>(effect: Effect.Effect<B, E2, A>): Effect.Effect<B, E | E2> =>
        Effect.flatMap(context, (services) => Effect.provide(effect, services)),
      isBuilt: Effect.map(SynchronizedRef.get(built), Option.isSome)
    }
  })
