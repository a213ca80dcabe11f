import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { CollectionName } from "../model/Collection.ts"
import { shown } from "../model/kinds.ts"
import { GraphEntities, GraphEntity, GraphPath, Relation } from "../model/Graph.ts"
import * as failures from "./failures.ts"
import { Authorization } from "./Middleware.ts"
import { strict } from "./strict.ts"

const EntityName = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(1000)).annotations({
  description: "A name, a title, a symbol; case, accents and punctuation do not count"
})

const wholeNumber = (name: string, min: number, max: number, description: string) =>
  Schema.NumberFromString.pipe(
    Schema.int(),
    Schema.between(min, max),
    Schema.annotations({
      jsonSchema: { type: "integer", minimum: min, maximum: max, description },
      message: ({ actual }) => ({
        message: `${name} must be an integer from ${min} to ${max}, got ${shown(actual)}`,
        override: true
      })
    })
  )

const ListParams = Schema.Struct({
  collection: Schema.optional(CollectionName),
  prefix: Schema.optional(
    Schema.String.pipe(Schema.maxLength(1000)).annotations({
      description: "Only entities whose names begin so; case, accents and punctuation do not count"
    })
  ),
  limit: Schema.optional(wholeNumber("limit", 1, 1000, "Entities on a page; 100 unless given")),
  cursor: Schema.optional(
    Schema.NumberFromString.pipe(
      Schema.int(),
      Schema.between(0, 1_000_000_000),
      Schema.annotations({
        jsonSchema: { type: "string", description: "next_cursor of the page before" },
        message: () => ({ message: "cursor must be the next_cursor of a page before", override: true })
      })
    )
  )
}).annotations(strict)

const EntityParams = Schema.Struct({
  collection: Schema.optional(CollectionName),
  hops: Schema.optional(wholeNumber("hops", 1, 3, "Neighbours at most so many passages away; 1 unless given")),
  kind: Schema.optional(Relation),
  limit: Schema.optional(wholeNumber("limit", 1, 200, "Neighbours at most; 20 unless given"))
}).annotations(strict)

const PathParams = Schema.Struct({
  collection: Schema.optional(CollectionName),
  from: EntityName,
  to: EntityName
}).annotations(strict)

export class GraphGroup extends HttpApiGroup.make("graph")
  .add(
    HttpApiEndpoint.get("listEntities", "/graph/entities")
      .setUrlParams(ListParams)
      .addSuccess(GraphEntities)
      .annotateContext(
        OpenApi.annotations({
          summary: "List entities",
          description: "The names that join at least two documents, a page at a time, by PageRank."
        })
      )
  )
  .add(
    HttpApiEndpoint.get("getEntity")`/graph/entities/${HttpApiSchema.param("name", EntityName)}`
      .setUrlParams(EntityParams)
      .addSuccess(GraphEntity)
      .addError(failures.EntityNotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "Get an entity",
          description: "What the knowledge graph knows of a name: where it stands, and what it leads to."
        })
      )
  )
  .add(
    HttpApiEndpoint.get("getPath", "/graph/path")
      .setUrlParams(PathParams)
      .addSuccess(GraphPath)
      .addError(failures.EntityNotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "Find a way between two entities",
          description: "A shortest way of at most six passages, each with its text; no steps where there is none."
        })
      )
  )
  .addError(failures.InvalidRequest)
  .addError(failures.CollectionNotFound)
  .addError(failures.StoreUnavailable)
  .middleware(Authorization)
  .annotateContext(OpenApi.annotations({ title: "Graph", description: "Ask the knowledge graph." })) {}
