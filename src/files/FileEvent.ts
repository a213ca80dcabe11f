import type { IndexedDocument } from "../model/Draft.ts"
import type { Deleted } from "../model/Stored.ts"
import type { SkipReason } from "./WalkEvent.ts"

/** Why a previously indexed file is lost: it is gone, or the walk now skips it. */
export type LossReason = "gone" | SkipReason

/**
 * What happened to a file, a record or a document. A file is done once its documents are committed. An unchanged file is
 * not read, and its documents are named only on request.
 */
export type FileEvent =
  | { readonly _tag: "Indexed"; readonly document: IndexedDocument; readonly characters: number }
  | { readonly _tag: "FileDone"; readonly path: string; readonly size: number }
  | { readonly _tag: "Unchanged"; readonly path: string; readonly size: number; readonly documents: number }
  | { readonly _tag: "Skipped"; readonly path: string; readonly reason: string }
  | { readonly _tag: "Failed"; readonly path: string; readonly line?: number | undefined; readonly reason: string }
  | { readonly _tag: "Lost"; readonly path: string; readonly reason: LossReason; readonly documents: number }
  | ({ readonly _tag: "Pruned" } & Deleted)
  /** So many of the files known below a path are gone at once that none is forgotten. */
  | { readonly _tag: "Held"; readonly path: string; readonly files: number; readonly gone: number }
