import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import { Api } from "../api/Api.ts"
import { EntityNotFound, Graph } from "../Graph.ts"
import { type CollectionName, defaultCollection } from "../model/Collection.ts"
import type { CollectionNotFound } from "../Store.ts"

/** The default collection always exists, though it is made with its first document. */
const orUnknown = <A, E, R>(
  effect: Effect.Effect<A, E | CollectionNotFound, R>,
  collection: CollectionName,
  name: string
): Effect.Effect<A, E | CollectionNotFound | EntityNotFound, R> =>
  collection === defaultCollection
    ? Effect.catchIf(
        effect,
        (error): error is E & CollectionNotFound =>
          (error as { readonly _tag?: unknown })._tag === "CollectionNotFound",
        () => new EntityNotFound({ name })
      )
    : effect

export const layer = HttpApiBuilder.group(Api, "graph", (handlers) =>
  Effect.gen(function* () {
    const graph = yield* Graph

    return handlers
      .handle(
        "listEntities",
        ({ urlParams: { collection = defaultCollection, cursor: offset = 0, limit = 100, prefix } }) => {
          const found = graph.entities(collection, { limit, offset, prefix })
          return collection === defaultCollection
            ? Effect.catchTag(found, "CollectionNotFound", () => Effect.succeed({ entities: [], complete: true }))
            : found
        }
      )
      .handle(
        "getEntity",
        ({ path: { name }, urlParams: { collection = defaultCollection, hops = 1, kind, limit = 20 } }) =>
          orUnknown(
            graph.entity(collection, name, { hops, limit, kinds: kind === undefined ? undefined : new Set([kind]) }),
            collection,
            name
          )
      )
      .handle("getPath", ({ urlParams: { collection = defaultCollection, from, to } }) =>
        orUnknown(graph.path(collection, from, to), collection, from)
      )
  })
)
