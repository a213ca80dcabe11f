import * as Schema from "effect/Schema"
import { flag, int, list, number, text } from "./fields.ts"
import type { DocumentId } from "./Document.ts"

/** A passage's relation to an entity; see `docs/graph.md`. */
export const Relation = Schema.Literal("defines", "heads", "links", "imports", "mentions").annotations({
  identifier: "Relation",
  description: "A passage's relation to an entity"
})
export type Relation = typeof Relation.Type

/** A step of the path by which the graph led to a passage. */
export const ViaStep = Schema.Struct({
  entity: text("The name that joins the two passages"),
  source: Schema.optional(text("Source of the passage it was reached from; absent if the query names it")),
  chunk_index: Schema.optional(int("That passage's index in its document, from 0"))
}).annotations({ identifier: "ViaStep", description: "A step of the path by which the graph led to a passage" })
export type ViaStep = typeof ViaStep.Type

/** Whether a search uses the knowledge graph. */
export const GraphUse = Schema.Union(Schema.Boolean, Schema.Literal("auto")).annotations({
  identifier: "GraphUse",
  message: () => ({ message: 'graph must be true, false or "auto"', override: true }),
  description:
    "Whether passages that the graph joins to the best ones, or to names in the query, take places from the sixth on; auto: if the collection's documents name each other and the query names something in it"
})
export type GraphUse = typeof GraphUse.Type

/** A relation of a passage to an entity, with the words that show it. */
interface GraphMention {
  /** The hash of the entity's key. */
  readonly entity: number
  readonly relation: Relation
  /** As written in the passage, its heading or its document's title. */
  readonly name: string
  /** The line of the name, from 1; the passage's first line if its own text does not contain the name. */
  readonly line: number
}

/** A relation that a language model read in a passage, with names as written in the passage or its document's title. */
const SaidRelation = Schema.Struct({ subject: Schema.String, relation: Schema.String, object: Schema.String })
export type SaidRelation = typeof SaidRelation.Type

export const Said = Schema.Struct({ entities: Schema.Array(Schema.String), relations: Schema.Array(SaidRelation) })
export type Said = typeof Said.Type

/** A passage that a language model has yet to read. */
export interface UnaskedPassage extends Pick<GraphPassage, "id" | "text" | "title"> {
  readonly heading: ReadonlyArray<string>
}

/** A step through a collection in search of passages that a model has not read. */
export interface GraphUnasked extends Omit<GraphStep, "added"> {
  /** Those that took over the model's answer for the same words. */
  readonly taken: number
  readonly passages: ReadonlyArray<UnaskedPassage>
}

/** A passage in the graph. `id` is its row's, rising in order of storage. */
export interface GraphPassage {
  readonly id: number
  readonly docId: DocumentId
  readonly source: string
  readonly title: string | undefined
  readonly ordinal: number
  readonly startLine: number
  /** Its place in a file that is not text, as appended to the file's name. */
  readonly locator?: string | undefined
  readonly text: string
  readonly mentions: ReadonlyArray<GraphMention>
  /** Relations that a language model read in it. */
  readonly said: ReadonlyArray<SaidRelation>
}

/** Progress of building a graph. */
export interface GraphStep {
  /** Passages that this step added. */
  readonly added: number
  /** Passages that it checked; 0 at the end. */
  readonly seen: number
  /** The last of them; the next step starts after it. */
  readonly through: number
}

const locator = Schema.optional(text("Page, slide or similar of that passage, such as #page=3"))
const says = Schema.optional(text("What a language model read there about the two, if one was asked"))

/** The suffix of a source: the place in a file that is not text, else the line. */
export const placeOf = ({ line, locator }: { readonly line: number; readonly locator?: string | undefined }): string =>
  locator ?? `:${line}`

/** A passage related to an entity: its position, and the words that show the relation. */
const EntityMention = Schema.Struct({
  source: text("Source of the document, else its doc_id"),
  doc_id: text("The document's id in its collection"),
  chunk_index: int("The passage's index in its document, from 0"),
  start_line: int("Line on which the passage begins, from 1"),
  line: int("Line of the name, from 1"),
  locator,
  relation: Relation,
  name: text("The name as written in this passage")
}).annotations({ identifier: "EntityMention", description: "A passage related to an entity" })

const at_least = Schema.optional(
  flag("True if only the first 129 passages were counted: more documents may be related to it")
)

const Neighbour = Schema.Struct({
  name: text("The name as written in that passage"),
  documents: int("Documents related to it"),
  at_least,
  hops: int("Steps from the requested entity"),
  relation: Relation.annotations({ description: "The relation of the passage that joins the two to it" }),
  source: text("Source of that passage"),
  start_line: int("Line on which that passage begins, from 1"),
  line: int("Line of the name there, from 1"),
  locator,
  says
}).annotations({ identifier: "Neighbour", description: "An entity that a passage joins to another" })

export const GraphEntity = Schema.Struct({
  name: text("Its name, as written in the passage that defines it, if any"),
  description: Schema.optional(text("The beginning of the document with that title, if any")),
  documents: int("Documents related to it"),
  at_least,
  mentions: list(EntityMention, "Defining ones first"),
  neighbours: list(Neighbour, "Nearest and rarest first")
}).annotations({ identifier: "GraphEntity", description: "What the graph knows about an entity" })
export type GraphEntity = typeof GraphEntity.Type

const PathStep = Schema.Struct({
  from: text("The entity that the step starts from"),
  to: text("The entity that it leads to"),
  source: text("Source of the passage related to both"),
  start_line: int("Line on which that passage begins, from 1"),
  line: int("Line of the name of `to`, from 1"),
  locator,
  chunk_index: int("That passage's index in its document, from 0"),
  says,
  text: text("That passage's text")
}).annotations({ identifier: "PathStep", description: "A step between two entities, with the passage that joins them" })

export const GraphPath = Schema.Struct({
  steps: list(PathStep, "Empty if there is no path")
}).annotations({ identifier: "GraphPath", description: "A shortest path between two entities" })
export type GraphPath = typeof GraphPath.Type

export const RankedEntity = Schema.Struct({
  name: text("Its name, as written in the passage that defines it, if any"),
  documents: int("Documents related to it"),
  rank: number("PageRank; the sum over all entities and documents is 1")
}).annotations({ identifier: "RankedEntity", description: "An entity with its PageRank" })
export type RankedEntity = typeof RankedEntity.Type

export const GraphEntities = Schema.Struct({
  entities: list(RankedEntity, "By PageRank, highest first, then by name"),
  complete: flag("False: the collection is so large that only its first 20,000 passages are ranked"),
  next_cursor: Schema.optional(text("Present if there is another page: its cursor, an opaque string"))
}).annotations({ identifier: "GraphEntities", description: "A page of the entities that join documents" })
export type GraphEntities = typeof GraphEntities.Type

/** A passage related to an entity, and its document. */
export interface Place {
  /** Its index in `relations`; 0 is `defines`. */
  readonly relation: number
  readonly passage: number
  readonly document: number
}

/** An entity's places, as far as they are read: defining ones first, at most `mostPlaces` and one. */
export interface Entity {
  readonly places: ReadonlyArray<Place>
  readonly documents: number
  /** The number of documents with it as their title; 0 if they are so many that it names none. */
  readonly defining: number
}

const Asked = Schema.Struct({
  model: text("The model that read the passages"),
  calls: int("Number of passages that the model was asked about"),
  unusable: int("Number of answers that could not be used"),
  entities: int("Number of names that it found in them"),
  relations: int("Number of relations between two names")
}).annotations({ identifier: "GraphAsked", description: "What a language model read" })
export type Asked = typeof Asked.Type

/** What building the graph did, as POST /graph/build and `graph build --json` tell it. */
export const GraphBuilt = Schema.Struct({
  collection: text("The collection"),
  added_chunks: int("Number of passages that were not in the graph before"),
  chunks: int("Number of passages"),
  linkage: number("Share of the documents that name or link another"),
  llm: Schema.optional(Asked),
  build_time_ms: int("The duration of building")
}).annotations({ identifier: "GraphBuildReport", description: "What was added to the graph" })
export type GraphBuilt = typeof GraphBuilt.Type
