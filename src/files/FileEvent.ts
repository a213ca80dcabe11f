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
  /** What was stored under `source` is gone: it holds nothing to index any more. */
  | { readonly _tag: "Skipped"; readonly path: string; readonly reason: string; readonly source?: string | undefined }
  | { readonly _tag: "Failed"; readonly path: string; readonly line?: number | undefined; readonly reason: string }
  /** A file that is lost, or that holds nothing to index any more. */
  | { readonly _tag: "Lost"; readonly path: string; readonly reason: string; readonly documents: number }
  /** Documents of a file whose records it no longer contains; only `prune` forgets them. */
  | { readonly _tag: "Kept"; readonly path: string; readonly documents: number }
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
  | Extract<FileEvent, { readonly _tag: "Held" }>
  | ({ readonly _tag: "Scanned" } & Scanned)
  /** A scan failed and will be repeated. */
  | { readonly _tag: "Broken"; readonly reason: string }

/** Reasons to skip files, as words after their number: of one file, of several. */
const counted: Readonly<Record<string, readonly [one: string, many: string]>> = {
  "a file of the index": ["file of the index itself", "files of the index itself"],
  "Git LFS pointer": ["Git LFS pointer", "Git LFS pointers"],
  "it holds no text": ["without text", "without text"],
  "lock file": ["lock file", "lock files"],
  "only links": ["with only links", "with only links"],
  "style sheet": ["style sheet", "style sheets"]
}

const skipped = (reason: string, times: number): string => {
  const unread = " is not read yet"
  const words =
    counted[reason]?.[times === 1 ? 0 : 1] ??
    (reason.endsWith(unread)
      ? `of a type not read yet (${reason.slice(0, -unread.length)})`
      : // A kind of file is counted; a reason in more words stands beside the number.
        /^(?:binary\b|\w+(?: \w+)?$)/.test(reason)
        ? reason
        : `(${reason})`)
  return `${times.toLocaleString("en")} ${words}`
}

/** What was skipped, the most frequent reasons first: `3 lock files, 1 binary (image/png)`. */
export const skipsText = (byReason: Readonly<Record<string, number>>): string =>
  Object.entries(byReason)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, times]) => skipped(reason, times))
    .slice(0, 8)
    .join(", ")
