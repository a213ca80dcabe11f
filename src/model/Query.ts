import * as Schema from "effect/Schema"
import { CollectionName } from "./Collection.ts"
import { Filter } from "./Filter.ts"
import { GraphUse } from "./Graph.ts"
import { codePoints, isLongerThan, isWellFormed, mustBeWithin, notWellFormed } from "./kinds.ts"
import { limits } from "./Limits.ts"

/** 1 to 10,000 characters (code points), not blank. */
export const QueryText = Schema.String.pipe(
  Schema.filter((text) =>
    text.trim() === ""
      ? "query must not be empty"
      : isLongerThan(text, limits.queryCharacters)
        ? `query must be at most ${limits.queryCharacters} characters, got ${codePoints(text)}`
        : isWellFormed(text) || notWellFormed("query")
  ),
  Schema.annotations({
    identifier: "QueryText",
    description: `What to search for, 1 to ${limits.queryCharacters} characters`,
    jsonSchema: {
      type: "string",
      minLength: 1,
      maxLength: limits.queryCharacters,
      description: `What to search for, 1 to ${limits.queryCharacters} characters`
    }
  })
)

export const TopK = Schema.Int.pipe(
  Schema.between(limits.topK.min, limits.topK.max),
  Schema.annotations({
    identifier: "TopK",
    description: "How many passages to return",
    message: mustBeWithin("top_k", limits.topK, "integer")
  })
)

/** For the next page of the same question. */
export const Offset = Schema.Int.pipe(
  Schema.between(limits.offset.min, limits.offset.max),
  Schema.annotations({
    identifier: "Offset",
    description: "How many of the best passages to skip; default 0",
    message: mustBeWithin("offset", limits.offset, "integer")
  })
)

export const Alpha = Schema.Finite.pipe(
  Schema.between(limits.alpha.min, limits.alpha.max),
  Schema.annotations({
    identifier: "Alpha",
    description: "Weight of the vector leg: 0 is keyword only, 1 vector only. Only for hybrid search",
    message: mustBeWithin("alpha", limits.alpha, "number")
  })
)

export const MinRelevance = Schema.Finite.pipe(
  Schema.between(limits.minRelevance.min, limits.minRelevance.max),
  Schema.annotations({
    identifier: "MinRelevance",
    description: "Leave out passages of less relevance, 0 to 1; default 0",
    message: mustBeWithin("min_relevance", limits.minRelevance, "number")
  })
)

/** Limits the returned text, in tokens of the built-in tokenizer. */
export const MaxTokens = Schema.Int.pipe(
  Schema.between(limits.maxTokens.min, limits.maxTokens.max),
  Schema.annotations({
    identifier: "MaxTokens",
    description: "Longest text to return, in tokens; what does not fit is left out, and the text says so",
    message: mustBeWithin("max_tokens", limits.maxTokens, "integer")
  })
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
  topK: Schema.optional(TopK).pipe(Schema.fromKey("top_k")),
  hybrid: Schema.optional(Schema.Boolean),
  alpha: Schema.optional(Alpha),
  fusion: Schema.optional(Fusion),
  filter: Schema.optional(Filter),
  graph: Schema.optional(GraphUse),
  minRelevance: Schema.optional(MinRelevance).pipe(Schema.fromKey("min_relevance")),
  collection: Schema.optional(CollectionName.annotations({ description: "The collection to search; default: all" }))
}).annotations({ identifier: "SearchRequest" })
export type SearchRequest = typeof SearchRequest.Type

/** Whether results explain their scores. */
export const Explain = Schema.optional(
  Schema.Boolean.annotations({ description: "Explain how each score was computed, and how long each stage took" })
)

/** A request as an interface passes it on. */
export interface DoorRequest extends SearchRequest {
  /** How many of the best hits to skip. */
  readonly offset?: number | undefined
  /** The fusion if neither the request nor the configuration names one; default score. */
  readonly usualFusion?: Fusion | undefined
  /** Whether to explain the scores; default false. */
  readonly explain?: boolean | undefined
}
