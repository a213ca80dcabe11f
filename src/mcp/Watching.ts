import * as Arr from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { type Caller, current, workingFor } from "../Caller.ts"
import type { CollectionName } from "../model/Collection.ts"
import type { DocumentId } from "../model/Document.ts"
import { Store } from "../Store.ts"
import { refuse } from "./RpcError.ts"
import type { Needs } from "./Tool.ts"

/** Provides the engine to an effect; if the effect writes nothing, opening the index writes nothing either. */
export type Use = <A, E>(effect: Effect.Effect<A, E, Needs>, writes?: boolean) => Effect.Effect<A, unknown>

/** A resource that can change: a document, or without one the statistics. */
export interface Watched {
  readonly uri: string
  readonly document?: { readonly collection: CollectionName; readonly docId: DocumentId } | undefined
}

/** Resources that one client watches at most. */
const limit = 100

/** How often to look, while anything is watched: other processes write without a word. */
const pace = Duration.seconds(1)

/** What tells a resource's states apart, of each in order. */
const states = Effect.fnUntraced(function* (watched: ReadonlyArray<Watched>) {
  const store = yield* Store
  const documents = watched.flatMap(({ document }) => document ?? [])
  const found = new Map<string, string>()
  for (const of of Object.values(Arr.groupBy(documents, ({ collection }) => collection))) {
    const [{ collection }] = of
    const docIds = [...new Set(of.map(({ docId }) => docId))]
    const refs = yield* store
      .lookup(
        collection,
        docIds.map((docId) => ({ docId, derivedId: docId }))
      )
      .pipe(Effect.catchTag("CollectionNotFound", () => Effect.succeed([])))
    for (const ref of refs) if (Option.isSome(ref)) found.set(`${collection}/${ref.value.docId}`, ref.value.fingerprint)
  }
  const needsStats = watched.some(({ document }) => document === undefined)
  const stats = needsStats ? JSON.stringify(yield* store.collections) : ""
  return watched.map(({ document }) =>
    document === undefined ? stats : (found.get(`${document.collection}/${document.docId}`) ?? "")
  )
})

interface Entry extends Watched {
  state: string
  /** One of those who watch it, all of whom see the same collections. */
  readonly caller: Caller
  readonly watchers: Set<{ readonly changed: (uri: string) => void }>
}

/** The collections that a caller sees. */
const seenBy = ({ collections }: Caller): string => (collections === undefined ? "" : [...collections].sort().join(" "))

/** Tells who watches a resource that it has changed in the index, whoever changed it. */
export const makeWatching = (use: Use) =>
  Effect.gen(function* () {
    const entries = new Map<string, Entry>()
    const polling = yield* FiberHandle.make<void, unknown>()

    const look = Effect.gen(function* () {
      for (const all of Object.values(Arr.groupBy(entries.values(), ({ caller }) => seenBy(caller)))) {
        const now = yield* workingFor(all[0].caller)(use(states(all)))
        all.forEach((entry, at) => {
          if (entry.state === now[at]) return
          entry.state = now[at]!
          // One that listens for several clients hears of it once.
          for (const changed of new Set([...entry.watchers].map(({ changed }) => changed))) changed(entry.uri)
        })
      }
      // While the index cannot be read, nothing is known to have changed.
    }).pipe(Effect.catchAll((error) => Effect.logDebug(`Watched documents cannot be checked: ${String(error)}`)))

    const poll = Effect.repeat(
      Effect.delay(look, pace),
      Schedule.recurWhile(() => entries.size > 0)
    )

    /** Watches resources as they are now, until what it returns is called. */
    const watch = (watched: ReadonlyArray<Watched>, changed: (uri: string) => void) =>
      Effect.gen(function* () {
        const watcher = { changed }
        const caller = yield* FiberRef.get(current)
        const keyOf = (uri: string) => `${seenBy(caller)}\n${uri}`
        const now = yield* use(states(watched))
        watched.forEach((one, at) => {
          const entry = entries.get(keyOf(one.uri)) ?? { ...one, caller, state: now[at]!, watchers: new Set() }
          entry.watchers.add(watcher)
          entries.set(keyOf(one.uri), entry)
        })
        if (entries.size > 0) yield* FiberHandle.run(polling, poll, { onlyIfMissing: true })
        return () => {
          for (const { uri } of watched) {
            const entry = entries.get(keyOf(uri))
            entry?.watchers.delete(watcher)
            if (entry?.watchers.size === 0) entries.delete(keyOf(uri))
          }
        }
      })

    return { watch }
  })
export type Watching = Effect.Effect.Success<ReturnType<typeof makeWatching>>

/** The fault of a client that would watch too much. */
export const checkCount = (path: string, count: number) =>
  count > limit
    ? refuse(path, `${path}: at most ${limit} resources may be watched, got ${count}; end what is no longer needed`)
    : undefined
