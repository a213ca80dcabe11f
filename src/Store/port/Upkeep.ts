import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Check } from "../../model/Check.ts"
import type { CollectionName, CollectionSummary, EmbedderIdentity } from "../../model/Collection.ts"
import type { Vector } from "../../model/Passage.ts"
import type {
  Compacted,
  Rebuild,
  ReindexPosition,
  ReindexState,
  Embedded,
  StoreStats,
  Unembedded
} from "../../model/Stored.ts"
import type { BackupRefused, InCollection, ReindexTakenOver, StoreUnavailable } from "./errors.ts"

/** Maintains derived data, and does deferred work. */
export interface Upkeep {
  /** Derived data to rebuild: made by another version, or missing. Most urgent first. */
  readonly rebuilds: () => Effect.Effect<ReadonlyArray<Rebuild>, StoreUnavailable>
  /**
   * Rebuilds part of them in one short transaction, and returns the progress; undefined: nothing is left. Searches use
   * the old ones until all of a collection's new ones exist.
   */
  readonly rebuildStep: () => Effect.Effect<Rebuild | undefined, StoreUnavailable>
  /** Does deferred work, such as merging, for some seconds at most; false: the disk is full, so it waits. */
  readonly settle: () => Effect.Effect<boolean, StoreUnavailable>
  /** Removes the remains of deleted documents, for some seconds at most; whether no byte of them is left. */
  readonly purge: () => Effect.Effect<boolean, StoreUnavailable>
  /** Whether rows of something dropped are still to be deleted. */
  readonly sweeping: () => Effect.Effect<boolean, StoreUnavailable>
  /** Resumes deferred or interrupted work in the background. */
  readonly resume: () => Effect.Effect<void, StoreUnavailable>
  /** Frees the space of deleted documents, and leaves no byte of them. */
  readonly compact: () => Effect.Effect<Compacted, StoreUnavailable>
}

/** Changes a collection's embedder, step by step, while searches use the recorded one. */
export interface Reindexing {
  /** The target of an unfinished change of embedder. */
  readonly reindexing: (collection: CollectionName) => InCollection<Option.Option<EmbedderIdentity>>
  /** Begins a change to another embedder, or resumes an interrupted one to the same embedder. */
  readonly beginReindex: (collection: CollectionName, embedder: EmbedderIdentity) => InCollection<ReindexState>
  /** Gives up an unfinished change of embedder, if there is one. */
  readonly cancelReindex: (collection: CollectionName) => InCollection<void>
  /** The next passages without a vector of the next embedder; the same ones until they get theirs. */
  readonly unembedded: (
    collection: CollectionName,
    embedder: EmbedderIdentity,
    limit: number
  ) => InCollection<
    { readonly position: ReindexPosition; readonly passages: ReadonlyArray<Unembedded> },
    ReindexTakenOver
  >
  /**
   * Stores vectors beside the ones in use, in the order of `unembedded`, unless the change is at another position by
   * now. Skips passages that are gone.
   */
  readonly putReindexed: (
    collection: CollectionName,
    embedded: ReadonlyArray<Embedded>,
    position: ReindexPosition
  ) => InCollection<void, ReindexTakenOver>
  /**
   * Switches over in one transaction, unless passages were added that have no new vector yet. `passages` is the
   * collection's count.
   */
  readonly finishReindex: (
    collection: CollectionName,
    embedder: EmbedderIdentity
  ) => InCollection<{ readonly changed: boolean; readonly passages: number }, ReindexTakenOver>
}

/** What takes a finding away; none deletes a document. */
export type Cure =
  /** Derived data are dropped, and made anew in steps. */
  | { readonly _tag: "Rebuild"; readonly kind: Rebuild["kind"]; readonly collection: number }
  /** Recomputes counts, positions of passages and lists of metadata from the rows; deletes orphaned rows. */
  | { readonly _tag: "Rows" }
  /** The next `index` replaces the documents with these row ids. */
  | { readonly _tag: "Replace"; readonly documents: ReadonlyArray<number> }
  /** Deletes the vectors of these passages, to embed them again. */
  | { readonly _tag: "Vectors"; readonly collection: number; readonly passages: ReadonlyArray<number> }
  | { readonly _tag: "Checkpoint" }
  /** Salvages what can be read into a new file, which replaces the damaged one. */
  | { readonly _tag: "Salvage" }
  /** Brings the index of an older version up to date; then it can be examined. */
  | { readonly _tag: "Migrate" }

/** Is told what is being examined, and how far that has come. */
export type Told = (what: string, part?: { readonly done: number; readonly total: number }) => Effect.Effect<void>

export interface Finding extends Check {
  readonly cure?: Cure | undefined
}

/** A source file of documents, and its stamp when it was read, if known. */
export interface Origin {
  readonly origin: string
  readonly size: number | undefined
  /** Nanoseconds. */
  readonly modified: string | undefined
}

/** Checks an index, as a file and row by row, and repairs what can be rebuilt. */
export interface Examining {
  /** Runs cheap checks first; every failure is a finding. Writes nothing. */
  readonly examine: (told: Told) => Effect.Effect<ReadonlyArray<Finding>>
  /** Copies the index as it is, damaged or not; gives the copy's name. */
  readonly copy: Effect.Effect<string, StoreUnavailable>
  /** Returns what was done, a sentence each. Documents whose collection is lost get another, of `embedder` if need be. */
  readonly mend: (
    cures: ReadonlyArray<Cure>,
    embedder?: EmbedderIdentity | undefined
  ) => Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
  /**
   * Replaces an index with unreadable pages by a new one with everything that could be read and matches its checksums.
   * The damaged file is kept under another name. Derived data are left to `mend`.
   */
  readonly salvage: Effect.Effect<{ readonly kept: string; readonly done: ReadonlyArray<string> }, StoreUnavailable>
  readonly collections: Effect.Effect<ReadonlyArray<CollectionSummary>, StoreUnavailable>
  /** Brings an index of an older version up to date; false: what that reads is damaged. */
  readonly migrate: Effect.Effect<boolean, StoreUnavailable>
  /** Passages with their vectors after a given one. */
  readonly embedded: (
    collection: number,
    after: number,
    limit: number
  ) => Effect.Effect<ReadonlyArray<Unembedded & { readonly vector: Vector }>, StoreUnavailable>
  /** Passages without a vector after a given one, and whether they are known to have none. */
  readonly unembedded: (
    collection: number,
    after: number,
    limit: number
  ) => Effect.Effect<ReadonlyArray<Unembedded & { readonly isKnown: boolean }>, StoreUnavailable>
  readonly putVectors: (collection: number, rows: ReadonlyArray<Embedded>) => Effect.Effect<void, StoreUnavailable>
  /** Source files of documents, in order, after a given one. */
  readonly origins: (after: string, limit: number) => Effect.Effect<ReadonlyArray<Origin>, StoreUnavailable>
}

/** The contents of a backup. */
export interface Backup extends Pick<StoreStats, "collections" | "documents" | "passages"> {
  readonly bytes: number
}

/** Copies a whole store, and restores such a copy; the store need not be open or intact. */
export interface BackingUp {
  /**
   * Writes the store's current state, while others write, to a file that only its owner can read, and checks it. It then
   * replaces an older backup atomically; one that is damaged replaces nothing. With `keep`, older ones stay as FILE.1,
   * FILE.2 and so on, so many in all. Refuses to replace any other file.
   */
  readonly backup: (
    file: string,
    options?: { readonly keep?: number | undefined }
  ) => Effect.Effect<Backup, BackupRefused | StoreUnavailable>
  /** Checks a backup: its pages, references, and the checksums of documents and vectors. Writes nothing. */
  readonly check: (file: string) => Effect.Effect<Backup, BackupRefused | StoreUnavailable>
  /**
   * Verifies a backup and replaces the store with it atomically; until then the store stays as it was. Refuses while
   * another program has the store open for writing.
   */
  readonly restore: (file: string) => Effect.Effect<Backup, BackupRefused | StoreUnavailable>
}
