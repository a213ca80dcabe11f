import * as Schema from "effect/Schema"
import { flag, text, within } from "./fields.ts"
import { CollectionName } from "./Collection.ts"
import type { FacetNames } from "./Facets.ts"
import { DocumentId } from "./Document.ts"
import { Filter } from "./Filter.ts"
import { GraphUse } from "./Graph.ts"
import { codePoints, isLongerThan, isWellFormed, mustBeList, notWellFormed, mustBe } from "./kinds.ts"
import { limits } from "./Limits.ts"
import type { Cited } from "./Locator.ts"
import { Since } from "./Since.ts"

/** 1 to 10,000 characters (code points), not blank, as a field is named in its errors. */
const searchedFor = (field: string, identifier: string, what: string) => {
  const description = `${what}, 1 to ${limits.queryCharacters} characters`
  return Schema.String.pipe(
    Schema.filter((text) =>
      text.trim() === ""
        ? `${field} must not be empty`
        : isLongerThan(text, limits.queryCharacters)
          ? `${field} must be at most ${limits.queryCharacters} characters, got ${codePoints(text)}`
          : isWellFormed(text) || notWellFormed(field)
    ),
    Schema.annotations({
      identifier,
      description,
      jsonSchema: { type: "string", minLength: 1, maxLength: limits.queryCharacters, description }
    })
  )
}

export const QueryText = searchedFor("query", "QueryText", "What to search for")

/** A text that passages are to be like. */
export const LikeText = searchedFor("text", "LikeText", "A text, in place of a passage")

/** Further queries, such as other words or parts of the question; the lists of all are fused. */
export const Queries = Schema.Array(QueryText).pipe(
  Schema.maxItems(limits.queries, { message: mustBeList("queries", "texts", limits.queries) }),
  Schema.annotations({
    identifier: "Queries",
    description: `Further queries, at most ${limits.queries}: other words for the question, or its parts. What all of them find is one list`
  })
)

export const TopK = within("top_k", "TopK", Schema.Int, limits.topK, "How many passages to return")

/** For the next page of the same question. */
export const Offset = within(
  "offset",
  "Offset",
  Schema.Int,
  limits.offset,
  "How many of the best passages to skip; default 0"
)

export const Alpha = within(
  "alpha",
  "Alpha",
  Schema.Finite,
  limits.alpha,
  "Weight of the vector leg: 0 is keyword only, 1 vector only. Only for hybrid search"
)

export const MinRelevance = within(
  "min_relevance",
  "MinRelevance",
  Schema.Finite,
  limits.minRelevance,
  "Leave out passages of less relevance, 0 to 1; default 0"
)

/** Limits the returned text, in tokens of the built-in tokenizer. */
export const MaxTokens = within(
  "max_tokens",
  "MaxTokens",
  Schema.Int,
  limits.maxTokens,
  "Longest text to return, in tokens; what does not fit is left out, and the text says so"
)

/** `rrf` fuses ranks, `score` fuses scores. */
export const Fusion = Schema.Literal("rrf", "score").annotations({
  identifier: "Fusion",
  description: "How hybrid search fuses its legs: rrf (reciprocal ranks) or score (normalised scores)"
})
export type Fusion = typeof Fusion.Type

export const Mode = Schema.Literal("vector", "keyword", "hybrid").annotations({
  identifier: "Mode",
  description: "The legs that ranked the results"
})
export type Mode = typeof Mode.Type

/** The search request of all interfaces; each fills in the defaults that differ. */
export const SearchRequest = Schema.Struct({
  query: QueryText,
  queries: Schema.optional(Queries),
  topK: Schema.optional(TopK).pipe(Schema.fromKey("top_k")),
  hybrid: Schema.optional(Schema.Boolean),
  alpha: Schema.optional(Alpha),
  fusion: Schema.optional(Fusion),
  filter: Schema.optional(Filter),
  since: Schema.optional(Since),
  graph: Schema.optional(GraphUse),
  minRelevance: Schema.optional(MinRelevance).pipe(Schema.fromKey("min_relevance")),
  collection: Schema.optional(CollectionName.annotations({ description: "The collection to search; default: all" }))
}).annotations({ identifier: "SearchRequest" })
export type SearchRequest = typeof SearchRequest.Type

const { queries: _, query: __, graph: ___, ...searched } = SearchRequest.fields

/** Which passage others are to be like: one of the index, or a text; and where and how to search for them. */
export const SimilarRequest = Schema.Struct({
  source: Schema.optional(
    text("A passage as cited, source:line; without a line, chunk_index says which passage of the source")
  ),
  docId: Schema.optional(DocumentId).pipe(Schema.fromKey("doc_id")),
  chunkIndex: Schema.optional(
    Schema.Int.pipe(Schema.nonNegative()).annotations({
      description: "The passage's index in its document, from 0",
      message: mustBe("chunk_index", "an integer from 0")
    })
  ).pipe(Schema.fromKey("chunk_index")),
  text: Schema.optional(LikeText),
  ...searched
}).annotations({ identifier: "SimilarRequest" })
export type SimilarRequest = typeof SimilarRequest.Type

/** Whether results explain their scores. */
export const Explain = Schema.optional(flag("Explain how each score was computed, and how long each stage took"))

/** What an interface adds to a request. */
interface OfDoor {
  /** How many hits after the last one to give as `further`; default 0. */
  readonly further?: number | undefined
  /** How many of the best hits to skip. */
  readonly offset?: number | undefined
  /** The fusion if neither the request nor the configuration names one; default score. */
  readonly usualFusion?: Fusion | undefined
  /** The most passages of one document before those of others; default: the configuration's. */
  readonly perDocument?: number | undefined
  /** How many places folded hits fill where others leave them empty; default: all. */
  readonly filled?: number | undefined
  /** Whether the reranker, if there is one, orders the best hits; default true. */
  readonly reranks?: boolean | undefined
  /** What to count the documents by that the search may find; default nothing. */
  readonly facets?: typeof FacetNames.Type | undefined
  /** Whether to explain the scores; default false. */
  readonly explain?: boolean | undefined
}

/** A request as an interface passes it on. */
export interface DoorRequest extends SearchRequest, OfDoor {}
export interface DoorSimilarRequest extends SimilarRequest, OfDoor {
  /** The lines or the place of the passage. */
  readonly cited?: Cited | undefined
  /** The collection of the passage; default: the first that has its document. */
  readonly home?: CollectionName | undefined
}
