import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import {
  type Collection,
  CollectionName,
  type CollectionSummary,
  describeDifference,
  describeEmbedder,
  sameButForDigest,
  EmbedderIdentity,
  sameEmbedder
} from "./model/Collection.ts"
import { DocumentId } from "./model/Document.ts"
import type { FileChange, IndexedRoot, KnownFile } from "./model/File.ts"
import type { RankReport } from "./model/Explain.ts"
import type { Filter } from "./model/Filter.ts"
import type { Entity, GraphPassage, GraphStep, GraphUnasked, Said } from "./model/Graph.ts"
import type { Hit } from "./model/SearchResult.ts"
import type {
  Compacted,
  Deleted,
  DocumentRef,
  DocumentSummary,
  EmbeddedPassage,
  ListedDocument,
  NearTerm,
  ExportedDocument,
  PreparedDocument,
  PrunePosition,
  Pruned,
  PutOutcome,
  RankRequest,
  Rebuild,
  RecentDocument,
  ReindexPosition,
  ReindexState,
  Reindexed,
  SampledPassage,
  StoreSizes,
  StoreStats,
  StoredDocument,
  StoredRef,
  Unembedded
} from "./model/Stored.ts"

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
  {
    reason: Schema.String,
    /** Places in the batch, from 0; two where one document stands twice. */
    places: Schema.Array(Schema.Int)
  },
  HttpApiSchema.annotations({ status: 400 })
) {
  override get message() {
    return this.reason
  }
  /** The places as a request's body has them. */
  get errors() {
    const [first, second] = this.places
    const message = second === undefined ? this.reason : `is the same document as documents.${first}`
    return first === undefined ? [] : [{ path: `documents.${second ?? first}`, message }]
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
      `Collection ${this.collection} was ${describeDifference(this.recorded, this.configured)}. ` +
      (sameButForDigest(this.recorded, this.configured)
        ? `Run \`clew reindex\` to embed its passages anew`
        : `Configure the recorded embedder, or run \`clew reindex\` to change over`)
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
    /** At once for everybody; what it held is taken away in steps, beside everything else. */
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
     * Passages of these documents, and of one document for each of the fingerprints, with their vectors, in no order; not
     * those of documents with very many passages, or that have none. They spare their like from being embedded again.
     */
    readonly embeddings: (
      collection: CollectionName,
      of: { readonly docIds: ReadonlyArray<DocumentId>; readonly fingerprints: ReadonlyArray<string> }
    ) => Effect.Effect<ReadonlyArray<EmbeddedPassage>, CollectionNotFound | StoreUnavailable>
    /**
     * All or nothing: a reader sees each document's old passages or its new ones, never a mix. With `embedder`, it must
     * be the one that the collection records by now. What is said of files is kept in the same transaction.
     */
    readonly put: (
      collection: CollectionName,
      documents: ReadonlyArray<PreparedDocument>,
      options?: {
        readonly seenBy?: number | undefined
        readonly embedder?: EmbedderIdentity | undefined
        readonly files?: ReadonlyArray<FileChange> | undefined
      }
    ) => Effect.Effect<
      ReadonlyArray<PutOutcome>,
      CollectionNotFound | DocumentConflict | EmbedderMismatch | StoreUnavailable
    >
    /** The number of a run that begins now: greater than that of every run before it, in this process or another. */
    readonly beginRun: (
      collection: CollectionName,
      roots?: ReadonlyArray<IndexedRoot>
    ) => Effect.Effect<number, CollectionNotFound | StoreUnavailable>
    /** Marks documents as seen by a run, moves those that stand on another line now, and keeps what is said of files. */
    readonly touch: (
      collection: CollectionName,
      documents: ReadonlyArray<{ readonly docId: DocumentId; readonly line?: number | undefined }>,
      seenBy?: number | undefined,
      files?: ReadonlyArray<FileChange>
    ) => Effect.Effect<void, CollectionNotFound | StoreUnavailable>
    /** What is known of files that were indexed, in no order; nothing of others. */
    readonly knownFiles: (
      collection: CollectionName,
      paths: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<KnownFile>, CollectionNotFound | StoreUnavailable>
    /** The known files at a path or below it, by path; `after` is the last one of the page before. */
    readonly filesBelow: (
      collection: CollectionName,
      root: string,
      page: { readonly limit: number; readonly after?: string | undefined }
    ) => Effect.Effect<
      ReadonlyArray<{ readonly id: number; readonly path: string }>,
      CollectionNotFound | StoreUnavailable
    >
    /** The documents of one file, in the order they came in; `after` is the last doc_id of the page before. */
    readonly documentsOf: (
      collection: CollectionName,
      path: string,
      page: { readonly limit: number; readonly after?: DocumentId | undefined }
    ) => Effect.Effect<ReadonlyArray<DocumentSummary>, CollectionNotFound | StoreUnavailable>
    /** The paths that were given to runs, with what was said with them the last time. */
    readonly roots: (
      collection: CollectionName
    ) => Effect.Effect<ReadonlyArray<IndexedRoot>, CollectionNotFound | StoreUnavailable>
    /**
     * Deletes documents that came from files at or below one of the paths, only those last seen before a run if one is
     * named. It holds the write lock for a bounded number of documents: `next`, if there is one, is where to go on.
     */
    readonly prune: (
      collection: CollectionName,
      paths: ReadonlyArray<string>,
      options?: { readonly before?: number | undefined; readonly from?: PrunePosition | undefined }
    ) => Effect.Effect<Pruned, CollectionNotFound | StoreUnavailable>

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

    /** Derived data that another version made, or that are missing, and have to be made anew. Most pressing first. */
    readonly rebuilds: () => Effect.Effect<ReadonlyArray<Rebuild>, StoreUnavailable>
    /**
     * Makes some of them anew, a short transaction's worth, and gives how far that has come; undefined: nothing is left.
     * Searches are answered from the old ones until a collection's new ones are all there.
     */
    readonly rebuildStep: () => Effect.Effect<Rebuild | undefined, StoreUnavailable>

    readonly get: (
      collection: CollectionName,
      docId: DocumentId
    ) => Effect.Effect<StoredDocument, CollectionNotFound | DocumentNotFound | StoreUnavailable>
    /** Ordered by source, else doc_id; `after` is the last doc_id of the page before. */
    readonly list: (
      collection: CollectionName,
      page: { readonly limit: number; readonly after?: DocumentId | undefined; readonly filter?: Filter | undefined }
    ) => Effect.Effect<ReadonlyArray<ListedDocument>, CollectionNotFound | StoreUnavailable>
    /** The documents that came in or changed last, of all collections, the newest first. */
    readonly recent: (limit: number) => Effect.Effect<ReadonlyArray<RecentDocument>, StoreUnavailable>
    /**
     * The passages at these places of a collection, 0 its oldest and 1 its newest, in the places' order; fewer where
     * places fall on the same passage.
     */
    readonly sample: (
      collection: CollectionName,
      places: ReadonlyArray<number>
    ) => Effect.Effect<ReadonlyArray<SampledPassage>, CollectionNotFound | StoreUnavailable>
    /** Which of these keys no document's metadata has, and if any, some that there are. */
    readonly metadataKeys: (
      keys: ReadonlyArray<string>
    ) => Effect.Effect<
      { readonly unknown: ReadonlyArray<string>; readonly known: ReadonlyArray<string> },
      StoreUnavailable
    >
    /** The next documents by doc_id, whole and with their vectors. */
    readonly exported: (
      collection: CollectionName,
      page: { readonly limit: number; readonly after?: DocumentId | undefined }
    ) => Effect.Effect<ReadonlyArray<ExportedDocument>, CollectionNotFound | StoreUnavailable>
    readonly deleteDocument: (
      collection: CollectionName,
      docId: DocumentId
    ) => Effect.Effect<Deleted, CollectionNotFound | DocumentNotFound | StoreUnavailable>
    /** At most `limit` of the documents that match, in one transaction; none deleted means that none match any more. */
    readonly deleteMatching: (
      collection: CollectionName,
      filter: Filter,
      limit: number
    ) => Effect.Effect<Deleted, CollectionNotFound | StoreUnavailable>
    /** Exact match; deleting nothing is not an error. */
    readonly deleteSource: (
      collection: CollectionName,
      source: string
    ) => Effect.Effect<Deleted, CollectionNotFound | StoreUnavailable>

    /** Does what is put off until there is time, such as merging, for some seconds at most. */
    readonly settle: () => Effect.Effect<void, StoreUnavailable>
    /** Takes out what is left of deleted documents for some seconds at most; whether no byte of them is left. */
    readonly purge: () => Effect.Effect<boolean, StoreUnavailable>
    /** Whether something that was dropped is still being taken away, or waits for it. */
    readonly sweeping: () => Effect.Effect<boolean, StoreUnavailable>
    /** Goes on with what was put off or broken off, beside everything else. */
    readonly resume: () => Effect.Effect<void, StoreUnavailable>
    /** Gives back what deleted documents have taken, and leaves no byte of them. */
    readonly compact: () => Effect.Effect<Compacted, StoreUnavailable>

    /**
     * The best passages, best first, all legs and texts from one snapshot. Score: cosine for the vector leg alone, BM25
     * for the keyword leg alone, else the fused score. Ties by doc_id, then collection, then ordinal. Several collections
     * are ranked as though they were one, except that vectors of different embedders are fused by their ranks.
     */
    readonly rank: (request: RankRequest) => Effect.Effect<ReadonlyArray<Hit>, CollectionNotFound | StoreUnavailable>
    /** The same with how each score came about, and how the ranking went; nothing to tell where nothing is searched. */
    readonly explain: (
      request: RankRequest
    ) => Effect.Effect<
      { readonly hits: ReadonlyArray<Hit>; readonly report?: RankReport },
      CollectionNotFound | StoreUnavailable
    >
    /** For the words of a query that match nothing in the collections, the terms there that are spelled most like them. */
    readonly nearTerms: (
      collections: ReadonlyArray<CollectionName>,
      query: string
    ) => Effect.Effect<ReadonlyArray<NearTerm>, CollectionNotFound | StoreUnavailable>
    /** Which of these words stand in a passage as they are written, `-jar` with its dash; a bounded number of passages is looked at. */
    readonly written: (
      collections: ReadonlyArray<CollectionName>,
      words: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<string>, CollectionNotFound | StoreUnavailable>
    readonly stats: (collection?: CollectionName) => Effect.Effect<StoreStats, CollectionNotFound | StoreUnavailable>
    /** Brings the next passages after one, 0 before the first, into the graph, as far as they are not in it. */
    readonly extendGraph: (
      collection: CollectionName,
      after: number,
      limit: number
    ) => Effect.Effect<GraphStep, CollectionNotFound | StoreUnavailable>
    /**
     * Of the next passages after one, 0 before the first, those that this model was not asked about. One whose words it was
     * asked about elsewhere gets what it said there.
     */
    readonly graphUnasked: (
      collection: CollectionName,
      model: string,
      after: number,
      limit: number
    ) => Effect.Effect<GraphUnasked, CollectionNotFound | StoreUnavailable>
    /** Keeps what a model said of a passage, and brings it into the graph; false: the passage is gone. */
    readonly keepSaid: (
      collection: CollectionName,
      passage: number,
      model: string,
      said: Said
    ) => Effect.Effect<boolean, CollectionNotFound | StoreUnavailable>
    /** The share of the collection's documents that name or link another, of a sample where there are many. */
    readonly linkage: (collection: CollectionName) => Effect.Effect<number, CollectionNotFound | StoreUnavailable>
    /** The next passages in the graph after one, 0 before the first, with their mentions. */
    readonly graphPage: (
      collection: CollectionName,
      after: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<GraphPassage>, CollectionNotFound | StoreUnavailable>
    /** These passages, as far as they are the collection's and in the graph, in order of their ids. */
    readonly graphPassages: (
      collection: CollectionName,
      ids: ReadonlyArray<number>
    ) => Effect.Effect<ReadonlyArray<GraphPassage>, CollectionNotFound | StoreUnavailable>
    /** Entities by their hashes, those that there are; of each a bounded number of places, the defining first. */
    readonly graphEntities: (
      collection: CollectionName,
      hashes: ReadonlyArray<number>
    ) => Effect.Effect<ReadonlyArray<readonly [hash: number, entity: Entity]>, CollectionNotFound | StoreUnavailable>
    /** What searching reads, as it is stored; takes milliseconds where there is much. */
    readonly sizes: () => Effect.Effect<StoreSizes, StoreUnavailable>
  }
>() {}
