import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import type { EventEmitter } from "node:events"

/** Requests under way, by what the log calls them. */
const underWay = new Map<object, string>()

/** At most so many are named. */
const most = 10

/** Keeps a request's name for as long as it is under way. */
export const named = <A, E, R>(name: string, request: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const key = {}
    return Effect.acquireUseRelease(
      Effect.sync(() => underWay.set(key, name)),
      () => request,
      () => Effect.sync(() => underWay.delete(key))
    )
  })

const suspects = (): string => {
  const names = [...underWay.values()]
  const more = names.length > most ? ` and ${names.length - most} more` : ""
  return names.length === 0 ? "no request was under way" : `under way: ${names.slice(0, most).join(", ")}${more}`
}

/**
 * Logs errors and rejections that nothing handles, with the requests under way, and lets the process go on: one broken
 * connection must not end what serves all others.
 */
export const logUnhandled = (emitter: EventEmitter = process): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = Runtime.runFork(yield* Effect.runtime<never>())
    const log = (error: unknown) => {
      const said = error instanceof Error ? (error.stack ?? error.message) : String(error)
      run(Effect.logError(`Unhandled (${suspects()}): ${said}`))
    }
    const events = ["uncaughtException", "unhandledRejection"]
    yield* Effect.acquireRelease(
      Effect.sync(() => events.forEach((event) => emitter.on(event, log))),
      () => Effect.sync(() => events.forEach((event) => emitter.off(event, log)))
    )
  })
