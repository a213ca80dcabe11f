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

/** Why a scan runs. */
export type Cause = "start" | "events" | "rescan" | "lost"

/** The result of a scan. */
interface Scanned {
  readonly cause: Cause
  readonly paths: ReadonlyArray<string>
  readonly files: number
  readonly created: number
  readonly updated: number
  readonly deleted: Deleted
  /** Files that could not be read or indexed. */
  readonly failed: number
  readonly ms: number
}

/** An event of a watcher. */
export type WatchEvent =
  /** Another process watches for this index; this one takes over when it ends. */
  | { readonly _tag: "Waiting"; readonly pid: number | undefined; readonly paths: ReadonlyArray<string> }
  /** From here on the system reports changes. */
  | { readonly _tag: "Following"; readonly paths: ReadonlyArray<string> }
  /** The system does not report changes, or no longer; all files are scanned at intervals instead. */
  | { readonly _tag: "Polling"; readonly reason: string; readonly advice?: string | undefined }
  /** A document that is new or changed, a file that failed, or files that were forgotten. */
  | { readonly _tag: "File"; readonly event: FileEvent }
  /** A watched path does not exist; none of its files are forgotten. */
  | { readonly _tag: "Missing"; readonly path: string }
  /** So many of its files are gone at once that none is forgotten. */
  | { readonly _tag: "Held"; readonly path: string; readonly files: number; readonly gone: number }
  | ({ readonly _tag: "Scanned" } & Scanned)
  /** A scan failed and will be repeated. */
  | { readonly _tag: "Broken"; readonly reason: string }
