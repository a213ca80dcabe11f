import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Collection, CollectionName, CollectionSummary, EmbedderIdentity } from "../../model/Collection.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { FileChange, IndexedRoot, KnownFile } from "../../model/File.ts"
import type { StoreInfo } from "../../model/Stats.ts"
import type { Filter } from "../../model/Filter.ts"
import type {
  Deleted,
  DocumentPassages,
  DocumentRef,
  DocumentSummary,
  EmbeddedPassage,
  ExportPage,
  ExportPosition,
  Figure,
  ListedDocument,
  ListPage,
  PreparedDocument,
  PrunePosition,
  Pruned,
  PutOptions,
  PutOutcome,
  RecentDocument,
  SampledPassage,
  StoreStats,
  StoredDocument,
  StoredRef
} from "../../model/Stored.ts"
import type {
  CollectionExists,
  DocumentConflict,
  DocumentNotFound,
  EmbedderMismatch,
  InCollection,
  StoreUnavailable
} from "./errors.ts"

/** Keeps collections, documents, their passages and vectors. Every write is one transaction. */
export interface Documents {
  /** With `next`, a change to that embedder begins. */
  readonly createCollection: (
    name: CollectionName,
    embedder: EmbedderIdentity,
    next?: EmbedderIdentity
  ) => Effect.Effect<Collection & Pick<CollectionSummary, "next">, CollectionExists | StoreUnavailable>
  readonly collection: (name: CollectionName) => InCollection<CollectionSummary>
  /** Sorted by name. */
  readonly collections: Effect.Effect<ReadonlyArray<CollectionSummary>, StoreUnavailable>
  /** Takes effect at once; the dropped rows are deleted in steps, in the background. */
  readonly dropCollection: (name: CollectionName) => InCollection<Deleted>
  /** What is stored under each ref, in the order of the refs. */
  readonly lookup: (
    collection: CollectionName,
    refs: ReadonlyArray<DocumentRef>
  ) => InCollection<ReadonlyArray<Option.Option<StoredRef>>, DocumentConflict>
  /**
   * Passages with their vectors, in no order, of these documents and of one document per fingerprint, so that equal
   * passages need not be embedded again. Leaves out documents with very many passages or with none.
   */
  readonly embeddings: (
    collection: CollectionName,
    of: { readonly docIds: ReadonlyArray<DocumentId>; readonly fingerprints: ReadonlyArray<string> }
  ) => InCollection<ReadonlyArray<EmbeddedPassage>>
  /**
   * All or nothing: a reader sees each document's old passages or its new ones, never a mix. With `embedder`, it must
   * be the collection's recorded one at that time. The records of files are written in the same transaction.
   */
  readonly put: (
    collection: CollectionName,
    documents: ReadonlyArray<PreparedDocument>,
    options?: PutOptions
  ) => InCollection<ReadonlyArray<PutOutcome>, DocumentConflict | EmbedderMismatch>
  /** Marks documents as seen by a run, updates the line of those that have moved, and writes the records of files. */
  readonly touch: (
    collection: CollectionName,
    documents: ReadonlyArray<{ readonly docId: DocumentId; readonly line?: number | undefined }>,
    seenBy?: number | undefined,
    files?: ReadonlyArray<FileChange>
  ) => InCollection<void>
  readonly get: (collection: CollectionName, docId: DocumentId) => InCollection<StoredDocument, DocumentNotFound>
  /** A document's passages from one on; fewer than `limit` only at its end. */
  readonly passages: (
    collection: CollectionName,
    docId: DocumentId,
    page: { readonly offset: number; readonly limit: number }
  ) => InCollection<DocumentPassages, DocumentNotFound>
  /** Ordered by source, else doc_id, or by a figure. */
  readonly list: (collection: CollectionName, page: ListPage) => InCollection<ReadonlyArray<ListedDocument>>
  /** The documents that were added or changed last, of all collections, newest first. */
  readonly recent: (limit: number) => Effect.Effect<ReadonlyArray<RecentDocument>, StoreUnavailable>
  /**
   * The passages at these places of a collection, in the order of the places: 0 is its oldest, 1 its newest. Returns
   * fewer if several places fall on the same passage.
   */
  readonly sample: (
    collection: CollectionName,
    places: ReadonlyArray<number>
  ) => InCollection<ReadonlyArray<SampledPassage>>
  /** How many passages of these collections a filter leaves; a collection that does not exist has none. */
  readonly filtered: (
    collections: ReadonlyArray<CollectionName>,
    filter: Filter
  ) => Effect.Effect<number, StoreUnavailable>
  /** Which of these keys no document's metadata have, and if there are any, some keys that exist. */
  readonly metadataKeys: (
    keys: ReadonlyArray<string>
  ) => Effect.Effect<
    { readonly unknown: ReadonlyArray<string>; readonly known: ReadonlyArray<string> },
    StoreUnavailable
  >
  /**
   * The next documents in the order in which they were stored, complete and with their vectors; those without passages
   * come last. A document that is stored again meanwhile comes again; one that is damaged is only named.
   */
  readonly exported: (
    collection: CollectionName,
    page: { readonly limit: number; readonly from?: ExportPosition | undefined }
  ) => InCollection<ExportPage>
  readonly deleteDocument: (collection: CollectionName, docId: DocumentId) => InCollection<Deleted, DocumentNotFound>
  /**
   * Deletes at most `limit` of the matching documents, in one transaction. None deleted means that none match any more.
   */
  readonly deleteMatching: (collection: CollectionName, filter: Filter, limit: number) => InCollection<Deleted>
  /** Exact match, of a document without a source with its `doc_id`; deleting none is not an error. */
  readonly deleteSource: (collection: CollectionName, source: string) => InCollection<Deleted>
  readonly stats: (collection?: CollectionName) => InCollection<StoreStats>
  /** Which store it is, and what it guarantees. */
  readonly about: () => Effect.Effect<StoreInfo, StoreUnavailable>
  /** Bytes in the database that searching reads, over all collections; takes milliseconds for a large index. */
  readonly sizes: () => Effect.Effect<ReadonlyArray<Figure>, StoreUnavailable>
}

/** Keeps what indexing runs record about files. */
export interface Files {
  /** The number of a new run: greater than that of every earlier run, in this process or another. */
  readonly beginRun: (collection: CollectionName, roots?: ReadonlyArray<IndexedRoot>) => InCollection<number>
  /** The records of those files that were indexed, in no order. */
  readonly knownFiles: (
    collection: CollectionName,
    paths: ReadonlyArray<string>
  ) => InCollection<ReadonlyArray<KnownFile>>
  /** The known files at a path or below it, by path; `after` is the last one of the page before. */
  readonly filesBelow: (
    collection: CollectionName,
    root: string,
    page: { readonly limit: number; readonly after?: string | undefined }
  ) => InCollection<ReadonlyArray<{ readonly id: number; readonly path: string }>>
  /** The documents of one file, in the order they were added; `after` is the last doc_id of the page before. */
  readonly documentsOf: (
    collection: CollectionName,
    path: string,
    page: { readonly limit: number; readonly after?: DocumentId | undefined }
  ) => InCollection<ReadonlyArray<DocumentSummary>>
  /** The paths given to runs, with the options last given with them. */
  readonly roots: (collection: CollectionName) => InCollection<ReadonlyArray<IndexedRoot>>
  /**
   * Deletes documents that came from files at or below one of the paths; with a run, only those last seen before it. It
   * holds the write lock for a bounded number of documents; `next`, if present, is where to continue.
   */
  readonly prune: (
    collection: CollectionName,
    paths: ReadonlyArray<string>,
    options?: { readonly before?: number | undefined; readonly from?: PrunePosition | undefined }
  ) => InCollection<Pruned>
}
