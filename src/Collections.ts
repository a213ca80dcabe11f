import * as Effect from "effect/Effect"
import { Embedders } from "./Embedders.ts"
import { type Collection, type CollectionName, defaultCollection } from "./model/Collection.ts"
import { spanned } from "./runtime/tracing.ts"
import { type CollectionNotFound, Store } from "./Store.ts"

/**
 * Handles a missing collection: the default one always exists, although its first document creates it, so `instead`
 * gives its result. Any other fails.
 */
export const untilMade =
  <B, E2, R2>(name: CollectionName, instead: () => Effect.Effect<B, E2, R2>) =>
  <A, E, R>(
    effect: Effect.Effect<A, E | CollectionNotFound, R>
  ): Effect.Effect<A | B, E | E2 | CollectionNotFound, R | R2> =>
    name === defaultCollection ? Effect.catchIf(effect, isNotFound, instead) : effect

/** The same with a fixed value for the missing default collection. */
export const orEmpty = <B>(name: CollectionName, empty: B) => untilMade(name, () => Effect.succeed(empty))

const isNotFound = (error: unknown): error is CollectionNotFound =>
  (error as { readonly _tag?: unknown } | null)?._tag === "CollectionNotFound"

/** The collections by name, and the embedder that each records or would be created with. */
export class Collections extends Effect.Service<Collections>()("clew/Collections", {
  effect: Effect.gen(function* () {
    const store = yield* Store
    const embedders = yield* Embedders

    /** The default one first, the others by name. */
    const all = Effect.map(store.collections, (found) => [
      ...found.filter(({ name }) => name === defaultCollection),
      ...found.filter(({ name }) => name !== defaultCollection)
    ])

    /** The named collection, else all: the default one first, the others by name; without the default one until it is made. */
    const among = Effect.fn("Collections.among")((name: CollectionName | undefined) =>
      name === undefined ? all : orEmpty(name, [])(Effect.map(store.collection(name), (found) => [found]))
    )

    /**
     * Creates a collection with the configured embedder. A slow one makes its vectors in the background, as a change of
     * embedder, so that the collection can be searched from the first document on.
     */
    const create = Effect.fn("Collections.create")(function* (name: CollectionName) {
      const { configured } = embedders
      const identity = yield* configured.patient ?? configured.identity
      return embedders.meanwhile === undefined
        ? yield* store.createCollection(name, identity)
        : yield* store.createCollection(name, yield* embedders.meanwhile.identity, identity)
    })

    return {
      create,

      /** The collection, created with the configured embedder if it is new. */
      open: Effect.fn("Collections.open")((name: CollectionName) =>
        Effect.catchTag(store.collection(name), "CollectionNotFound", () =>
          Effect.catchTag(create(name), "CollectionExists", () => store.collection(name))
        )
      ),

      among,

      /** The named collection, else all with passages; if none has any, at most the default one. */
      searched: spanned("Collections.searched")((name: CollectionName | undefined) =>
        name !== undefined
          ? among(name)
          : Effect.map(store.collections, (found) => {
              const full = found.filter(({ passages }) => passages > 0)
              return full.length > 0 ? full : found.filter((collection) => collection.name === defaultCollection)
            })
      ),

      /** The embedder that a collection records, or would be created with. */
      identity: Effect.fn("Collections.identity")((name: CollectionName) =>
        store.collection(name).pipe(
          Effect.map(({ embedder }) => embedder),
          Effect.catchTag("CollectionNotFound", () => embedders.configured.identity)
        )
      ),

      /** The languages that the model of a collection serves, where its folder tells; undefined too if it cannot be opened. */
      languages: (collection: Collection | undefined): Effect.Effect<ReadonlyArray<string> | undefined> =>
        collection?.embedder.backend === "onnx"
          ? embedders.forCollection(collection, "urgent").pipe(
              Effect.flatMap(({ languages }) => languages ?? Effect.succeed(undefined)),
              Effect.orElseSucceed(() => undefined)
            )
          : Effect.succeed(undefined),

      /** The embedder of a collection: the recorded one, or the one that it would be created with. */
      embedder: Effect.fn("Collections.embedder")((name: CollectionName, patience?: "patient" | "urgent") =>
        store.collection(name).pipe(
          Effect.flatMap((found) => embedders.forCollection(found, patience)),
          untilMade(name, () => Effect.succeed(embedders.configured))
        )
      )
    }
  })
}) {}
