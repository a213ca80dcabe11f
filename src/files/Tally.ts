import type { FileEvent } from "./FileEvent.ts"

/** The most entries kept of each list, so that many broken files do not fill the memory. */
const kept = 10_000

type Entry<Tag> = Omit<Extract<FileEvent, { readonly _tag: Tag }>, "_tag">

/** Counts the outcomes of files and documents, event by event, as the run's report names them. */
export class Tally {
  readonly counts = {
    files: 0,
    bytes: 0,
    created: 0,
    updated: 0,
    unchanged: 0,
    chunks: 0,
    skipped: 0,
    failed: 0,
    deleted_documents: 0,
    deleted_chunks: 0,
    files_gone: 0,
    files_ignored: 0,
    records_gone: 0,
    skipped_by_reason: {} as Record<string, number>,
    skipped_files: [] as Array<Entry<"Skipped">>,
    failed_files: [] as Array<Entry<"Failed">>
  }
  /** Characters of the documents so far in the file being read: its share of the work before it is done. */
  pending = 0

  get documents(): number {
    return this.counts.created + this.counts.updated + this.counts.unchanged
  }

  /** Whether the index is another than before. */
  get hasChanged(): boolean {
    return this.counts.created + this.counts.updated + this.counts.deleted_documents > 0
  }

  add(event: FileEvent): void {
    const { counts } = this
    switch (event._tag) {
      case "Indexed": {
        counts[event.document.status] += 1
        this.pending += event.characters
        if (event.document.status !== "unchanged") counts.chunks += event.document.passages
        return
      }
      case "FileDone":
      case "Unchanged": {
        counts.files += 1
        counts.bytes += event.size
        if (event._tag === "FileDone") this.pending = 0
        else counts.unchanged += event.documents
        return
      }
      case "Lost": {
        counts[event.reason === "gone" ? "files_gone" : "files_ignored"] += 1
        return
      }
      case "Skipped": {
        counts.skipped += 1
        counts.skipped_by_reason[event.reason] = (counts.skipped_by_reason[event.reason] ?? 0) + 1
        if (counts.skipped_files.length < kept) counts.skipped_files.push(event)
        return
      }
      case "Failed": {
        counts.failed += 1
        if (counts.failed_files.length < kept) counts.failed_files.push(event)
        return
      }
      case "Kept": {
        counts.records_gone += event.documents
        return
      }
      case "Pruned": {
        counts.deleted_documents += event.documents
        counts.deleted_chunks += event.passages
      }
    }
  }
}
