import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"

/**
 * Builds a layer at first use and keeps it until the scope closes. If building fails, all who waited for it fail, and
 * the next use tries again: an index that is missing now may exist at the next call.
 */
export const lazyLayer = <A, E>(layer: Layer.Layer<A, E>) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    let built: Context.Context<A> | undefined
    let building: Deferred.Deferred<Context.Context<A>, E> | undefined

    const build = Effect.gen(function* () {
      const own = yield* Scope.fork(scope, ExecutionStrategy.sequential)
      return yield* Layer.buildWithScope(layer, own).pipe(
        Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : Scope.close(own, exit)))
      )
    })
    // In a separate fiber: a caller interrupted while it waits would cancel it for all others.
    const begin = (waiting: Deferred.Deferred<Context.Context<A>, E>) =>
      Effect.interruptible(build).pipe(
        Effect.onExit((exit) =>
          Effect.sync(() => {
            building = undefined
            if (Exit.isSuccess(exit)) built = exit.value
          })
        ),
        Effect.intoDeferred(waiting),
        Effect.forkIn(scope)
      )
    const context = Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        if (built !== undefined) return Effect.succeed(built)
        if (building !== undefined) return restore(Deferred.await(building))
        const waiting = (building = Deferred.unsafeMake<Context.Context<A>, E>(FiberId.none))
        return Effect.zipRight(begin(waiting), restore(Deferred.await(waiting)))
      })
    )
    return {
      use: <B, E2>(effect: Effect.Effect<B, E2, A>): Effect.Effect<B, E | E2> =>
        Effect.flatMap(context, (services) => Effect.provide(effect, services)),
      isBuilt: Effect.sync(() => built !== undefined)
    }
  })
