import type { FileEvent } from "../files/FileEvent.ts"

/** The most entries kept of each list, so that many broken files do not fill the memory. */
const kept = 10_000

/** Counts the outcomes of files and documents, event by event. */
export class Tally {
  files = 0
  bytes = 0
  created = 0
  updated = 0
  unchanged = 0
  passages = 0
  skipped = 0
  failed = 0
  /** Files that were indexed before and are gone. */
  gone = 0
  ignored = 0
  deleted = { documents: 0, passages: 0 }
  /** Characters of the documents so far in the file being read: its share of the work before it is done. */
  pending = 0
  readonly skippedByReason = new Map<string, number>()
  readonly skippedFiles: Array<Extract<FileEvent, { readonly _tag: "Skipped" }>> = []
  readonly failedFiles: Array<Extract<FileEvent, { readonly _tag: "Failed" }>> = []

  get indexed(): number {
    return this.created + this.updated
  }

  get documents(): number {
    return this.indexed + this.unchanged
  }

  add(event: FileEvent): void {
    switch (event._tag) {
      case "Indexed": {
        this[event.document.status] += 1
        this.pending += event.characters
        if (event.document.status !== "unchanged") this.passages += event.document.passages
        return
      }
      case "FileDone": {
        this.files += 1
        this.bytes += event.size
        this.pending = 0
        return
      }
      case "Unchanged": {
        this.files += 1
        this.bytes += event.size
        this.unchanged += event.documents
        return
      }
      case "Lost": {
        this[event.reason === "gone" ? "gone" : "ignored"] += 1
        return
      }
      case "Skipped": {
        this.skipped += 1
        this.skippedByReason.set(event.reason, (this.skippedByReason.get(event.reason) ?? 0) + 1)
        if (this.skippedFiles.length < kept) this.skippedFiles.push(event)
        return
      }
      case "Failed": {
        this.failed += 1
        if (this.failedFiles.length < kept) this.failedFiles.push(event)
        return
      }
      case "Pruned": {
        this.deleted.documents += event.documents
        this.deleted.passages += event.passages
      }
    }
  }
}
