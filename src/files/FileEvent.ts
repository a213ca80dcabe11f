import type { IndexedDocument } from "../model/Draft.ts"
import type { Deleted } from "../model/Stored.ts"
import type { SkipReason } from "./WalkEvent.ts"

/** Why a file that was indexed before is not met any more: it is gone, or passed over by now. */
export type LossReason = "gone" | SkipReason

/**
 * What happened to a file, a record or a document. A file is done when its documents are committed; one that looks as it
 * did is not read, and its documents are not named unless that was asked for.
 */
export type FileEvent =
  | { readonly _tag: "Indexed"; readonly document: IndexedDocument; readonly characters: number }
  | { readonly _tag: "FileDone"; readonly path: string; readonly size: number }
  | { readonly _tag: "Unchanged"; readonly path: string; readonly size: number; readonly documents: number }
  | { readonly _tag: "Skipped"; readonly path: string; readonly reason: string }
  | { readonly _tag: "Failed"; readonly path: string; readonly line?: number | undefined; readonly reason: string }
  | { readonly _tag: "Lost"; readonly path: string; readonly reason: LossReason; readonly documents: number }
  | ({ readonly _tag: "Pruned" } & Deleted)
  /** Of the files known below a path, so many are gone at once that nothing of it is forgotten. */
  | { readonly _tag: "Held"; readonly path: string; readonly files: number; readonly gone: number }
