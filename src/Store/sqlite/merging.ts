import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type { StoreUnavailable } from "../../Store.ts"

/** The pause between two steps, so that writers of other processes, which poll, get their turn. */
export const pause = Duration.millis(5)

/** Runs steps in the background whenever woken by the returned effect, while a step says there is more to do. */
export const stepsInBackground = Effect.fnUntraced(function* (
  what: string,
  step: Effect.Effect<boolean, StoreUnavailable>
): Effect.fn.Return<Effect.Effect<unknown>, never, Scope.Scope> {
  const wanted = yield* Queue.sliding<true>(1)
  yield* Queue.take(wanted).pipe(
    Effect.zipRight(Effect.repeat(Effect.zipLeft(step, Effect.sleep(pause)), { while: (more) => more })),
    // Nothing is lost: the next call tries again, also after a bug.
    Effect.catchTag("StoreUnavailable", ({ reason }) => Effect.logWarning(`${what} was postponed. ${reason}`)),
    Effect.catchAllDefect((defect) => Effect.logError(`${what} was postponed`, defect)),
    Effect.forever,
    Effect.forkScoped
  )
  return Queue.offer(wanted, true)
})
