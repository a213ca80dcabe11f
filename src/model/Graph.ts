import * as Schema from "effect/Schema"
import type { DocumentId } from "./Document.ts"

/** What a passage has to do with an entity; see `docs/graph.md`. */
export const Relation = Schema.Literal("defines", "heads", "links", "imports", "mentions").annotations({
  identifier: "Relation",
  description: "What a passage has to do with an entity"
})
export type Relation = typeof Relation.Type

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

/** A relation that a passage has to an entity, with the words that say so. */
export interface GraphMention {
  /** The hash of the entity's key. */
  readonly entity: number
  readonly relation: Relation
  /** As the passage, its heading or its document's title has it. */
  readonly name: string
  /** The line on which it stands, from 1; the passage's first where no text of its own says it. */
  readonly line: number
}

/** What a language model says that a passage says: names as the passage has them, or its document's title. */
export interface SaidRelation {
  readonly subject: string
  readonly relation: string
  readonly object: string
}

export interface Said {
  readonly entities: ReadonlyArray<string>
  readonly relations: ReadonlyArray<SaidRelation>
}

/** A passage that a language model is to be asked about. */
export interface UnaskedPassage {
  readonly id: number
  readonly heading: ReadonlyArray<string>
  readonly text: string
  readonly title: string | undefined
}

/** A step through a collection in search of passages that a model was not asked about. */
export interface GraphUnasked {
  /** Passages that the step looked at; 0: there are no more. */
  readonly seen: number
  /** The last of them, to go on after. */
  readonly through: number
  /** Those that got what the model had said of the same words. */
  readonly taken: number
  readonly passages: ReadonlyArray<UnaskedPassage>
}

/** A passage in the graph. `id` is its row's, rising in the order of storing. */
export interface GraphPassage {
  readonly id: number
  readonly docId: DocumentId
  readonly source: string
  readonly title: string | undefined
  readonly ordinal: number
  readonly startLine: number
  /** Where in a file that is no text it stands, as follows the file's name. */
  readonly locator?: string | undefined
  readonly text: string
  readonly mentions: ReadonlyArray<GraphMention>
  /** What a language model says that it says. */
  readonly said: ReadonlyArray<SaidRelation>
}

/** How far the making of a graph has come. */
export interface GraphStep {
  /** Passages that this step brought in. */
  readonly added: number
  /** Passages that it looked at; 0: there are no more. */
  readonly seen: number
  /** The last of them, to go on after. */
  readonly through: number
}

const locator = Schema.optional(
  Schema.String.annotations({ description: "Page, slide or the like of that passage, as in #page=3" })
)
const says = Schema.optional(
  Schema.String.annotations({ description: "What a language model read there about the two, where one was asked" })
)

/** What follows a source: the place in a file that is no text, else the line. */
export const placeOf = ({ line, locator }: { readonly line: number; readonly locator?: string | undefined }): string =>
  locator ?? `:${line}`

/** A passage that has to do with an entity: where it stands, and the words that say so. */
export const EntityMention = Schema.Struct({
  source: Schema.String.annotations({ description: "Source of the document, else its doc_id" }),
  doc_id: Schema.String.annotations({ description: "The document's id in its collection" }),
  chunk_index: Schema.Int.annotations({ description: "The passage's place in its document, from 0" }),
  start_line: Schema.Int.annotations({ description: "Line on which the passage begins, from 1" }),
  line: Schema.Int.annotations({ description: "Line on which the name stands, from 1" }),
  locator,
  relation: Relation,
  name: Schema.String.annotations({ description: "The name as this passage has it" })
}).annotations({ identifier: "EntityMention", description: "A passage that has to do with an entity" })

export const Neighbour = Schema.Struct({
  name: Schema.String.annotations({ description: "The name as that passage has it" }),
  documents: Schema.Int.annotations({ description: "Documents that have to do with it, counted up to 129 places" }),
  hops: Schema.Int.annotations({ description: "Steps from the entity asked for" }),
  relation: Relation.annotations({ description: "What the passage that joins the two has to do with it" }),
  source: Schema.String.annotations({ description: "Source of that passage" }),
  start_line: Schema.Int.annotations({ description: "Line on which that passage begins, from 1" }),
  line: Schema.Int.annotations({ description: "Line on which the name stands there, from 1" }),
  locator,
  says
}).annotations({ identifier: "Neighbour", description: "An entity that a passage joins to another" })

export const GraphEntity = Schema.Struct({
  name: Schema.String.annotations({ description: "Its name, as the passage that defines it has it, if one does" }),
  description: Schema.optional(
    Schema.String.annotations({ description: "How the document of that title begins, where there is one" })
  ),
  documents: Schema.Int.annotations({ description: "Documents that have to do with it, counted up to 129 places" }),
  mentions: Schema.Array(EntityMention).annotations({ description: "Defining ones first" }),
  neighbours: Schema.Array(Neighbour).annotations({ description: "Nearest and rarest first" })
}).annotations({ identifier: "GraphEntity", description: "What the graph knows of an entity" })
export type GraphEntity = typeof GraphEntity.Type

export const PathStep = Schema.Struct({
  from: Schema.String.annotations({ description: "The entity that the step starts from" }),
  to: Schema.String.annotations({ description: "The entity that it leads to" }),
  source: Schema.String.annotations({ description: "Source of the passage that has to do with both" }),
  start_line: Schema.Int.annotations({ description: "Line on which that passage begins, from 1" }),
  line: Schema.Int.annotations({ description: "Line on which the name that it leads to stands, from 1" }),
  locator,
  chunk_index: Schema.Int.annotations({ description: "That passage's place in its document, from 0" }),
  says,
  text: Schema.String.annotations({ description: "That passage's text" })
}).annotations({ identifier: "PathStep", description: "A step between two entities, with the passage that joins them" })

export const GraphPath = Schema.Struct({
  steps: Schema.Array(PathStep).annotations({ description: "None where no way was found" })
}).annotations({ identifier: "GraphPath", description: "A shortest way between two entities" })
export type GraphPath = typeof GraphPath.Type

export const RankedEntity = Schema.Struct({
  name: Schema.String.annotations({ description: "Its name, as the passage that defines it has it, if one does" }),
  documents: Schema.Int.annotations({ description: "Documents that have to do with it" }),
  rank: Schema.Finite.annotations({ description: "PageRank; of all entities and documents together it is 1" })
}).annotations({ identifier: "RankedEntity", description: "An entity by how much leads to it" })
export type RankedEntity = typeof RankedEntity.Type

export const GraphEntities = Schema.Struct({
  entities: Schema.Array(RankedEntity).annotations({ description: "By PageRank, highest first, then by name" }),
  complete: Schema.Boolean.annotations({
    description: "False: the collection is so large that only its first 20,000 passages are ranked"
  }),
  next_cursor: Schema.optional(
    Schema.String.annotations({ description: "There is more: the next page's cursor, which means nothing else" })
  )
}).annotations({ identifier: "GraphEntities", description: "A page of the entities that join documents" })
export type GraphEntities = typeof GraphEntities.Type

/** A passage that has to do with an entity, and the document it is of. */
export interface Place {
  /** Its place in `relations`; 0 defines. */
  readonly relation: number
  readonly passage: number
  readonly document: number
}

/** An entity's places, as far as they are read: the defining ones first, never more than `mostPlaces` and one. */
export interface Entity {
  readonly places: ReadonlyArray<Place>
  readonly documents: number
  /** The documents that it is the title of; 0 where it is the title of so many that it names none. */
  readonly defining: number
}
