import * as Effect from "effect/Effect"
import * as JSONSchema from "effect/JSONSchema"
import * as Schema from "effect/Schema"
import { CollectionName } from "../../model/Collection.ts"
import { Filter } from "../../model/Filter.ts"
import type { Found } from "../../model/Provenance.ts"
import { Alpha, Fusion, MaxTokens, MinRelevance, QueryText, SearchRequest, TopK } from "../../model/Query.ts"
import type { ReadAs } from "../../model/ReadAs.ts"
import { asRead, shortfall } from "../../citations/remarks.ts"
import { Store } from "../../Store.ts"
import { bounded } from "../../citations/prompt.ts"
import type { Settings } from "../Tool.ts"

/** A schema with a description for a model, shorter than the API's. */
export const described = <A, I>(schema: Schema.Schema<A, I>, description: string): Schema.Schema<A, I> => {
  const { $schema: _, ...own } = JSONSchema.make(schema) as { readonly $schema?: string }
  return schema.annotations({ description, jsonSchema: { ...plain(own), description } })
}

const plain = ({ $defs, $ref, ...own }: Readonly<Record<string, unknown>>): object => {
  const target = typeof $ref === "string" ? ($defs as Record<string, object>)[$ref.replace("#/$defs/", "")] : undefined
  return { ...target, ...own }
}

export const maxTokens = Schema.optional(described(MaxTokens, "Longest answer, in tokens")).pipe(
  Schema.fromKey("max_tokens")
)

const filterWords =
  'Metadata to match: value, list of values, {"gte": 1}, {"not": 1}, {"exists": true}; "or": [filters]'

/** A filter schema that every client accepts: some refuse a schema without properties, and all pay for a long one. */
export const FilterArgument = Schema.optional(
  Filter.annotations({
    description: filterWords,
    jsonSchema: {
      type: "object",
      properties: { source: { type: "string", description: "Source, or glob" } },
      additionalProperties: true,
      description: filterWords
    }
  })
)

/** Arguments of both search tools. */
export const SearchArguments = Schema.Struct({
  ...SearchRequest.fields,
  query: described(QueryText, "What to search for"),
  topK: Schema.optional(described(TopK, "Passages to return")).pipe(Schema.fromKey("top_k")),
  hybrid: Schema.optional(Schema.Boolean.annotations({ description: "false: only meaning" })),
  alpha: Schema.optional(described(Alpha, "0 only words, 1 only meaning")),
  fusion: Schema.optional(described(Fusion, "How both are fused")),
  filter: FilterArgument,
  graph: Schema.optional(
    Schema.Union(Schema.Boolean, Schema.Literal("auto")).annotations({ description: "Follow names" })
  ),
  minRelevance: Schema.optional(described(MinRelevance, "Least relevance")).pipe(Schema.fromKey("min_relevance")),
  collection: Schema.optional(described(CollectionName, "Default: all")),
  maxTokens
})
export type SearchArguments = typeof SearchArguments.Type

/** An object with one property, or an empty one if the value is undefined, for optional fields. */
export const optional = <K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } =>
  (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: V }

export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

const isAnchored = (source: unknown): boolean => typeof source === "string" && !/^[*/]/.test(source)

const namedCollections = 10

/** The names of the first collections. */
const named = (names: ReadonlyArray<string>): string =>
  names.length > namedCollections
    ? `${names.slice(0, namedCollections).join(", ")} and ${names.length - namedCollections} more`
    : names.join(", ")

/** The message for a model that found nothing, in terms of its tools: what was searched, and what to try. */
export const nothingFound = Effect.fn("mcp.nothingFound")(function* (
  request: SearchArguments,
  { overview, tools }: Settings
) {
  const all = (yield* (yield* Store).collections).filter(({ documents }) => documents > 0)
  if (all.length === 0) {
    if (overview.watched.length > 0) return "Nothing found: files are being indexed right now. Ask again in a moment."
    const adding = tools.includes("index_documents") ? ", or with index_documents" : ""
    const why = overview.missing === undefined ? "the index is empty" : `there is no index at ${overview.missing}`
    return `Nothing found: ${why}. Add documents with \`clew index PATH\` on the command line${adding}.`
  }
  const searched = all.filter(({ name }) => request.collection === undefined || name === request.collection)
  const others = all.filter((collection) => !searched.includes(collection)).map(({ name }) => name)
  const documents = searched.reduce((sum, collection) => sum + collection.documents, 0)
  const where =
    request.collection === undefined
      ? all.length === 1
        ? `collection ${all[0]!.name}`
        : `collections ${named(all.map(({ name }) => name))}`
      : `collection ${request.collection}`
  const looking = ["collection_info", "list_sources"].filter((name) => tools.includes(name)).join(" or ")
  const hints = [
    "use other words",
    ...(others.length === 0 ? [] : [`leave out collection to search ${named(others)} too`]),
    ...(request.filter === undefined ? [] : ["drop or widen the filter"]),
    ...(isAnchored(request.filter?.["source"])
      ? ["begin the source with *, since most sources are absolute paths"]
      : []),
    ...(request.alpha === undefined ? [] : ["leave out alpha"]),
    ...(looking === "" ? [] : [`see what is indexed with ${looking}`])
  ]
  return `Nothing found among ${plural(documents, "document")} of ${where}. To refine: ${hints.join(", ")}.`
})

/** An object that the text also shows; its schema is short, since a client pays for it in every conversation. */
export const told = Schema.Unknown.annotations({ jsonSchema: { type: "object" } })

/** A line naming further words searched for; a word of the index may be long. */
export const alsoSearchedLine = (words: ReadonlyArray<string>): string =>
  `Also searched: ${words.map((word) => bounded(word, 40)).join(", ")}.`

/** A line saying how a query with quotes, `-word` or `field:value` was read. */
export const readAsLine = (readAs: ReadAs): string =>
  `${bounded(asRead({ readAs })!, 400)}.`.replace(/^./, (first) => first.toUpperCase())

/** Said where nothing better was found. */
export const weakLine = "Weak matches only: none of these is likely to answer."

/** What a model is told of a search beside its results, a sentence each. */
export const remarksOn = (found: Found): ReadonlyArray<string> => {
  const { alsoSearched, degraded, readAs, weak } = found
  return [
    ...(degraded === undefined ? [] : [`Degraded: ${shortfall(found)}.`]),
    ...(alsoSearched === undefined ? [] : [alsoSearchedLine(alsoSearched)]),
    ...(readAs === undefined ? [] : [readAsLine(readAs)]),
    ...(weak === true ? [weakLine] : [])
  ]
}

/** That nothing was found, and what about the filter may be why. */
export const emptyHanded = (request: SearchArguments, settings: Settings, { hint }: Found) =>
  Effect.map(nothingFound(request, settings), (said) => `${said}${hint === undefined ? "" : ` The filter: ${hint}.`}`)
