import * as Schema from "effect/Schema"

const Scalar = Schema.Union(Schema.String, Schema.Finite, Schema.Boolean)

const Bound = Schema.Union(Schema.String, Schema.Finite)

/** Both ends of a range compare like with like: numbers with numbers, strings by code point. */
export const Range = Schema.Struct({
  gte: Schema.optional(Bound.annotations({ description: "At least" })),
  lte: Schema.optional(Bound.annotations({ description: "At most" })),
  gt: Schema.optional(Bound.annotations({ description: "More than" })),
  lt: Schema.optional(Bound.annotations({ description: "Less than" }))
}).pipe(
  Schema.filter((range) => Object.keys(range).length > 0 || "a range needs at least one of gte, lte, gt, lt"),
  Schema.annotations({ identifier: "Range", parseOptions: { onExcessProperty: "error" } })
)
export type Range = typeof Range.Type

export const Condition = Schema.Union(Scalar, Schema.Array(Scalar), Range).annotations({
  identifier: "Condition",
  description: "A value to equal, a list of which any may equal, or a range"
})
export type Condition = typeof Condition.Type

/**
 * Restricts what is searched; every key must match. `source` matches when equal or as a glob (`*` crosses `/`, `?` is
 * one character). A document without the key never matches; a list in the metadata matches by any of its elements.
 */
export const Filter = Schema.Record({ key: Schema.String, value: Condition }).annotations({
  identifier: "Filter",
  description: "Restricts the search to documents whose metadata match every key",
  examples: [{ source: "*/docs/*" }, { lang: ["en", "de"], year: { gte: 2020 } }]
})
export type Filter = typeof Filter.Type

export const emptyFilter: Filter = {}
export const isEmptyFilter = (filter: Filter): boolean => Object.keys(filter).length === 0
