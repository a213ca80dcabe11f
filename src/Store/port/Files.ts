import type * as Effect from "effect/Effect"
import type { CollectionName } from "../../model/Collection.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { IndexedRoot, KnownFile } from "../../model/File.ts"
import type { DocumentSummary, PrunePosition, Pruned } from "../../model/Stored.ts"
import type { CollectionNotFound, StoreUnavailable } from "./errors.ts"

/** Keeps what indexing runs record about files. */
export interface Files {
  /** The number of a new run: greater than that of every earlier run, in this process or another. */
  readonly beginRun: (
    collection: CollectionName,
    roots?: ReadonlyArray<IndexedRoot>
  ) => Effect.Effect<number, CollectionNotFound | StoreUnavailable>
  /** The records of those files that were indexed, in no order. */
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
  /** The documents of one file, in the order they were added; `after` is the last doc_id of the page before. */
  readonly documentsOf: (
    collection: CollectionName,
    path: string,
    page: { readonly limit: number; readonly after?: DocumentId | undefined }
  ) => Effect.Effect<ReadonlyArray<DocumentSummary>, CollectionNotFound | StoreUnavailable>
  /** The paths given to runs, with the options last given with them. */
  readonly roots: (
    collection: CollectionName
  ) => Effect.Effect<ReadonlyArray<IndexedRoot>, CollectionNotFound | StoreUnavailable>
  /**
   * Deletes documents that came from files at or below one of the paths; with a run, only those last seen before it. It
   * holds the write lock for a bounded number of documents; `next`, if present, is where to continue.
   */
  readonly prune: (
    collection: CollectionName,
    paths: ReadonlyArray<string>,
    options?: { readonly before?: number | undefined; readonly from?: PrunePosition | undefined }
  ) => Effect.Effect<Pruned, CollectionNotFound | StoreUnavailable>
}
