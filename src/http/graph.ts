import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import { Api } from "../api/Api.ts"
import { orEmpty, untilMade } from "../Collections.ts"
import { EntityNotFound, Graph } from "../Graph.ts"
import { defaultCollection } from "../model/Collection.ts"

export const layer = HttpApiBuilder.group(Api, "graph", (handlers) =>
  Effect.gen(function* () {
    const graph = yield* Graph

    return handlers
      .handle(
        "listEntities",
        ({ urlParams: { collection = defaultCollection, cursor: offset = 0, limit = 100, prefix } }) =>
          orEmpty(collection, { entities: [], complete: true })(graph.entities(collection, { limit, offset, prefix }))
      )
      .handle(
        "getEntity",
        ({ path: { name }, urlParams: { collection = defaultCollection, hops = 1, kind, limit = 20 } }) =>
          untilMade(
            collection,
            () => new EntityNotFound({ name })
          )(graph.entity(collection, name, { hops, limit, kinds: kind === undefined ? undefined : new Set([kind]) }))
      )
      .handle("getPath", ({ urlParams: { collection = defaultCollection, from, to } }) =>
        untilMade(collection, () => new EntityNotFound({ name: from }))(graph.path(collection, from, to))
      )
  })
)
