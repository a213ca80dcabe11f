import type * as Effect from "effect/Effect"
import type { CollectionName } from "../../model/Collection.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { IndexedRoot, KnownFile } from "../../model/File.ts"
import type { DocumentSummary, PrunePosition, Pruned } from "../../model/Stored.ts"
import type { CollectionNotFound, StoreUnavailable } from "./errors.ts"

/** Keeps what runs over files have found out about them. */
export interface Files {
  /** The number of a run that begins now: greater than that of every run before it, in this process or another. */
  readonly beginRun: (
    collection: CollectionName,
    roots?: ReadonlyArray<IndexedRoot>
  ) => Effect.Effect<number, CollectionNotFound | StoreUnavailable>
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
}
