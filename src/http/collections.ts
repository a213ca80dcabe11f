import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import { Api } from "../api/Api.ts"
import { CollectionProtected } from "../api/errors.ts"
import { Embedders } from "../Embedders.ts"
import { type CollectionSummary, defaultCollection, type EmbedderIdentity } from "../model/Collection.ts"
import { toCollectionInfo } from "../model/Stats.ts"
import { Store } from "../Store.ts"
import { toDeleteResponse } from "./documents.ts"
import * as metrics from "./metrics.ts"
import { withoutPaths } from "./respond.ts"

/** A model folder is shown by its name only. */
export const named = (embedder: EmbedderIdentity): EmbedderIdentity => ({
  ...embedder,
  model: withoutPaths(embedder.model)
})

const toInfo = (collection: CollectionSummary) =>
  toCollectionInfo({ ...collection, embedder: named(collection.embedder) })

export const layer = HttpApiBuilder.group(Api, "collections", (handlers) =>
  Effect.gen(function* () {
    const store = yield* Store
    const embedders = yield* Embedders

    return handlers
      .handle("listCollections", () => Effect.map(store.collections, (all) => ({ collections: all.map(toInfo) })))
      .handle("createCollection", ({ payload: { name } }) =>
        embedders.configured.identity.pipe(
          Effect.flatMap((identity) => store.createCollection(name, identity)),
          Effect.map((collection) => toInfo({ ...collection, documents: 0, passages: 0 }))
        )
      )
      .handle("dropCollection", ({ path: { name } }) =>
        name === defaultCollection
          ? new CollectionProtected()
          : store.dropCollection(name).pipe(
              Effect.tap(({ documents }) => metrics.deleted(documents)),
              Effect.map(toDeleteResponse)
            )
      )
  })
)
