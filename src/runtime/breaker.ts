import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"

/** Pauses between background retries: the first one, doubled each time up to the longest. */
export const pauses = { first: Duration.seconds(1), longest: Duration.seconds(30) }

/** A server that answered this recently need not be probed. */
const fresh = Duration.seconds(15)

/** A server's last answer, and its assumed state until the next one. */
export interface Breaker<E> {
  /** Fails at once while the server is known to be down. */
  readonly gate: Effect.Effect<void, E>
  /** Why it is down, if it is. */
  readonly down: () => string | undefined
  /** Watches a request's outcome; `probe` is retried in the background after a failure. */
  readonly watch: <A>(request: Effect.Effect<A, E>, probe: Effect.Effect<unknown, E>) => Effect.Effect<A, E>
  readonly isFresh: Effect.Effect<boolean>
}

/** Its background fibers end with the scope. */
export const makeBreaker = <E extends { readonly reason: string }>(
  name: string,
  scope: Scope.Scope,
  errors: {
    readonly make: (reason: string) => E
    /** Whether the server is up although it failed: it refused this request alone. */
    readonly isUp: (error: E) => boolean
  }
): Breaker<E> => {
  let open: { readonly reason: string; next: number } | undefined
  let answered = -Infinity
  let prober: Fiber.RuntimeFiber<void> | undefined

  const succeeded = Effect.gen(function* () {
    answered = yield* Clock.currentTimeMillis
    if (open === undefined) return
    open = undefined
    const over = prober
    prober = undefined
    yield* Effect.logInfo(`${name} answers again`)
    // The prober itself may have found that.
    if (over !== undefined) yield* Fiber.interruptFork(over)
  })

  const failed = (error: E, probe: Effect.Effect<unknown, E>) =>
    Effect.gen(function* () {
      if (errors.isUp(error) || open !== undefined) return
      const state = { reason: error.reason, next: 0 }
      open = state
      yield* Effect.logWarning(`${error.reason}; until it answers again, only background probes ask it`)
      let pause = pauses.first
      const again = Effect.gen(function* () {
        state.next = (yield* Clock.currentTimeMillis) + Duration.toMillis(pause)
        yield* Effect.sleep(pause)
        const found = yield* Effect.either(probe)
        if (found._tag === "Right" || errors.isUp(found.left)) yield* succeeded
        pause = Duration.min(Duration.times(pause, 2), pauses.longest)
      })
      prober = yield* Effect.forkIn(Effect.interruptible(Effect.forever(again)), scope)
    })

  return {
    gate: Effect.gen(function* () {
      if (open === undefined) return
      const seconds = Math.max(1, Math.ceil((open.next - (yield* Clock.currentTimeMillis)) / 1000))
      return yield* Effect.fail(errors.make(`${open.reason}; the next retry is in ${seconds} s`))
    }),
    watch: (request, probe) =>
      Effect.tapBoth(request, {
        onSuccess: () => Effect.uninterruptible(succeeded),
        onFailure: (error) => Effect.uninterruptible(failed(error, probe))
      }),
    down: () => open?.reason,
    isFresh: Effect.map(Clock.currentTimeMillis, (now) => now - answered < Duration.toMillis(fresh))
  }
}
