import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import type { CollectionName } from "./Collection.ts"
import type { DocumentId, Metadata } from "./Document.ts"
import { Explanation, SearchExplanation } from "./Explain.ts"
import { ViaStep } from "./Graph.ts"
import { fragment, type Locator } from "./Locator.ts"
import type { Passage } from "./Passage.ts"
import { provenance } from "./Provenance.ts"

/** A leg's ranking of a passage: rank from 1, and the leg's own score. */
export interface LegPlace {
  readonly rank: number
  readonly score: number
}

type PlacedPassage = Passage & { readonly ordinal: number }

/** A passage and its document. */
export interface Similar {
  readonly passage: PlacedPassage
  readonly collection: CollectionName
  readonly document: {
    readonly docId: DocumentId
    readonly source: string
    readonly title?: string | undefined
    readonly metadata: Metadata
  }
}

/** A passage found, with its document and its rank in each leg. */
export interface Hit extends Similar {
  readonly score: number
  /** How likely it is to answer, 0 to 1, the same in every mode. */
  readonly relevance?: number | undefined
  /** Its cosine similarity to the query, if the query has a vector. */
  readonly similarity?: number | undefined
  readonly vector?: LegPlace | undefined
  readonly keyword?: LegPlace | undefined
  /** The path by which the graph led here, if it did. */
  readonly via?: ReadonlyArray<ViaStep> | undefined
  /** How the score was computed, on request. */
  readonly explain?: Explanation | undefined
  /** The passages that its own is made of, in their order, where neighbours that overlap are one hit. */
  readonly spans?: ReadonlyArray<PlacedPassage> | undefined
  /** Passages of lower rank that say the same. */
  readonly similar?: ReadonlyArray<Similar> | undefined
}

/** The position of a passage in its document. */
export const place = {
  chunk_index: Schema.Int.annotations({ description: "The passage's index in its document, from 0" }),
  heading: Schema.optional(Schema.String.annotations({ description: "Headings above the passage, joined by ' > '" })),
  start: Schema.Int.annotations({ description: "UTF-16 offset of the passage in the original" }),
  end: Schema.Int.annotations({ description: "UTF-16 offset after the passage's last character" }),
  start_line: Schema.Int.annotations({ description: "First line, from 1" }),
  end_line: Schema.Int.annotations({ description: "Last line, from 1" }),
  locator: Schema.optional(
    Schema.String.annotations({
      description: "Where the passage begins in a file that is not text, to append to its name: #page=3"
    })
  ),
  page: Schema.optional(Schema.Int.annotations({ description: "Page of a PDF, from 1" })),
  slide: Schema.optional(Schema.Int.annotations({ description: "Slide of a presentation, from 1" })),
  sheet: Schema.optional(Schema.String.annotations({ description: "Sheet of a workbook" })),
  table_header: Schema.optional(
    Schema.String.annotations({ description: "The names of the columns, if it begins within a table" })
  )
}

export const ResultMetadata = Schema.Struct(
  {
    source: Schema.String.annotations({ description: "The document's source, or its doc_id if it has none" }),
    doc_id: Schema.String.annotations({ description: "The document's id in its collection" }),
    title: Schema.optional(Schema.String.annotations({ description: "The document's title, if it has one" })),
    collection: Schema.String.annotations({ description: "The collection it was found in" }),
    ...place
  },
  { key: Schema.String, value: Schema.Unknown }
).annotations({ identifier: "ResultMetadata", description: "The passage's position, and the document's own keys" })

const Span = Struct.pick(place, "chunk_index", "start", "end", "start_line", "end_line")

export const SimilarPlace = Schema.Struct({
  ...Struct.pick(ResultMetadata.fields, "source", "doc_id", "collection"),
  ...Span,
  locator: place.locator
}).annotations({ identifier: "SimilarPlace", description: "Where a passage stands that says the same" })

export const SearchResult = Schema.Struct({
  text: Schema.String.annotations({ description: "The passage, exactly as in the original" }),
  score: Schema.Finite.annotations({ description: "The score it was ranked by, higher is better" }),
  relevance: Schema.optional(
    Schema.Finite.annotations({ description: "How likely it is to answer, 0 to 1, the same in every mode" })
  ),
  metadata: ResultMetadata,
  via: Schema.optional(
    Schema.Array(ViaStep).annotations({
      description: "The path by which the knowledge graph led here; absent if the ranking found it"
    })
  ),
  spans: Schema.optional(
    Schema.Array(Schema.Struct(Span)).annotations({
      description: "The passages that it is made of, in their order, where neighbours that overlap are one result"
    })
  ),
  similar: Schema.optional(
    Schema.Array(SimilarPlace).annotations({
      description: "Where passages of lower rank stand that say the same, or nearly, and have no place of their own"
    })
  ),
  explain: Schema.optional(Explanation)
}).annotations({ identifier: "SearchResult", description: "A passage found" })
export type SearchResult = typeof SearchResult.Type

export const SearchResponse = Schema.Struct({
  results: Schema.Array(SearchResult).annotations({ description: "Best first" }),
  query_time_ms: Schema.Int.annotations({ description: "Duration of the search" }),
  ...provenance,
  explain: Schema.optional(SearchExplanation)
}).annotations({ identifier: "SearchResponse", description: "What was found, and by which legs" })
export type SearchResponse = typeof SearchResponse.Type

export const PromptResponse = Schema.Struct({
  prompt: Schema.String.annotations({ description: "Instruction, numbered context and question, ready for a model" }),
  sources: Schema.Array(Schema.String).annotations({ description: "The source of entry n at index n - 1" }),
  query_time_ms: Schema.Int.annotations({ description: "Duration of the search" }),
  ...provenance,
  omitted: Schema.optional(Schema.Int.annotations({ description: "Passages found but left out to fit max_tokens" }))
}).annotations({ identifier: "PromptResponse", description: "A prompt with citations" })
export type PromptResponse = typeof PromptResponse.Type

export const headingPath = (heading: ReadonlyArray<string>): string => heading.join(" > ")

const placed = (locator: Locator | undefined) =>
  locator === undefined
    ? {}
    : {
        locator: fragment(locator),
        ...(locator._tag === "Page" ? { page: locator.page } : {}),
        ...(locator._tag === "Slide" ? { slide: locator.slide } : {}),
        ...(locator._tag === "Sheet" ? { sheet: locator.sheet } : {})
      }

const spanOf = (passage: PlacedPassage) => ({
  chunk_index: passage.ordinal,
  start: passage.start,
  end: passage.end,
  start_line: passage.startLine,
  end_line: passage.endLine
})

const similarPlace = ({ collection, document, passage }: Similar): typeof SimilarPlace.Type => ({
  source: document.source,
  doc_id: document.docId,
  collection,
  ...spanOf(passage),
  ...(passage.locator === undefined ? {} : { locator: fragment(passage.locator) })
})

export const placeOf = (passage: Passage & { readonly ordinal: number }) => ({
  chunk_index: passage.ordinal,
  ...(passage.heading.length === 0 ? {} : { heading: headingPath(passage.heading) }),
  start: passage.start,
  end: passage.end,
  start_line: passage.startLine,
  end_line: passage.endLine,
  ...placed(passage.locator),
  ...(passage.tableHeader === undefined ? {} : { table_header: passage.tableHeader })
})

/** What the service's own keys hold where they are there. */
const ownKinds: Readonly<Record<string, (value: unknown) => boolean>> = {
  title: Predicate.isString,
  heading: Predicate.isString,
  locator: Predicate.isString,
  sheet: Predicate.isString,
  table_header: Predicate.isString,
  page: Number.isSafeInteger,
  slide: Number.isSafeInteger
}

const isNamesake = ([key, value]: readonly [string, unknown]): boolean =>
  Object.hasOwn(ownKinds, key) && !ownKinds[key]!(value)

/** A document's keys without those that have the name of the service's and mean something else, like `page: true`. */
const withoutNamesakes = (metadata: Metadata): Metadata => {
  const entries = Object.entries(metadata)
  return entries.some(isNamesake) ? Object.fromEntries(entries.filter((entry) => !isNamesake(entry))) : metadata
}

/** The service's own keys win over a document's of the same name. */
export const toSearchResult = ({
  collection,
  document,
  explain,
  passage,
  relevance,
  score,
  similar,
  spans,
  via
}: Hit): SearchResult => ({
  text: passage.text,
  score,
  ...(relevance === undefined ? {} : { relevance }),
  metadata: {
    ...withoutNamesakes(document.metadata),
    source: document.source,
    doc_id: document.docId,
    ...(document.title === undefined ? {} : { title: document.title }),
    collection,
    ...placeOf(passage)
  },
  ...(via === undefined ? {} : { via }),
  ...(spans === undefined ? {} : { spans: spans.map(spanOf) }),
  ...(similar === undefined ? {} : { similar: similar.map(similarPlace) }),
  ...(explain === undefined ? {} : { explain })
})
