import type { FileEvent } from "./FileEvent.ts"
import type { Deleted } from "../model/Stored.ts"

/** Why a scan is made. */
export type Cause = "start" | "events" | "rescan" | "lost"

/** What one look at the files came to. */
export interface Scanned {
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

/** What a watcher has to tell. */
export type WatchEvent =
  /** Another process watches for this index; this one takes over when that ends. */
  | { readonly _tag: "Waiting"; readonly pid: number | undefined; readonly paths: ReadonlyArray<string> }
  /** From here on the system tells of changes. */
  | { readonly _tag: "Following"; readonly paths: ReadonlyArray<string> }
  /** It does not, or no more: all files are looked at now and then instead. */
  | { readonly _tag: "Polling"; readonly reason: string; readonly advice?: string | undefined }
  /** A document that came or changed, a file that failed, files that were forgotten. */
  | { readonly _tag: "File"; readonly event: FileEvent }
  /** A watched path is not there; nothing of it is forgotten. */
  | { readonly _tag: "Missing"; readonly path: string }
  /** So many of its files are gone at once that none is forgotten. */
  | { readonly _tag: "Held"; readonly path: string; readonly files: number; readonly gone: number }
  | ({ readonly _tag: "Scanned" } & Scanned)
  /** A scan broke off; it is made again. */
  | { readonly _tag: "Broken"; readonly reason: string }
