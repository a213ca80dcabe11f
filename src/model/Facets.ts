import * as Schema from "effect/Schema"
import { int, list } from "./fields.ts"
import { columnKeys, Filter } from "./Filter.ts"
import { isWellFormed, notWellFormed, valueText } from "./kinds.ts"

/** Facets that are made of what every document has; any other is a metadata key. */
const ownFacets = ["folder", "format", "collection", "indexed"] as const
export type OwnFacet = (typeof ownFacets)[number]

/** Most facets of a request, values that a facet lists, and characters of a name. */
export const facetLimits = { names: 10, values: 100, characters: 256 } as const

const faultOf = (name: string): string | undefined =>
  name === "" || name.length > facetLimits.characters
    ? `a facet's name must have 1 to ${facetLimits.characters} characters, got ${name.length}`
    : !isWellFormed(name)
      ? notWellFormed("a facet's name")
      : name === "__proto__" || columnKeys.has(name)
        ? `${name} is no facet; take folder, format, collection, indexed or a metadata key`
        : undefined

const FacetName = Schema.String.pipe(Schema.filter((name) => faultOf(name) ?? true)).annotations({
  jsonSchema: { type: "string", minLength: 1, maxLength: facetLimits.characters },
  description: "folder, format, collection, indexed (months), or a metadata key"
})

/** By what a search counts the documents that it may find. */
export const FacetNames = Schema.Array(FacetName).pipe(
  Schema.maxItems(facetLimits.names, {
    message: ({ actual }) =>
      Array.isArray(actual)
        ? `facets must have at most ${facetLimits.names} names, got ${actual.length}`
        : { message: `facets must be a list of names, got ${valueText(actual)}`, override: true }
  }),
  Schema.annotations({
    identifier: "FacetNames",
    description: `What to count documents by, at most ${facetLimits.names}: folder, format, collection, indexed (months), or metadata keys. Counted are the documents that the filter, since and the query's quotes, -word and field:word leave, whatever they score`
  })
)

const FacetValue = Schema.Struct({
  value: Schema.Union(Schema.String, Schema.Finite, Schema.Boolean).annotations({ description: "The value" }),
  count: int("Documents that have it"),
  filter: Schema.optional(
    Filter.annotations({
      description:
        "The filter that leaves these documents, to be joined with the request's by and; absent for collection, which a request names beside its filter"
    })
  )
}).annotations({ identifier: "FacetValue", description: "A value, and how many documents have it" })
export type FacetValue = typeof FacetValue.Type

const Facet = Schema.Struct({
  values: list(FacetValue, `At most ${facetLimits.values}, those of most documents first`),
  others: int("Further values")
}).annotations({ identifier: "Facet", description: "The values of a facet" })
export type Facet = typeof Facet.Type

/** The facets of a search, by their names. */
export const Facets = Schema.Record({ key: Schema.String, value: Facet }).annotations({
  identifier: "Facets",
  description: "The documents that the search may find, counted by each facet that was asked for"
})
export type Facets = typeof Facets.Type

/** What nothing has. */
export const noFacets = (names: ReadonlyArray<string>): Facets =>
  Object.fromEntries(names.map((name) => [name, { values: [], others: 0 }]))
