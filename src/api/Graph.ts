import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import { flow } from "effect/Function"
import * as Schema from "effect/Schema"
import { CollectionName } from "../model/Collection.ts"
import { flag, NumberText } from "../model/fields.ts"
import { mustHaveLength } from "../model/kinds.ts"
import { GraphBuilt, GraphEntities, GraphEntity, GraphPath, Relation } from "../model/Graph.ts"
import {
  about,
  Authorization,
  bodyOptional,
  ofBodies,
  respondAsync,
  segment,
  someText,
  strict,
  wholeNumber,
  Writing
} from "./endpoint.ts"
import * as failures from "./failures.ts"

const aName = "A name, a title, a symbol; case, accents and punctuation are ignored"
const entityName = (field: string) => someText(field, 1000, aName)
const entity = HttpApiSchema.param("name", segment(entityName("name"), 1000, aName))

export const EntitiesParams = Schema.Struct({
  collection: Schema.optional(CollectionName),
  prefix: Schema.optional(
    Schema.String.pipe(Schema.maxLength(1000)).annotations({
      description: "Only entities whose names begin with this; case, accents and punctuation are ignored",
      message: mustHaveLength("prefix", 1000)
    })
  ),
  limit: Schema.optional(wholeNumber("limit", 1, 1000, "Entities per page; default 100")),
  cursor: Schema.optional(
    NumberText.pipe(
      Schema.int(),
      Schema.between(0, 1_000_000_000),
      Schema.annotations({
        jsonSchema: { type: "string", description: "next_cursor of the previous page" },
        message: () => ({ message: "cursor must be the next_cursor of a previous page", override: true })
      })
    )
  )
}).annotations(strict)

export const EntityParams = Schema.Struct({
  collection: Schema.optional(CollectionName),
  hops: Schema.optional(wholeNumber("hops", 1, 3, "Most steps to a neighbour, each through one passage; default 1")),
  kind: Schema.optional(Relation),
  limit: Schema.optional(wholeNumber("limit", 1, 200, "Most neighbours; default 20"))
}).annotations(strict)

const PathParams = Schema.Struct({
  collection: Schema.optional(CollectionName),
  from: entityName("from"),
  to: entityName("to")
}).annotations(strict)

export const GraphBuildRequest = Schema.Struct({
  collection: Schema.optional(CollectionName),
  llm: Schema.optional(flag("Let the language model read every passage for more names and relations; default false")),
  model: Schema.optional(
    Schema.NonEmptyString.pipe(Schema.maxLength(200)).annotations({
      description: "With llm: the model that reads, instead of the configured one",
      message: mustHaveLength("model", 200)
    })
  )
}).annotations({
  ...strict,
  identifier: "GraphBuildRequest",
  title: "Build the graph",
  description: "What to build; an empty body will do",
  examples: [{ collection: CollectionName.make("papers") }]
})

export class GraphGroup extends HttpApiGroup.make("graph")
  .add(
    HttpApiEndpoint.get("listEntities", "/graph/entities")
      .setUrlParams(EntitiesParams)
      .addSuccess(GraphEntities)
      .annotateContext(about("List entities", "The names that join at least two documents, page by page, by PageRank."))
  )
  .add(
    HttpApiEndpoint.get("getEntity")`/graph/entities/${entity}`
      .setUrlParams(EntityParams)
      .addSuccess(GraphEntity)
      .addError(failures.EntityNotFound)
      .annotateContext(
        about("Get an entity", "What the knowledge graph knows about a name: where it occurs, and its neighbours.")
      )
  )
  .add(
    HttpApiEndpoint.get("getPath", "/graph/path")
      .setUrlParams(PathParams)
      .addSuccess(GraphPath)
      .addError(failures.EntityNotFound)
      .annotateContext(
        about(
          "Find a path between two entities",
          "A shortest path of at most six passages, each with its text; no steps if there is none."
        )
      )
  )
  .add(
    HttpApiEndpoint.post("buildGraph", "/graph/build")
      .setPayload(GraphBuildRequest)
      .addSuccess(GraphBuilt)
      .addError(ofBodies)
      .addError(failures.LlmUnavailable)
      .addError(failures.JobsBusy)
      .middleware(Writing)
      .annotateContext(
        about(
          "Build the graph",
          "Adds documents that were indexed without the graph, or relations that a language model reads, as clew graph build does. What was interrupted goes on where it was.",
          { transform: flow(bodyOptional, respondAsync) }
        )
      )
  )
  .addError(failures.InvalidRequest)
  .addError(failures.CollectionNotFound)
  .addError(failures.StoreUnavailable)
  .middlewareEndpoints(Authorization)
  .annotateContext(OpenApi.annotations({ title: "Graph", description: "Query the knowledge graph." })) {}
