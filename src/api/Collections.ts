import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { CollectionName } from "../model/Collection.ts"
import { list } from "../model/fields.ts"
import { CollectionInfo } from "../model/Stats.ts"
import { DeleteResponse } from "./Documents.ts"
import { about, ofBodies, strict, Authorization, StatsAuthorization, Writing } from "./endpoint.ts"
import * as failures from "./failures.ts"

const Created = Schema.Struct(CollectionInfo.fields).annotations({
  ...HttpApiSchema.annotations({ status: 201 }),
  identifier: "CreatedCollection",
  description: "The created collection"
})

export const CollectionsResponse = Schema.Struct({
  collections: list(CollectionInfo, "By name")
}).annotations({ identifier: "CollectionsResponse", description: "All collections" })

export const CreateCollection = Schema.Struct({ name: CollectionName }).annotations({
  ...strict,
  identifier: "CreateCollection",
  title: "Create a collection",
  description: "The collection to create",
  examples: [{ name: CollectionName.make("papers") }]
})

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
      .middleware(Writing)
      .middleware(Authorization)
      .annotateContext(
        about(
          "Drop a collection",
          "Deletes a collection with all its documents. The default collection cannot be dropped, only emptied."
        )
      )
  )
  .addError(failures.StoreUnavailable)
  .annotateContext(OpenApi.annotations({ title: "Collections", description: "Named sets of documents." })) {}
