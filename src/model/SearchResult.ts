import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { flag, int, list, number, text } from "./fields.ts"
import * as Struct from "effect/Struct"
import type { CollectionName } from "./Collection.ts"
import type { DocumentId, Metadata } from "./Document.ts"
import { ViaStep } from "./Graph.ts"
import { fragment, type Locator } from "./Locator.ts"
import type { Passage } from "./Passage.ts"
import { Fusion, Mode } from "./Query.ts"

/**
 * What a passage has of a sentence: `mentioned` if one of its statements has all of it, nearly word for word; `not_found` if it does not say it; `contradicted` if it says
 * otherwise; `unclear` if words and meaning do not decide, such as in a paraphrase or another language.
 */
export const Verdict = Schema.Literal("mentioned", "not_found", "contradicted", "unclear")
export type Verdict = typeof Verdict.Type

/** What became of a mark of an answer. */
export const CitationVerdict = Schema.Struct({
  index: int("The passage's number, as in [1]"),
  start: int("UTF-16 offset of the mark in the answer"),
  end: int("UTF-16 offset after the mark"),
  sentence: text("The sentence that the mark belongs to, without its marks"),
  exists: flag("Whether the answer was given a passage with this number"),
  support: number("How far passage and sentence are about the same, by words and vectors, 0 to 1"),
  verdict: Verdict.annotations({
    description:
      "mentioned: a statement of the passage has all of the sentence, nearly word for word; not_found: the passage does not say it; contradicted: the passage says otherwise; unclear: words and meaning do not decide"
  })
}).annotations({ identifier: "CitationVerdict", description: "What the cited passage has of a sentence" })

/** What a passage must contain, or must not, in addition to the filter on its document. */
export interface Demands {
  /** Phrases that its title, headings or text must contain. */
  readonly phrases: ReadonlyArray<string>
  /** Words that its title or file's name must contain. */
  readonly titles: ReadonlyArray<string>
  /** What none of its fields, or its title or file's name, may contain. */
  readonly without: ReadonlyArray<{ readonly text: string; readonly in: "any" | "phrase" | "title" }>
}

const texts = (description: string) => Schema.optional(list(Schema.String, description))

/** How a query with quotes, `-word` or `field:word` was read. */
export const ReadAs = Schema.Struct({
  words: text("What was searched for by words and by meaning"),
  phrases: texts("Phrases that every result contains"),
  without: texts("Words and phrases that no result contains"),
  fields: texts("Conditions on fields, as written in the query"),
  as_words: Schema.optional(text("Why quotes, dashes or fields were read as plain words")),
  unchecked: Schema.optional(int("Passages with a phrase's words that were too many to check"))
}).annotations({
  identifier: "ReadAs",
  description: "How quotes, -word and field:word in the query were read; absent if it has none"
})
export type ReadAs = typeof ReadAs.Type

/** A limit for the length of an explanation. */
export const explainedTerms = 32

const ExplainedTerm = Schema.Struct({
  term: text("The term as searched: a word without its ending"),
  score: number("What it adds to the passage's BM25"),
  near: Schema.optional(flag("It replaces a word that matches nothing")),
  title: int("Occurrences in the title and the file's name, which count three times"),
  heading: int("Occurrences in the headings"),
  text: int("Occurrences in the text")
}).annotations({ identifier: "ExplainedTerm", description: "A term of the query that the passage has" })

const leg = {
  rank: Schema.optional(int("Rank in the leg, from 1; absent beyond the leg's depth")),
  score: number("The leg's own score"),
  beside: Schema.optional(number("Mean score of the passages before and after it, which counts towards its score")),
  contribution: number("What the leg adds to the result's score")
}

/** How a result's score came about: the contributions add up to it. */
export const Explanation = Schema.Struct({
  vector: Schema.optional(Schema.Struct(leg).annotations({ description: "By meaning" })),
  keyword: Schema.optional(
    Schema.Struct({
      ...leg,
      terms: list(ExplainedTerm, `The query's first ${explainedTerms} terms, highest score first`),
      others: Schema.optional(number("What the query's further terms add")),
      name_bonus: Schema.optional(
        number("Share by which the score exceeds the sum of its terms, for names written as in the query")
      )
    }).annotations({ description: "By words" })
  ),
  likeness: Schema.optional(
    Schema.Struct({
      score: number("How nearly it has each word of the query, 0 to 1"),
      contribution: number("What that adds to the result's score")
    }).annotations({ description: "Where scores were fused and the model has a vector for each word" })
  ),
  recency: Schema.optional(
    Schema.Struct({
      age_days: number("Age of the document, in days"),
      contribution: number("What its age takes from the result's score, 0 or less")
    }).annotations({ description: "Where search.recency is set and the document has a date" })
  ),
  queries: Schema.optional(
    Schema.Array(
      Schema.Struct({
        query: int("0 for query, from 1 for those of queries"),
        rank: int("Its rank in the query's own list"),
        contribution: number("What that adds to the result's score")
      })
    ).annotations({ description: "Of several queries: where each found it; all else is of the one that ranks it best" })
  ),
  rerank: Schema.optional(
    Schema.Struct({
      rank: int("Its rank before reranking"),
      score: number("The sum of the contributions")
    }).annotations({ description: "Present if a reranker gave the result's score" })
  )
}).annotations({
  identifier: "Explanation",
  description: "How the score was computed; a result that only the graph reached has neither leg"
})
export type Explanation = typeof Explanation.Type

/** How a whole search ran. */
export const SearchExplanation = Schema.Struct({
  read_as: Schema.optional(ReadAs),
  passages: int("Passages of the collections searched"),
  filtered: Schema.optional(int("Passages left by the filter and the query's restrictions")),
  depth: int("Passages that each leg ranks"),
  candidates: Schema.Struct({
    vector: int("Passages that the vector leg ranked"),
    keyword: int("Passages that the keyword leg ranked")
  }).annotations({ description: "Passages that each leg ranked" }),
  alpha: Schema.optional(number("Weight of the vector leg in the fusion")),
  rrf_k: Schema.optional(number("Constant of the fusion of ranks")),
  stages_us: Schema.Struct({
    embed: int("Embedding the query"),
    mask: int("Applying the filter"),
    vector: int("The vector leg"),
    keyword: int("The keyword leg"),
    fuse: int("Fusing both"),
    context: int("Adding the scores of the passages before and after"),
    facets: Schema.optional(int("Counting documents by facets")),
    read: int("Reading the results' texts"),
    rerank: Schema.optional(int("Asking the reranker"))
  }).annotations({ description: "Durations of the stages, in microseconds" })
}).annotations({ identifier: "SearchExplanation", description: "How the search ran" })
export type SearchExplanation = typeof SearchExplanation.Type

/** The store's part of an explanation; times in microseconds. */
export interface RankReport extends Omit<SearchExplanation, "stages_us" | "read_as"> {
  readonly stages_us: Omit<SearchExplanation["stages_us"], "embed" | "rerank">
}

/** How passages were found. */
export interface Found {
  /** The legs that answered. */
  readonly mode: Mode
  /** How the legs were fused. */
  readonly fusion?: Fusion | undefined
  /** What the search lacked, and why. */
  readonly degraded?: string | undefined
  /** Similarly spelled words that replaced words of the query without a match. */
  readonly alsoSearched?: ReadonlyArray<string> | undefined
  /** How the query was read, if it has quotes, `-word` or `field:value`. */
  readonly readAs?: ReadAs | undefined
  /** Set if no hit is likely to answer. */
  readonly weak?: boolean | undefined
  /** Where nothing was found, what about the filter may be why. */
  readonly hint?: string | undefined
}

/** Where nothing was found, what about the filter may be why. */
export const Hint = text("A possible reason why nothing was found")

/** How passages were found, as every door says it. */
export const provenance = {
  mode: Mode,
  fusion: Schema.optional(Fusion.annotations({ description: "How the legs of hybrid search were fused" })),
  degraded: Schema.optional(text("What the search lacked, and why")),
  also_searched: texts("Similar spellings that were also searched for"),
  read_as: Schema.optional(ReadAs),
  weak: Schema.optional(flag("True if no result is likely to answer")),
  hint: Schema.optional(Hint)
}
const Provenance = Schema.Struct(provenance)
export type Provenance = typeof Provenance.Type

/** What there is nothing to say of is absent. */
export const toProvenance = ({ alsoSearched, degraded, fusion, hint, mode, readAs, weak }: Found): Provenance => ({
  mode,
  fusion,
  degraded,
  also_searched: alsoSearched,
  read_as: readAs,
  weak,
  hint
})

/** A leg's ranking of a passage: rank from 1, and the leg's own score. */
export interface LegPlace {
  readonly rank: number
  readonly score: number
}

/** A document's file as it was when it was last read. */
export interface ReadFile {
  readonly path: string
  /** When it was read, or the document stored, in milliseconds since 1970. */
  readonly at: number
  /** Its size and modification time in nanoseconds, where they prove that it is the same. */
  readonly stamp?: { readonly size: number; readonly modified: string } | undefined
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
    /** In milliseconds since 1970. */
    readonly indexedAt: number
    /** Undefined if it did not come from a file. */
    readonly file?: ReadFile | undefined
  }
}

/** Tells documents apart, those of other collections too. */
export const documentKey = ({ collection, document }: Pick<Similar, "collection" | "document">): string =>
  JSON.stringify([collection, document.docId])

/** Tells their passages apart. */
export const passageKey = (place: Similar): string => `${documentKey(place)} ${place.passage.ordinal}`

/** A statement of passage `n`, with n from 1, quoted as an answer. */
export interface Quote {
  readonly n: number
  readonly text: string
  /** False: with what it needs to be understood: a row with its columns' names, a sentence with its heading. */
  readonly isVerbatim: boolean
}

/** A document, and what has become of its file since it was indexed; undefined if it is the same, or cannot be checked. */
export interface Dated {
  readonly collection: CollectionName
  readonly document: { readonly indexedAt: number; readonly file?: ReadFile | undefined }
  readonly stale?: "changed" | "gone" | undefined
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
  readonly stale?: Dated["stale"]
  /** The ISO code of its document's language, if it is not English. */
  readonly language?: string | undefined
  /** The fence of the code that its text begins in, if that was looked up: it stands before the passage. */
  readonly fence?: string | undefined
  /** Of several queries, those that found it: 0 is the first. */
  readonly foundBy?: ReadonlyArray<number> | undefined
  /** How the score was computed, on request. */
  readonly explain?: Explanation | undefined
  /** The passages that its own is made of, in their order, where neighbours that overlap are one hit. */
  readonly spans?: ReadonlyArray<PlacedPassage> | undefined
  /** Passages of lower rank that say the same. */
  readonly similar?: ReadonlyArray<Similar> | undefined
}

/** A hit's passage without the neighbours that it has taken in: how many it has depends on the list's length. */
export const ownPassage = ({ passage, spans }: Hit): PlacedPassage =>
  spans?.find(({ ordinal }) => ordinal === passage.ordinal) ?? passage

/** The position of a passage in its document. */
export const place = {
  chunk_index: int("The passage's index in its document, from 0"),
  heading: Schema.optional(text("Headings above the passage, joined by ' > '")),
  start: int("UTF-16 offset of the passage in the original"),
  end: int("UTF-16 offset after the passage's last character"),
  start_line: int("First line, from 1"),
  end_line: int("Last line, from 1"),
  locator: Schema.optional(text("Where the passage begins in a file that is not text, to append to its name: #page=3")),
  page: Schema.optional(int("Page of a PDF, from 1")),
  slide: Schema.optional(int("Slide of a presentation, from 1")),
  sheet: Schema.optional(text("Sheet of a workbook")),
  table_header: Schema.optional(text("The names of the columns, if it begins within a table"))
}

const ResultMetadata = Schema.Struct(
  {
    source: text("The document's source, or its doc_id if it has none"),
    doc_id: text("The document's id in its collection"),
    title: Schema.optional(text("The document's title, if it has one")),
    collection: text("The collection it was found in"),
    ...place
  },
  { key: Schema.String, value: Schema.Unknown }
).annotations({ identifier: "ResultMetadata", description: "The passage's position, and the document's own keys" })

const Span = Struct.pick(place, "chunk_index", "start", "end", "start_line", "end_line")

const SimilarPlace = Schema.Struct({
  ...Struct.pick(ResultMetadata.fields, "source", "doc_id", "collection"),
  ...Span,
  locator: place.locator
}).annotations({ identifier: "SimilarPlace", description: "Where a passage stands that says the same" })

/** How old a passage is, and whether its file is still the one that was indexed. */
export const freshness = {
  indexed_at: text("When the document was last indexed, as an ISO 8601 time"),
  changed: Schema.optional(flag("True if its file has changed since then, by size or time")),
  gone: Schema.optional(flag("True if its file no longer exists"))
}
const Freshness = Schema.Struct(freshness)

/** A time in ISO 8601, to the second. */
export const isoTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`

export const toFreshness = ({ document, stale }: Dated): typeof Freshness.Type => ({
  indexed_at: isoTime(document.indexedAt),
  ...(stale === undefined ? {} : { [stale]: true })
})

export const SearchResult = Schema.Struct({
  text: text("The passage, exactly as in the original"),
  score: number("The score it was ranked by, higher is better"),
  relevance: Schema.optional(number("How likely it is to answer, 0 to 1, the same in every mode")),
  metadata: ResultMetadata,
  ...freshness,
  found_by: Schema.optional(
    list(Schema.Int, "Of several queries, those that found it: 0 is query, 1 the first of queries")
  ),
  via: Schema.optional(list(ViaStep, "The path by which the knowledge graph led here; absent if the ranking found it")),
  spans: Schema.optional(
    list(
      Schema.Struct(Span),
      "The passages that it is made of, in their order, where neighbours that overlap are one result"
    )
  ),
  similar: Schema.optional(
    list(
      SimilarPlace,
      "Where passages of lower rank stand that say the same, or nearly, and have no place of their own"
    )
  ),
  explain: Schema.optional(Explanation)
}).annotations({ identifier: "SearchResult", description: "A passage found" })
export type SearchResult = typeof SearchResult.Type

export const SearchResponse = Schema.Struct({
  results: list(SearchResult, "Best first"),
  query_time_ms: int("Duration of the search"),
  ...provenance,
  explain: Schema.optional(SearchExplanation)
}).annotations({ identifier: "SearchResponse", description: "What was found, and by which legs" })
export type SearchResponse = typeof SearchResponse.Type

export const PromptResponse = Schema.Struct({
  prompt: text("Instruction, numbered context and question, ready for a model"),
  sources: list(Schema.String, "The source of entry n at index n - 1"),
  query_time_ms: int("Duration of the search"),
  ...provenance,
  omitted: Schema.optional(int("Passages found but left out to fit max_tokens"))
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

export const placeOf = (passage: PlacedPassage) => ({
  chunk_index: passage.ordinal,
  ...(passage.heading.length === 0 ? {} : { heading: headingPath(passage.heading) }),
  start: passage.start,
  end: passage.end,
  start_line: passage.startLine,
  end_line: passage.endLine,
  ...placed(passage.locator),
  table_header: passage.tableHeader
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
export const toSearchResult = (hit: Hit): SearchResult => {
  const { collection, document, explain, foundBy, passage, relevance, score, similar, spans, via } = hit
  return {
    text: passage.text,
    score,
    relevance,
    metadata: {
      ...withoutNamesakes(document.metadata),
      source: document.source,
      doc_id: document.docId,
      title: document.title,
      collection,
      ...placeOf(passage)
    },
    ...toFreshness(hit),
    found_by: foundBy,
    via,
    spans: spans?.map(spanOf),
    similar: similar?.map(similarPlace),
    explain
  }
}
