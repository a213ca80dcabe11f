import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import { flow } from "effect/Function"
import * as Schema from "effect/Schema"
import { CollectionName } from "../model/Collection.ts"
import { flag, int, list } from "../model/fields.ts"
import { CollectionInfo, Embedding } from "../model/Stats.ts"
import { DeleteResponse } from "./Documents.ts"
import {
  about,
  Authorization,
  bodyOptional,
  Needs,
  ofBodies,
  respondAsync,
  StatsAuthorization,
  strict,
  Writing
} from "./endpoint.ts"
import * as failures from "./failures.ts"

const Created = Schema.Struct(CollectionInfo.fields).annotations({
  ...HttpApiSchema.annotations({ status: 201 }),
  identifier: "CreatedCollection",
  description: "The created collection"
})

export const CollectionsResponse = Schema.Struct({
  collections: list(CollectionInfo, "By name")
}).annotations({ identifier: "CollectionsResponse", description: "All collections" })

const CreateCollection = Schema.Struct({ name: CollectionName }).annotations({
  ...strict,
  identifier: "CreateCollection",
  title: "Create a collection",
  description: "The collection to create",
  examples: [{ name: CollectionName.make("papers") }]
})

export const ReindexRequest = Schema.Struct({
  force: Schema.optional(flag("Embed everything again even if the embedder is the same; default false"))
}).annotations({
  ...strict,
  identifier: "ReindexRequest",
  title: "Change the embedder",
  description: "How; an empty body will do"
})

export const ReindexResponse = Schema.Struct({
  collection: CollectionName,
  from: Embedding.annotations({ description: "The embedder that the collection had" }),
  to: Embedding.annotations({ description: "The embedder that it has" }),
  changed: flag("False if the collection already had that embedder"),
  chunks: int("Passages that have a vector of it now"),
  reindex_time_ms: int("The duration of the change")
}).annotations({ identifier: "ReindexResponse", description: "What became of a change of embedder" })
export type ReindexResponse = typeof ReindexResponse.Type

const name = HttpApiSchema.param("name", CollectionName)

export class CollectionsGroup extends HttpApiGroup.make("collections")
  .add(
    HttpApiEndpoint.get("listCollections", "/collections")
      .addSuccess(CollectionsResponse)
      .middleware(StatsAuthorization)
      .annotateContext(about("List collections", "Every collection with its size and its embedder."))
  )
  .add(
    HttpApiEndpoint.post("createCollection", "/collections")
      .setPayload(CreateCollection)
      .addSuccess(Created)
      .addError(ofBodies)
      .addError(failures.CollectionExists)
      .addError(failures.EmbedderUnavailable)
      .middleware(Writing)
      .middleware(Authorization)
      .annotateContext(
        about("Create a collection", "Creates an empty collection with the configured embedder, which it keeps.")
      )
  )
  .add(
    HttpApiEndpoint.del("dropCollection")`/collections/${name}`
      .addSuccess(DeleteResponse)
      .addError(failures.InvalidRequest)
      .addError(failures.CollectionNotFound)
      .addError(failures.CollectionProtected)
      .annotate(Needs, { right: "admin" })
      .middleware(Writing)
      .middleware(Authorization)
      .annotateContext(
        about(
          "Drop a collection",
          "Deletes a collection with all its documents. The default collection cannot be dropped, only emptied."
        )
      )
  )
  .add(
    HttpApiEndpoint.post("reindex")`/collections/${name}/reindex`
      .setPayload(ReindexRequest)
      .addSuccess(ReindexResponse)
      .addError(ofBodies)
      .addError(failures.CollectionNotFound)
      .addError(failures.EmbedderMismatch)
      .addError(failures.EmbedderUnavailable)
      .addError(failures.ReindexTakenOver)
      .addError(failures.JobsBusy)
      .annotate(Needs, { right: "admin" })
      .middleware(Writing)
      .middleware(Authorization)
      .annotateContext(
        about(
          "Change a collection's embedder",
          "Switches a collection to the configured embedder, as clew reindex does: searches use the old vectors until all new ones are there. A change that was interrupted goes on where it was.",
          { transform: flow(bodyOptional, respondAsync) }
        )
      )
  )
  .addError(failures.StoreUnavailable)
  .annotateContext(OpenApi.annotations({ title: "Collections", description: "Named sets of documents." })) {}
