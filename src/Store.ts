import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import {
  type Collection,
  CollectionName,
  type CollectionSummary,
  describeEmbedder,
  EmbedderIdentity,
  sameEmbedder
} from "./model/Collection.ts"
import { DocumentId, type Metadata } from "./model/Document.ts"
import type { Filter } from "./model/Filter.ts"
import type { Passage, Vector } from "./model/Passage.ts"
import type { Fusion } from "./model/Query.ts"
import type { Hit } from "./model/SearchResult.ts"

/** The database cannot be used now: busy for too long, full, unreadable, damaged, or not ours. */
export class StoreUnavailable extends Schema.TaggedError<StoreUnavailable>()(
  "StoreUnavailable",
  { reason: Schema.String },
  HttpApiSchema.annotations({ status: 503 })
) {
  override get message() {
    return this.reason
  }
}

export class CollectionNotFound extends Schema.TaggedError<CollectionNotFound>()(
  "CollectionNotFound",
  { name: CollectionName },
  HttpApiSchema.annotations({ status: 404 })
) {
  override get message() {
    return `No collection named ${this.name}`
  }
}

export class CollectionExists extends Schema.TaggedError<CollectionExists>()(
  "CollectionExists",
  { name: CollectionName },
  HttpApiSchema.annotations({ status: 409 })
) {
  override get message() {
    return `A collection named ${this.name} exists already`
  }
}

export class DocumentNotFound extends Schema.TaggedError<DocumentNotFound>()(
  "DocumentNotFound",
  { docId: DocumentId },
  HttpApiSchema.annotations({ status: 404 })
) {
  override get message() {
    return `No document with id ${this.docId}`
  }
}

/** A doc_id and a source that name two different stored documents, or one document twice in a batch. */
export class DocumentConflict extends Schema.TaggedError<DocumentConflict>()(
  "DocumentConflict",
  { reason: Schema.String },
  HttpApiSchema.annotations({ status: 400 })
) {
  override get message() {
    return this.reason
  }
}

/** The collection's vectors were made by another embedder than the one at hand. */
export class EmbedderMismatch extends Schema.TaggedError<EmbedderMismatch>()(
  "EmbedderMismatch",
  { collection: CollectionName, recorded: EmbedderIdentity, configured: EmbedderIdentity },
  HttpApiSchema.annotations({ status: 409 })
) {
  override get message() {
    return (
      `Collection ${this.collection} was made with ${describeEmbedder(this.recorded)}, ` +
      `but ${describeEmbedder(this.configured)} is configured. ` +
      `Configure the recorded embedder, or run \`clew reindex\` to change over`
    )
  }
}

/** Another change of the collection's embedder began, or came further, while this one was under way. */
export class ReindexTakenOver extends Schema.TaggedError<ReindexTakenOver>()(
  "ReindexTakenOver",
  {
    collection: CollectionName,
    wanted: EmbedderIdentity,
    /** What the collection changes over to by now, or has changed over to. */
    other: EmbedderIdentity
  },
  HttpApiSchema.annotations({ status: 409 })
) {
  override get message() {
    const { collection, other, wanted } = this
    return sameEmbedder(other, wanted)
      ? `Another reindex of collection ${collection} to ${describeEmbedder(wanted)} went ahead of this one, which stops; let one run at a time`
      : `Another reindex, to ${describeEmbedder(other)}, took over collection ${collection}; this one, to ${describeEmbedder(wanted)}, stops`
  }
}

/** How a document is known: by its doc_id, else its source, else the hash of its content. */
export interface DocumentRef {
  readonly docId?: DocumentId | undefined
  readonly source?: string | undefined
  /** The id it gets when it has none of its own: the hash of its source, else of its content. */
  readonly derivedId: DocumentId
}

export interface StoredRef {
  readonly docId: DocumentId
  readonly source: string | undefined
  /** Hash of everything a document's passages are made from. */
  readonly fingerprint: string
  /** The run that last saw it. */
  readonly seenBy: number | undefined
  /** Set when the whole document stands on one line of its file. */
  readonly line: number | undefined
  readonly passages: number
}

export interface IndexedPassage extends Passage {
  /** None: found by keyword only. */
  readonly vector: Option.Option<Vector>
}

/** A document ready to be stored. Its passages' spans lie in `content`, in order. */
export interface PreparedDocument extends DocumentRef {
  readonly fingerprint: string
  readonly content: string
  readonly title?: string | undefined
  readonly metadata: Metadata
  /** Absolute path of the file it came from. */
  readonly origin?: string | undefined
  /** Set when the whole document stands on one line of its file. */
  readonly line?: number | undefined
  readonly passages: ReadonlyArray<IndexedPassage>
}

export interface PutOutcome {
  readonly docId: DocumentId
  readonly status: "created" | "updated"
  readonly passages: number
}

export interface StoredDocument {
  readonly docId: DocumentId
  readonly source: string | undefined
  readonly title: string | undefined
  readonly metadata: Metadata
  readonly content: string
  /** Milliseconds since the epoch. */
  readonly indexedAt: number
  readonly passages: ReadonlyArray<Passage & { readonly ordinal: number }>
}

export interface DocumentSummary {
  readonly docId: DocumentId
  readonly source: string | undefined
  readonly origin: string | undefined
  readonly title: string | undefined
  readonly passages: number
}

/** A passage out of many, with what names its document. */
export interface SampledPassage {
  readonly docId: DocumentId
  readonly title: string | undefined
  readonly text: string
}

export interface Deleted {
  readonly documents: number
  readonly passages: number
}

/** How far a change of embedder has come, in passages. */
export interface ReindexState {
  readonly done: number
  readonly total: number
}

/** A passage that waits for its vector of the next embedder. */
export interface Unembedded {
  readonly id: number
  readonly title: string | undefined
  readonly heading: ReadonlyArray<string>
  readonly text: string
}

export interface Reindexed {
  readonly id: number
  readonly vector: Option.Option<Vector>
}

/** How far a change of embedder had come when a caller looked, so that two changes at once notice each other. */
export interface ReindexPosition {
  readonly embedder: EmbedderIdentity
  /** The passages up to and with this one have their new vector; 0 where none has. */
  readonly through: number
}

/** What to rank by, at least one leg. `alpha` weighs the vector leg and counts only where both are set. */
export interface RankRequest {
  readonly collection: CollectionName
  readonly vector?: Vector | undefined
  readonly keyword?: string | undefined
  readonly alpha: number
  readonly fusion: Fusion
  readonly filter: Filter
  /** Hits wanted; if so many match, so many come. */
  readonly limit: number
}

export interface StoreStats {
  readonly documents: number
  readonly passages: number
  readonly collections: number
  readonly databaseBytes: number
  /** Bytes of the vectors' codes in this process's memory; the first search that needs them loads them. */
  readonly codeBytes?: number | undefined
  /** Milliseconds that loading them has taken. */
  readonly codesLoadedMs?: number | undefined
}

/** Bytes in the database, of all collections. */
export interface StoreSizes {
  readonly postings: number
  readonly codes: number
}

/** Keeps documents, their passages and vectors, and ranks passages. Every write is one transaction. */
export class Store extends Context.Tag("clew/Store")<
  Store,
  {
    readonly createCollection: (
      name: CollectionName,
      embedder: EmbedderIdentity
    ) => Effect.Effect<Collection, CollectionExists | StoreUnavailable>
    readonly collection: (name: CollectionName) => Effect.Effect<Collection, CollectionNotFound | StoreUnavailable>
    /** Sorted by name. */
    readonly collections: Effect.Effect<ReadonlyArray<CollectionSummary>, StoreUnavailable>
    readonly dropCollection: (name: CollectionName) => Effect.Effect<Deleted, CollectionNotFound | StoreUnavailable>

    /** What is stored under each ref, in the refs' order. */
    readonly lookup: (
      collection: CollectionName,
      refs: ReadonlyArray<DocumentRef>
    ) => Effect.Effect<
      ReadonlyArray<Option.Option<StoredRef>>,
      CollectionNotFound | DocumentConflict | StoreUnavailable
    >
    /**
     * All or nothing: a reader sees each document's old passages or its new ones, never a mix. With `embedder`, it must
     * be the one that the collection records by now.
     */
    readonly put: (
      collection: CollectionName,
      documents: ReadonlyArray<PreparedDocument>,
      options?: { readonly seenBy?: number | undefined; readonly embedder?: EmbedderIdentity | undefined }
    ) => Effect.Effect<
      ReadonlyArray<PutOutcome>,
      CollectionNotFound | DocumentConflict | EmbedderMismatch | StoreUnavailable
    >
    /** Marks documents as seen by a run, and moves those that stand on another line now. */
    readonly touch: (
      collection: CollectionName,
      documents: ReadonlyArray<{ readonly docId: DocumentId; readonly line?: number | undefined }>,
      seenBy?: number | undefined
    ) => Effect.Effect<void, CollectionNotFound | StoreUnavailable>
    /** The files at or below one of the paths from which documents came that the run did not see, each once. */
    readonly unseenOrigins: (
      collection: CollectionName,
      paths: ReadonlyArray<string>,
      seenBy: number
    ) => Effect.Effect<ReadonlyArray<string>, CollectionNotFound | StoreUnavailable>
    /** Deletes documents that came from files at or below one of the paths and that the run did not see. */
    readonly prune: (
      collection: CollectionName,
      paths: ReadonlyArray<string>,
      seenBy: number
    ) => Effect.Effect<Deleted, CollectionNotFound | StoreUnavailable>

    /** What a change of embedder that is under way, or was broken off, is to. */
    readonly reindexing: (
      collection: CollectionName
    ) => Effect.Effect<Option.Option<EmbedderIdentity>, CollectionNotFound | StoreUnavailable>
    /** Begins a change to another embedder, or takes up one to the same that was broken off. */
    readonly beginReindex: (
      collection: CollectionName,
      embedder: EmbedderIdentity
    ) => Effect.Effect<ReindexState, CollectionNotFound | StoreUnavailable>
    /** The next passages without a vector of the next embedder; the same ones until they are given theirs. */
    readonly unembedded: (
      collection: CollectionName,
      embedder: EmbedderIdentity,
      limit: number
    ) => Effect.Effect<
      { readonly position: ReindexPosition; readonly passages: ReadonlyArray<Unembedded> },
      CollectionNotFound | ReindexTakenOver | StoreUnavailable
    >
    /**
     * Keeps vectors beside the ones in use, in the order of `unembedded`, unless the change stands elsewhere by now; not
     * those of passages that are gone.
     */
    readonly putReindexed: (
      collection: CollectionName,
      embedded: ReadonlyArray<Reindexed>,
      position: ReindexPosition
    ) => Effect.Effect<void, CollectionNotFound | ReindexTakenOver | StoreUnavailable>
    /**
     * Changes over in one transaction, unless passages have come in that have no new vector yet. `passages` are the
     * collection's.
     */
    readonly finishReindex: (
      collection: CollectionName,
      embedder: EmbedderIdentity
    ) => Effect.Effect<
      { readonly changed: boolean; readonly passages: number },
      CollectionNotFound | ReindexTakenOver | StoreUnavailable
    >

    readonly get: (
      collection: CollectionName,
      docId: DocumentId
    ) => Effect.Effect<StoredDocument, CollectionNotFound | DocumentNotFound | StoreUnavailable>
    /** Ordered by source, else doc_id; `after` is the last doc_id of the page before. */
    readonly list: (
      collection: CollectionName,
      page: { readonly limit: number; readonly after?: DocumentId | undefined; readonly filter?: Filter | undefined }
    ) => Effect.Effect<ReadonlyArray<DocumentSummary>, CollectionNotFound | StoreUnavailable>
    /**
     * The passages at these places of a collection, 0 its oldest and 1 its newest, in the places' order; fewer where
     * places fall on the same passage.
     */
    readonly sample: (
      collection: CollectionName,
      places: ReadonlyArray<number>
    ) => Effect.Effect<ReadonlyArray<SampledPassage>, CollectionNotFound | StoreUnavailable>
    readonly deleteDocument: (
      collection: CollectionName,
      docId: DocumentId
    ) => Effect.Effect<Deleted, CollectionNotFound | DocumentNotFound | StoreUnavailable>
    /** Exact match; deleting nothing is not an error. */
    readonly deleteSource: (
      collection: CollectionName,
      source: string
    ) => Effect.Effect<Deleted, CollectionNotFound | StoreUnavailable>

    /**
     * The best passages, best first, all legs and texts from one snapshot. Score: cosine for the vector leg alone, BM25
     * for the keyword leg alone, else the fused score. Ties by doc_id, then ordinal.
     */
    readonly rank: (request: RankRequest) => Effect.Effect<ReadonlyArray<Hit>, CollectionNotFound | StoreUnavailable>
    readonly stats: (collection?: CollectionName) => Effect.Effect<StoreStats, CollectionNotFound | StoreUnavailable>
    /** What searching reads, as it is stored; takes milliseconds where there is much. */
    readonly sizes: () => Effect.Effect<StoreSizes, StoreUnavailable>
  }
>() {}
