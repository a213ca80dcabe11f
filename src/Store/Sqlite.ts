import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { StoreUnavailable, type Stores, type Whole, ports } from "../Store.ts"
import { forwarding } from "./core/calls.ts"
import { make } from "./sql/store.ts"
import { open } from "./sqlite/Database.ts"
import { type DatabaseOptions, memory } from "./sqlite/connect.ts"
import { isSettled, stated } from "./sqlite/file/inspect.ts"
import { holding } from "../runtime/afterwards.ts"
import { type Place, hasMoved, isSamePlace } from "./sqlite/file/place.ts"

export type { DatabaseOptions }
export { isSettled }

const opened = (options: DatabaseOptions) =>
  Effect.flatMap(open(options), ({ database, place }) => Effect.map(make(database), (store) => ({ place, store })))

/** The whole index in one SQLite file. If another file replaces it, the next call opens that one. */
export const layer = (options: DatabaseOptions): Layer.Layer<Stores, StoreUnavailable> =>
  Layer.scopedContext(
    Effect.map(
      options.filename === memory ? Effect.map(opened(options), ({ store }) => store) : reopening(options, opened),
      ports
    )
  )

/** An index in memory, gone when the process ends. */
export const layerMemory: Layer.Layer<Stores, StoreUnavailable> = layer({ filename: memory, mode: "create" })

interface OpenedStore {
  readonly store: Whole
  readonly place: Place
  readonly scope: Scope.CloseableScope
  /** Calls in progress; a replaced store is closed after the last. */
  calls: number
  replaced: boolean
}

/**
 * A store that follows its path: before each call it checks that the file there is still the open one, and opens the
 * file that has replaced it. If there is none, calls fail until there is one.
 */
export const reopening = (
  options: DatabaseOptions,
  open: (
    options: DatabaseOptions
  ) => Effect.Effect<{ readonly store: Whole; readonly place: Place | undefined }, StoreUnavailable, Scope.Scope>
): Effect.Effect<Whole, StoreUnavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const { filename } = options
    const whole = yield* Effect.scope
    const turns = yield* Effect.makeSemaphore(1)

    const begin = (mode: DatabaseOptions["mode"]): Effect.Effect<OpenedStore, StoreUnavailable> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const scope = yield* Scope.fork(whole, { _tag: "Sequential" })
          const opening = Effect.gen(function* () {
            const { place, store } = yield* open({ ...options, mode })
            if (place === undefined || (yield* stated(filename)) === undefined) {
              return yield* new StoreUnavailable({
                reason: `The index ${filename} was removed while it was being opened`
              })
            }
            return { store, place, scope, calls: 0, replaced: false }
          }).pipe(Scope.extend(scope))
          return yield* Effect.onError(restore(opening), (cause) => Scope.close(scope, Exit.failCause(cause)))
        })
      )

    let current = yield* begin(options.mode)

    const close = (opened: OpenedStore) =>
      opened.replaced && opened.calls === 0 ? Scope.close(opened.scope, Exit.void) : undefined

    const follow = turns.withPermits(1)(
      Effect.gen(function* () {
        const now = yield* stated(filename)
        if (now !== undefined && isSamePlace(now, current.place)) return
        if (now === undefined) {
          return yield* new StoreUnavailable({
            reason: `The index ${filename} was removed while it was open; restore it, or restart to create a new one`
          })
        }
        const before = current
        current = yield* begin(options.mode === "create" ? "existing" : options.mode)
        before.replaced = true
        yield* close(before) ?? Effect.void
        if (options.inThread !== true) {
          yield* Effect.logWarning(`The index ${filename} was replaced; the new one is now open`)
        }
      })
    )

    const using = <A, E>(use: (store: Whole) => Effect.Effect<A, E>): Effect.Effect<A, E | StoreUnavailable> =>
      Effect.suspend(() => {
        const used = holding(
          () => {
            current.calls++
            return current
          },
          ({ store }) => use(store),
          (opened) => {
            opened.calls--
            return close(opened)
          }
        )
        return hasMoved(filename, current.place) ? Effect.zipRight(follow, used) : used
      })

    return forwarding(current.store, (_, call) => using(call))
  })
