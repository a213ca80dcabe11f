import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { CollectionSummary } from "../model/Collection.ts"
import type { Check } from "../model/Check.ts"
import type { Vector } from "../model/Passage.ts"
import type { Unembedded } from "../model/Stored.ts"
import type { StoreUnavailable } from "../Store.ts"

/** The repair for a finding; none deletes a document. */
export type Cure =
  | { readonly _tag: "Rebuild"; readonly kind: "postings" | "codes"; readonly collection: number }
  /** Recomputes counts, positions of passages and lists of metadata from the rows; deletes orphaned rows. */
  | { readonly _tag: "Rows" }
  /** The next `index` replaces the documents with these row ids. */
  | { readonly _tag: "Replace"; readonly documents: ReadonlyArray<number> }
  /** Deletes the vectors of these passages, to embed them again. */
  | { readonly _tag: "Vectors"; readonly collection: number; readonly passages: ReadonlyArray<number> }
  /** Detects the languages of these documents again, and rebuilds their collections' postings. */
  | { readonly _tag: "Languages"; readonly documents: ReadonlyArray<number> }
  /** Rebuilds the collection's graph from the texts. */
  | { readonly _tag: "Graph"; readonly collection: number }
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

/** A stored passage with its vector. */
export interface Embedded extends Unembedded {
  readonly vector: Vector
}

/** A passage without a vector, and whether it is known to have none. */
export interface Vectorless extends Unembedded {
  readonly isKnown: boolean
}

/** Checks an index, as a file and row by row, and repairs what can be rebuilt. */
export class Examiner extends Context.Tag("clew/Examiner")<
  Examiner,
  {
    /** Runs cheap checks first; every failure is a finding. Writes nothing. */
    readonly examine: (told: Told) => Effect.Effect<ReadonlyArray<Finding>>
    /** Copies the index as it is, damaged or not; gives the copy's name. */
    readonly copy: Effect.Effect<string, StoreUnavailable>
    /** Returns what was done, a sentence each. */
    readonly mend: (cures: ReadonlyArray<Cure>) => Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
    /**
     * Replaces an index with unreadable pages by a new one with everything that could be read and matches its
     * checksums. The damaged file is kept under another name. The cures name the derived data still to rebuild.
     */
    readonly salvage: Effect.Effect<
      { readonly kept: string; readonly done: ReadonlyArray<string>; readonly cures: ReadonlyArray<Cure> },
      StoreUnavailable
    >
    readonly collections: Effect.Effect<ReadonlyArray<CollectionSummary>, StoreUnavailable>
    /** Brings an index of an older version up to date. */
    readonly migrate: Effect.Effect<void, StoreUnavailable>
    /** Passages with vectors, or without, after a given one. */
    readonly embedded: (
      collection: number,
      after: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Embedded>, StoreUnavailable>
    readonly unembedded: (
      collection: number,
      after: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Vectorless>, StoreUnavailable>
    readonly putVectors: (
      collection: number,
      rows: ReadonlyArray<Pick<Vectorless, "id" | "isKnown"> & { readonly vector: Option.Option<Vector> }>
    ) => Effect.Effect<void, StoreUnavailable>
    /** Source files of documents, in order, after a given one. */
    readonly origins: (after: string, limit: number) => Effect.Effect<ReadonlyArray<Origin>, StoreUnavailable>
  }
>() {}
