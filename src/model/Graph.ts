import * as Schema from "effect/Schema"

/** A step of the way by which the graph led to a passage. */
export const ViaStep = Schema.Struct({
  entity: Schema.String.annotations({ description: "The name that joins the two passages" }),
  source: Schema.optional(
    Schema.String.annotations({ description: "Source of the passage it was reached from; absent: the query names it" })
  ),
  chunk_index: Schema.optional(Schema.Int.annotations({ description: "That passage's place in its document, from 0" }))
}).annotations({ identifier: "ViaStep", description: "A step of the way by which the graph led to a passage" })
export type ViaStep = typeof ViaStep.Type

/** Whether a search goes on along the knowledge graph. */
export const GraphUse = Schema.Union(Schema.Boolean, Schema.Literal("auto")).annotations({
  identifier: "GraphUse",
  description:
    "Whether passages that the graph joins to the best ones, or to names in the query, take places from the sixth on; auto: where the collection's documents name each other and the query names something in it"
})
export type GraphUse = typeof GraphUse.Type
