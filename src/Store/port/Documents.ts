import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Collection, CollectionName, CollectionSummary, EmbedderIdentity } from "../../model/Collection.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { FileChange } from "../../model/File.ts"
import type { Filter } from "../../model/Filter.ts"
import type {
  Deleted,
  DocumentRef,
  EmbeddedPassage,
  ExportPage,
  ExportPosition,
  Figure,
  ListedDocument,
  PreparedDocument,
  PutOutcome,
  RecentDocument,
  SampledPassage,
  StoreStats,
  StoredDocument,
  StoredRef
} from "../../model/Stored.ts"
import type {
  CollectionExists,
  CollectionNotFound,
  DocumentConflict,
  DocumentNotFound,
  EmbedderMismatch,
  StoreUnavailable
} from "./errors.ts"

/** Keeps collections, documents, their passages and vectors. Every write is one transaction. */
export interface Documents {
  readonly createCollection: (
    name: CollectionName,
    embedder: EmbedderIdentity
  ) => Effect.Effect<Collection, CollectionExists | StoreUnavailable>
  readonly collection: (name: CollectionName) => Effect.Effect<Collection, CollectionNotFound | StoreUnavailable>
  /** Sorted by name. */
  readonly collections: Effect.Effect<ReadonlyArray<CollectionSummary>, StoreUnavailable>
  /** Takes effect at once; the dropped rows are deleted in steps, in the background. */
  readonly dropCollection: (name: CollectionName) => Effect.Effect<Deleted, CollectionNotFound | StoreUnavailable>
  /** What is stored under each ref, in the order of the refs. */
  readonly lookup: (
    collection: CollectionName,
    refs: ReadonlyArray<DocumentRef>
  ) => Effect.Effect<ReadonlyArray<Option.Option<StoredRef>>, CollectionNotFound | DocumentConflict | StoreUnavailable>
  /**
   * Passages with their vectors, in no order, of these documents and of one document per fingerprint, so that equal
   * passages need not be embedded again. Leaves out documents with very many passages or with none.
   */
  readonly embeddings: (
    collection: CollectionName,
    of: { readonly docIds: ReadonlyArray<DocumentId>; readonly fingerprints: ReadonlyArray<string> }
  ) => Effect.Effect<ReadonlyArray<EmbeddedPassage>, CollectionNotFound | StoreUnavailable>
  /**
   * All or nothing: a reader sees each document's old passages or its new ones, never a mix. With `embedder`, it must
   * be the collection's recorded one at that time. The records of files are written in the same transaction.
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
  /** Marks documents as seen by a run, updates the line of those that have moved, and writes the records of files. */
  readonly touch: (
    collection: CollectionName,
    documents: ReadonlyArray<{ readonly docId: DocumentId; readonly line?: number | undefined }>,
    seenBy?: number | undefined,
    files?: ReadonlyArray<FileChange>
  ) => Effect.Effect<void, CollectionNotFound | StoreUnavailable>
  readonly get: (
    collection: CollectionName,
    docId: DocumentId
  ) => Effect.Effect<StoredDocument, CollectionNotFound | DocumentNotFound | StoreUnavailable>
  /** Ordered by source, else doc_id; `after` is the last doc_id of the page before. */
  readonly list: (
    collection: CollectionName,
    page: { readonly limit: number; readonly after?: DocumentId | undefined; readonly filter?: Filter | undefined }
  ) => Effect.Effect<ReadonlyArray<ListedDocument>, CollectionNotFound | StoreUnavailable>
  /** The documents that were added or changed last, of all collections, newest first. */
  readonly recent: (limit: number) => Effect.Effect<ReadonlyArray<RecentDocument>, StoreUnavailable>
  /**
   * The passages at these places of a collection, in the order of the places: 0 is its oldest, 1 its newest. Returns
   * fewer if several places fall on the same passage.
   */
  readonly sample: (
    collection: CollectionName,
    places: ReadonlyArray<number>
  ) => Effect.Effect<ReadonlyArray<SampledPassage>, CollectionNotFound | StoreUnavailable>
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
   * come last. A document that is stored again meanwhile comes again.
   */
  readonly exported: (
    collection: CollectionName,
    page: { readonly limit: number; readonly from?: ExportPosition | undefined }
  ) => Effect.Effect<ExportPage, CollectionNotFound | StoreUnavailable>
  readonly deleteDocument: (
    collection: CollectionName,
    docId: DocumentId
  ) => Effect.Effect<Deleted, CollectionNotFound | DocumentNotFound | StoreUnavailable>
  /**
   * Deletes at most `limit` of the matching documents, in one transaction. None deleted means that none match any more.
   */
  readonly deleteMatching: (
    collection: CollectionName,
    filter: Filter,
    limit: number
  ) => Effect.Effect<Deleted, CollectionNotFound | StoreUnavailable>
  /** Exact match; deleting none is not an error. */
  readonly deleteSource: (
    collection: CollectionName,
    source: string
  ) => Effect.Effect<Deleted, CollectionNotFound | StoreUnavailable>
  readonly stats: (collection?: CollectionName) => Effect.Effect<StoreStats, CollectionNotFound | StoreUnavailable>
  /** Bytes in the database that searching reads, over all collections; takes milliseconds for a large index. */
  readonly sizes: () => Effect.Effect<ReadonlyArray<Figure>, StoreUnavailable>
}
