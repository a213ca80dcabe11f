import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { CollectionSummary } from "../model/Collection.ts"
import type { Check } from "../model/Check.ts"
import type { Vector } from "../model/Passage.ts"
import type { Unembedded } from "../model/Stored.ts"
import type { StoreUnavailable } from "../Store.ts"

/** What is to be done about a finding; nothing of it deletes a document. */
export type Cure =
  | { readonly _tag: "Rebuild"; readonly kind: "postings" | "codes"; readonly collection: number }
  /** Counts, places of passages and lists of metadata are taken from the rows; what belongs to nothing goes. */
  | { readonly _tag: "Rows" }
  /** The next `index` replaces the documents with these row ids. */
  | { readonly _tag: "Replace"; readonly documents: ReadonlyArray<number> }
  /** Vectors of these passages go, to be made anew. */
  | { readonly _tag: "Vectors"; readonly collection: number; readonly passages: ReadonlyArray<number> }
  /** The collection's graph is made anew from the texts. */
  | { readonly _tag: "Graph"; readonly collection: number }
  | { readonly _tag: "Checkpoint" }
  /** What can be read goes into a new file, which takes the place of the damaged one. */
  | { readonly _tag: "Salvage" }

export interface Finding extends Check {
  readonly cure?: Cure | undefined
}

/** A file that documents came from, and how it looked when it was read, where that is known. */
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

/** Looks an index over, as a file and row by row, and mends what can be made from what is there. */
export class Examiner extends Context.Tag("clew/Examiner")<
  Examiner,
  {
    /** Cheap checks first; whatever fails is a finding. Writes nothing. */
    readonly examine: Effect.Effect<ReadonlyArray<Finding>>
    /** Copies the index as it is, damaged or not; gives the copy's name. */
    readonly copy: Effect.Effect<string, StoreUnavailable>
    /** Gives what was done, a sentence each. */
    readonly mend: (cures: ReadonlyArray<Cure>) => Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
    /**
     * Puts a new index in the place of one whose pages cannot be read: what could be read of it, and is as it was stored.
     * The damaged one keeps another name. What is derived is still to be made, as the cures say.
     */
    readonly salvage: Effect.Effect<
      { readonly kept: string; readonly done: ReadonlyArray<string>; readonly cures: ReadonlyArray<Cure> },
      StoreUnavailable
    >
    readonly collections: Effect.Effect<ReadonlyArray<CollectionSummary>, StoreUnavailable>
    /** Passages with vectors, or without, after one of them. */
    readonly embedded: (
      collection: number,
      after: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Embedded>, StoreUnavailable>
    readonly unembedded: (
      collection: number,
      after: number,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Unembedded>, StoreUnavailable>
    readonly putVectors: (
      collection: number,
      rows: ReadonlyArray<{ readonly id: number; readonly vector: Vector }>
    ) => Effect.Effect<void, StoreUnavailable>
    /** Files that documents came from, in order, after one of them. */
    readonly origins: (after: string, limit: number) => Effect.Effect<ReadonlyArray<Origin>, StoreUnavailable>
  }
>() {}
