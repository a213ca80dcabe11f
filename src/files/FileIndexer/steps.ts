import * as Chunk from "effect/Chunk"
import * as Sink from "effect/Sink"
import type { Draft } from "../../model/Draft.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { FileChange, FileStamp, KnownFile } from "../../model/File.ts"
import type { FileEvent } from "../FileEvent.ts"

/** A file being read, and the results so far. */
export class Reading {
  readonly path: string
  readonly size: number
  /** Undefined if it proves nothing, or if there is no file. */
  readonly stamp: FileStamp | undefined
  readonly known: KnownFile | undefined
  /** The ids of its documents, only in a dry run: a real one marks documents in the store. */
  readonly met: Set<DocumentId> | undefined
  reader: string | undefined
  documents = 0
  many = false
  /** Its first problem; the rest of it may have been read. */
  failure: string | undefined
  isUnreadable = false
  /** Its problem is a limit: it need not be read again before it or the limit changes. */
  isLimited = false
  /** Why none of it is read. */
  isVoid: string | undefined

  constructor(given: {
    readonly path: string
    readonly size: number
    readonly stamp?: FileStamp | undefined
    readonly known?: KnownFile | undefined
    readonly dryRun: boolean
  }) {
    this.path = given.path
    this.size = given.size
    this.stamp = given.stamp
    this.known = given.known
    this.met = given.dryRun ? new Set() : undefined
  }

  /** The record to keep of it: complete once it is done, else marked as unfinished. */
  change(settings: string, isDone: boolean): FileChange {
    // Until it is complete, documents that an earlier run stored may still be there.
    const before = isDone && this.failure === undefined ? undefined : this.known
    return {
      path: this.path,
      stamp: this.failure === undefined || this.isLimited ? this.stamp : undefined,
      reader: this.reader,
      settings,
      outcome: !isDone
        ? "unfinished"
        : this.failure !== undefined
          ? "failed"
          : this.isVoid !== undefined
            ? "skipped"
            : "indexed",
      reason: this.failure ?? this.isVoid,
      documents: Math.max(this.documents, before?.documents ?? 0),
      many: before?.many ?? this.many,
      expected: this.known?.run
    }
  }

  /**
   * Whether documents that it no longer contains may be left. For records, `prune` decides; if the file is no longer
   * readable or of the other kind, its old documents are gone.
   */
  hasLeftovers(prune: boolean): boolean {
    if (this.known === undefined || this.known.documents === 0 || this.failure !== undefined) return false
    return this.isVoid !== undefined || this.known.many !== this.many || (prune && this.many)
  }
}

/** An event of a run on its way through the files. */
export type Step =
  | { readonly _tag: "Draft"; readonly draft: Draft; readonly file: Reading }
  | { readonly _tag: "Rejected"; readonly file: Reading; readonly line: number; readonly reason: string }
  /** The end of a file. */
  | { readonly _tag: "Read"; readonly file: Reading }
  | { readonly _tag: "Known"; readonly file: KnownFile; readonly size: number }
  | FileEvent

/** A batch is one transaction: large enough to be fast, small enough to stop soon. */
const batch = { documents: 128, characters: 512 * 1024 }

const weigh = (step: Step): number =>
  step._tag === "Known"
    ? batch.characters / 1024
    : Math.max(batch.characters / batch.documents, step._tag === "Draft" ? step.draft.content.length : 0)

export const toBatches = Sink.foldWeighted<Chunk.Chunk<Step>, Step>({
  initial: Chunk.empty(),
  maxCost: batch.characters,
  cost: (_, step) => weigh(step),
  body: Chunk.append
})
