import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import { Api } from "../api/Api.ts"
import type { Check } from "../api/System.ts"
import { current, owner, workingFor } from "../Caller.ts"
import { Collections, orEmpty, untilMade } from "../Collections.ts"
import { Embedders } from "../Embedders.ts"
import { Watcher } from "../files/Watcher.ts"
import { Graph } from "../Graph.ts"
import { CollectionName, type CollectionSummary, defaultCollection } from "../model/Collection.ts"
import { toEmbedding, toStats } from "../model/Stats.ts"
import { Reranker } from "../Reranker.ts"
import { replaced } from "../runtime/installation.ts"
import { Store } from "../Store.ts"
import { version } from "../version.ts"
import { Access } from "./Access.ts"
import { withoutFolder, withoutFolders } from "./documents.ts"
import { gauge, processSamples, prometheus, type Sample, watchSamples } from "./metrics.ts"
import { withoutInside } from "./respond.ts"

const patience = Duration.seconds(2)

/** The state of a part; a part that takes too long has failed. */
const check = <A, R>(part: Effect.Effect<A, { readonly message: string }, R>): Effect.Effect<Check, never, R> =>
  part.pipe(
    Effect.disconnect,
    Effect.timeoutFail({
      duration: patience,
      onTimeout: () => ({ message: `no answer within ${Duration.toSeconds(patience)} s` })
    }),
    Effect.match({
      onSuccess: (): Check => ({ status: "ok" }),
      onFailure: ({ message }): Check => ({ status: "failed", reason: withoutInside(message) })
    })
  )

/** How the index and what it needs are. */
export const makeState = Effect.gen(function* () {
  const store = yield* Store
  const collections = yield* Collections
  const embedders = yield* Embedders
  const graph = yield* Graph
  const watcher = yield* Watcher
  const reranker = yield* Effect.serviceOption(Reranker)
  const { readOnly } = yield* Access

  // The default collection's embedder is fixed with its first document.
  const identity = (name: CollectionName) =>
    Effect.map(store.collection(name), ({ embedder }) => embedder).pipe(
      untilMade(name, () => embedders.configured.identity)
    )

  const statsOf = (name: CollectionName | undefined) =>
    name === undefined
      ? store.stats()
      : untilMade(name, () => Effect.map(store.stats(), (all) => ({ ...all, documents: 0, passages: 0 })))(
          store.stats(name)
        )

  /** Of an index that is silent, or not available, nobody knows what it records, so the configured one is asked. */
  const embedder = store.collection(defaultCollection).pipe(
    Effect.disconnect,
    Effect.timeoutOption(Duration.unsafeDivide(patience, 2)),
    Effect.catchTag("StoreUnavailable", () => Effect.succeed(Option.none<CollectionSummary>())),
    Effect.flatMap(
      Option.match({
        onNone: () => Effect.succeed(embedders.configured),
        onSome: (found) => embedders.forCollection(found, "urgent")
      })
    ),
    untilMade(defaultCollection, () => Effect.succeed(embedders.configured)),
    Effect.flatMap(({ identity, urgent }) => urgent?.check ?? identity)
  )

  /** Uses the threads that answer queries, as queries do. */
  const readable = orEmpty(defaultCollection, [])(store.lookup(defaultCollection, []))

  /** It will not be for long without Clew's files, even if it still is. */
  const intact = Effect.suspend(() => {
    const message = replaced()
    return message === undefined ? readable : Effect.fail({ message })
  })

  /** Open to everyone, so checked at most once a second; it continues when the first caller goes away. */
  const asking = yield* Effect.cachedWithTTL(
    Effect.forkDaemon(
      Effect.interruptible(
        Effect.all(
          {
            about: Effect.option(Effect.timeout(Effect.disconnect(store.about()), patience)),
            store: check(intact),
            embedder: check(embedder),
            ...(Option.isSome(reranker) ? { reranker: check(reranker.value.rerank("ready?", ["ready"])) } : {})
          },
          { concurrency: "unbounded" }
        ).pipe(workingFor(owner))
      )
    ),
    "1 second"
  )

  return {
    // A caller interrupted while it waits for the cache would cancel it for all.
    checks: Effect.flatMap(Effect.uninterruptible(asking), Fiber.join),

    stats: Effect.fnUntraced(function* (collection: CollectionName | undefined) {
      const stats = yield* statsOf(collection)
      // Who may not see the default collection is told of the configured embedder.
      const shownOne = collection ?? (yield* mainOf)
      const one = yield* untilMade(shownOne, () => Effect.succeed(undefined))(store.collection(shownOne))
      const languages = yield* collections.languages(one)
      const figures = {
        store: yield* store.about(),
        ...(yield* graph.linkageIn(shownOne)),
        languages,
        embedding: toEmbedding(withoutFolder(yield* identity(shownOne))),
        read_only: readOnly,
        version,
        uptime_seconds: Math.floor(process.uptime()),
        watch: Option.getOrUndefined(yield* watcher.status)
      }
      return toStats(stats, yield* store.sizes(), figures, one && withoutFolders(one))
    })
  }
})

/** The collection that figures of the whole index tell of: the default one, or the first that the caller may use. */
const mainOf = Effect.map(FiberRef.get(current), ({ collections }) =>
  collections === undefined || collections.has(defaultCollection)
    ? defaultCollection
    : CollectionName.make([...collections][0]!)
)

export const layer = HttpApiBuilder.group(Api, "system", (handlers) =>
  Effect.gen(function* () {
    const store = yield* Store
    const watcher = yield* Watcher
    const { checks, stats } = yield* makeState
    const processFigures = yield* processSamples

    const stored = Effect.match(store.stats(), {
      onFailure: (): ReadonlyArray<Sample> => [],
      onSuccess: ({ collections, databaseBytes, documents, engines, passages }): ReadonlyArray<Sample> => [
        gauge("clew_documents", "Documents in the index", documents),
        gauge("clew_passages", "Passages in the index", passages),
        gauge("clew_collections", "Collections in the index", collections),
        gauge("clew_database_bytes", "Size of the database", databaseBytes),
        ...engines.map(({ name, value, what }) => gauge(`clew_${name}`, what, value))
      ]
    })

    const watched = Effect.map(
      watcher.status,
      Option.match({ onNone: (): ReadonlyArray<Sample> => [], onSome: watchSamples })
    )

    return handlers
      .handle("health", () => Effect.succeed({ status: "ok" as const, version }))
      .handle("ready", () =>
        Effect.map(checks, ({ about, ...checks }) => {
          // Without the reranker searches go on as they are ranked.
          const ready = [checks.store, checks.embedder].every(({ status }) => status === "ok")
          const status = ready ? ("ready" as const) : ("unavailable" as const)
          return { status, checks, store: Option.getOrUndefined(about) }
        })
      )
      .handle("stats", ({ urlParams: { collection } }) => stats(collection))
      .handle("metrics", () =>
        Effect.flatMap(Effect.all([stored, watched, processFigures]), (samples) => prometheus(samples.flat()))
      )
  })
)
