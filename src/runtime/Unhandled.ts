import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import type { EventEmitter } from "node:events"

/** Current requests, by their names in the log. */
const underWay = new Map<object, string>()

/** Most requests named. */
const most = 10

/** Records a request's name until the returned function is called. */
export const name = (request: string): (() => void) => {
  const key = {}
  underWay.set(key, request)
  return () => underWay.delete(key)
}

/** Records a request's name while it runs. */
export const named = <A, E, R>(what: string, request: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => name(what)),
    () => request,
    (forget) => Effect.sync(forget)
  )

const suspects = (): string => {
  const names = [...underWay.values()]
  const more = names.length > most ? ` and ${names.length - most} more` : ""
  return names.length === 0 ? "no request was under way" : `under way: ${names.slice(0, most).join(", ")}${more}`
}

/**
 * Logs unhandled errors and rejections with the current requests, and keeps the process running: one broken connection
 * must not end the others.
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
