import type * as Option from "effect/Option"
import type { CollectionName, EmbedderIdentity } from "./Collection.ts"
import type { DocumentId, Metadata } from "./Document.ts"
import type { FileChange } from "./File.ts"
import type { Facets } from "./Facets.ts"
import type { Filter } from "./Filter.ts"
import type { Said } from "./Graph.ts"
import type { Passage, Vector } from "./Passage.ts"
import type { Fusion } from "./Query.ts"
import type { RankReport, Demands, Hit, ReadFile } from "./SearchResult.ts"

/** A document's identity: its doc_id, else its source, else the hash of its content. */
export interface DocumentRef {
  readonly docId?: DocumentId | undefined
  readonly source?: string | undefined
  /** The id if the caller gives none: the hash of its source, else of its content. */
  readonly derivedId: DocumentId
}

export interface StoredRef {
  readonly docId: DocumentId
  readonly source: string | undefined
  /** Hash of everything that a document's passages are made from. */
  readonly fingerprint: string
  /** The latest run that saw it. */
  readonly seenBy: number | undefined
  /** Set if the whole document is one line of its file. */
  readonly line: number | undefined
  readonly passages: number
}

export interface IndexedPassage extends Passage {
  /** None if only keyword search finds it. */
  readonly vector: Option.Option<Vector>
  /** A language model's answer about it for the graph, and the model. */
  readonly said?: (Said & { readonly model: string }) | undefined
}

/** The embedded text of a stored passage, and its vector. */
export interface EmbeddedPassage extends Pick<Passage, "heading" | "tableHeader" | "text"> {
  /** Its document's. */
  readonly title: string | undefined
  readonly vector: Vector
}

/** A document ready to be stored. Its passages' spans lie in `content`. */
export interface PreparedDocument extends DocumentRef {
  readonly fingerprint: string
  readonly content: string
  readonly title?: string | undefined
  /** The ISO code of the language by which its words are stemmed. */
  readonly language: string
  readonly metadata: Metadata
  /** Absolute path of the file it came from. */
  readonly origin?: string | undefined
  /** Set if the whole document is one line of its file. */
  readonly line?: number | undefined
  readonly passages: ReadonlyArray<IndexedPassage>
  /**
   * What its first passages mention, as JSON, which reaches another thread sooner than many small objects. The store finds
   * what the others mention.
   */
  readonly mentions?: string | undefined
}

/** A stored document, as `put` takes it with its language. */
export interface ExportedDocument extends Omit<PreparedDocument, "language"> {
  readonly docId: DocumentId
}

/** The end of a page of an export: a passage's id, or after all passages the id of a document that has none. */
export interface ExportPosition {
  readonly isBare: boolean
  readonly after: number
}

/** The position after a full page's last document, or after a page that was not full: documents without passages come last. */
export const positionAfter = ({ isBare }: ExportPosition, last: number | undefined): ExportPosition | undefined =>
  last !== undefined ? { isBare, after: last } : isBare ? undefined : { isBare: true, after: 0 }

/** A document that is not as it was stored, by its source or doc_id, and what of it is not. */
export interface DamagedDocument {
  readonly name: string
  readonly reason: string
}

export interface ExportPage {
  readonly documents: ReadonlyArray<ExportedDocument>
  /** Left out. */
  readonly damaged?: ReadonlyArray<DamagedDocument>
  /** Undefined at the end. */
  readonly next: ExportPosition | undefined
}

export interface PutOptions {
  readonly seenBy?: number | undefined
  readonly embedder?: EmbedderIdentity | undefined
  readonly files?: ReadonlyArray<FileChange> | undefined
}

export interface PutOutcome {
  readonly docId: DocumentId
  readonly status: "created" | "updated"
  readonly passages: number
}

export interface StoredDocument extends Pick<DocumentSummary, "docId" | "source" | "title"> {
  readonly metadata: Metadata
  readonly content: string
  /** Milliseconds since the epoch. */
  readonly indexedAt: number
  /** Undefined if it did not come from a file. */
  readonly file?: ReadFile | undefined
  readonly passages: ReadonlyArray<Passage & { readonly ordinal: number }>
}

export interface DocumentSummary {
  readonly docId: DocumentId
  readonly source: string | undefined
  readonly origin: string | undefined
  readonly title: string | undefined
  readonly passages: number
}

/** What documents are listed by: their source, else their doc_id; or a figure, and those with the same as they were stored. */
export type ListedBy = "source" | "indexed_at" | "passages"

/** A page of a list of documents. */
export interface ListPage {
  readonly limit: number
  /** Ordered by source: the last document of the page before, which may be gone by now. */
  readonly after?: Pick<DocumentSummary, "docId" | "source"> | undefined
  readonly filter?: Filter | undefined
  /** Only documents whose source, or doc_id if they have none, contains this, whatever the case. */
  readonly named?: string | undefined
  readonly by?: ListedBy | undefined
  readonly falling?: boolean | undefined
  /** Ordered by a figure: that of the last document of the page before, and its place. */
  readonly from?: readonly [figure: number, place: number] | undefined
}

/** Some of a document's passages, with its names. */
export interface DocumentPassages extends Pick<DocumentSummary, "docId" | "source" | "title"> {
  /** All its passages. */
  readonly total: number
  readonly passages: ReadonlyArray<Passage & { readonly ordinal: number }>
}

/** A listed document, with its figures but without its text. */
export interface ListedDocument extends DocumentSummary {
  /** UTF-16 units up to the end of its last passage. */
  readonly characters: number
  /** Milliseconds since the epoch. */
  readonly indexedAt: number
  /** Rises in the order of storing: its place among documents with the same figure. */
  readonly place: number
}

/** A document by its collection. */
export interface RecentDocument extends DocumentSummary {
  readonly collection: CollectionName
}

/** A sampled passage, with its document's names. */
export interface SampledPassage extends Pick<DocumentSummary, "docId" | "source" | "title"> {
  readonly text: string
}

export interface Deleted {
  readonly documents: number
  readonly passages: number
}

/** The result of compacting, in bytes of the database. */
export interface Compacted {
  readonly before: number
  readonly after: number
  /** False if another process still reads an older state, which stays beside the database until then. */
  readonly complete: boolean
}

/** Progress of a deletion by paths: the current path, and the last document checked. */
export interface PrunePosition {
  readonly path: number
  readonly origin: string
  readonly id: number
}

export interface Pruned extends Deleted {
  /** Undefined when all is done. */
  readonly next?: PrunePosition | undefined
}

/** Progress of a change of embedder, in passages. */
export interface ReindexState {
  readonly done: number
  readonly total: number
}

/** A passage that waits for its vector of the next embedder. */
export interface Unembedded extends Omit<EmbeddedPassage, "vector"> {
  readonly id: number
}

/** A passage and its vector; none: its text has none. */
export interface Embedded {
  readonly id: number
  readonly vector: Option.Option<Vector>
}

/** The progress of a change of embedder that a caller saw, so that two concurrent changes notice each other. */
export interface ReindexPosition {
  readonly embedder: EmbedderIdentity
  /** Passages up to and including this one have their new vector; 0 if none has. */
  readonly through: number
}

/** A collection, and the query's vector by its embedder. */
export interface Asked {
  readonly collection: CollectionName
  readonly vector?: Vector | undefined
  /** The embedder that the vector is from; not checked unless given. */
  readonly embedder?: EmbedderIdentity | undefined
}

/** A term that replaces a word of the query that matches nothing. */
export interface NearTerm {
  /** The word as written in the query. */
  readonly word: string
  readonly term: string
  /** Its weight relative to a word of the query, below 1. */
  readonly weight: number
}

/** How scores fade with a document's age: by half after each half-life, from the time that a metadata key tells. */
export interface Recency {
  readonly key: string
  readonly halfLifeDays: number
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** What to rank by, at least one leg. `alpha` is the weight of the vector leg, used only if both are set. */
export interface RankRequest extends Asked {
  /** Further collections to rank together with the first; those that no longer exist are skipped. */
  readonly others?: ReadonlyArray<Asked> | undefined
  readonly keyword?: string | undefined
  /** Whether the vectors only tell how similar the hits are, and the vector leg is not asked; default false. */
  readonly wordsAlone?: boolean | undefined
  /** Whether for words that match nothing the terms are looked up that are spelled most like them; not unless given. */
  readonly spelling?: boolean | undefined
  readonly alpha: number
  /** `alpha` for a query that is not in English, if the model knows no other language; default the same. */
  readonly foreignAlpha?: number | undefined
  /** Whether the vectors find texts in other languages than the query's, so that words count less there; default false. */
  readonly isMultilingual?: boolean | undefined
  readonly fusion: Fusion
  /** The constant of reciprocal rank fusion, default 10. */
  readonly rrfK?: number | undefined
  /** Whether the passages before and after a passage count towards its score if scores are fused; default false. */
  readonly context?: boolean | undefined
  /** Scores stay as they are unless given. */
  readonly recency?: Recency | undefined
  readonly filter: Filter
  /** What passages must contain, or must not. */
  readonly demands?: Demands | undefined
  /** The question, if the graph may lead on from the best hits; `auto`: only if it is likely to help. */
  readonly graph?: { readonly question: string; readonly auto: boolean } | undefined
  /** Whether to explain the scores. */
  readonly explain?: boolean | undefined
}

/** The list to make of a ranking. */
export interface Listing {
  /** Its length. */
  readonly places: number
  /** Whether hits that say nearly the same, and overlapping neighbours, are folded into the better hit. */
  readonly fold: boolean
  /** Most places per document, 0 for any number; its other passages come after all others. */
  readonly perDocument: number
  /** Places that folded and postponed hits fill, if not all: a caller orders more hits than it shows. */
  readonly filled?: number | undefined
  /** Hits of less relevance are left out. */
  readonly minRelevance: number
  /** The question by which relevance is judged. */
  readonly question: string
  /** Whether the caller orders the hits: those to which the graph leads stay apart, and only they have their relevance. */
  readonly apart?: boolean
}

export interface FindRequest extends RankRequest {
  readonly list: Listing
  /** What to count the documents by that the filter and the demands leave; nothing unless given. */
  readonly facets?: ReadonlyArray<string> | undefined
  /** About how many passages the collections have: what a store may decide by where to search. */
  readonly passages: number
}

/** What a search found. */
export interface Found {
  /** The list, each with its relevance unless the caller orders them. */
  readonly hits: ReadonlyArray<Hit>
  /** Where the graph leads, best first, if that stays apart. */
  readonly led?: ReadonlyArray<Hit>
  /** If that stays apart: how many hits, from the first, are neither folded into others nor postponed. */
  readonly open?: number
  /** The greatest relevance of what was ranked, where the request has a least one that nothing reaches. */
  readonly best?: number | undefined
  /** What was looked up for words that match nothing. */
  readonly near: ReadonlyArray<NearTerm>
  /** The inverse document frequency of each of the query's terms, if words were searched. */
  readonly rarity: ReadonlyMap<string, number>
  /** Passages that may meet the query's demands but were too many to check. */
  readonly unchecked: number
  /** Collections whose similarities have no known scale, so that nothing they found is called weak. */
  readonly unscaled: ReadonlyArray<CollectionName>
  /** The facets that were asked for. */
  readonly facets?: Facets | undefined
  /** How the ranking went, where the request asks for that and anything was searched. */
  readonly report?: RankReport | undefined
}

export interface StoreStats {
  readonly documents: number
  readonly passages: number
  readonly collections: number
  readonly databaseBytes: number
  /** What the store's engines say of themselves in this process. */
  readonly engines: ReadonlyArray<Figure>
}

/** A figure of what a store searches with; another store has others, so that doors pass them on by their names. */
export interface Figure {
  /** Ends with its unit. */
  readonly name: string
  /** What it is of, for people. */
  readonly what: string
  readonly value: number
}

/** Derived data of a collection being rebuilt from its texts or vectors, and the progress. */
export interface Rebuild {
  readonly collection: CollectionName
  readonly kind: "postings" | "codes" | "graph"
  /** In passages. */
  readonly done: number
  readonly total: number
  /** There is no old version to use meanwhile. */
  readonly missing: boolean
}
