import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"

/** The version of how codes are made and stored. Those of a lower one are made anew from the vectors. */
export const codesFormat = 1

/** Vectors that a collection has before codes are made of them: fewer are scored exactly in no time. */
export const codesFrom = 4096

/** Codes of one generation of a collection's vectors. */
export interface CodeSet {
  readonly id: number
  readonly width: number
  readonly seed: number
  readonly rows: number
  /** Goes up with every change. */
  readonly sequence: number
}

/** Whose codes: a collection's, and of which of its vectors. */
export interface SetKey {
  readonly collection: number
  /** `rebuilt`: of the vectors in use, to take the place of `current` when all are there. */
  readonly generation: "current" | "next" | "rebuilt"
}

/** A stored block, but for its body: the rows it has, and its least and greatest passage id. */
export interface Block {
  /** Rises with every block that is stored, and never comes again. */
  readonly version: number
  readonly epoch: number
  readonly rows: number
  readonly first: number
  readonly last: number
}

/** A centroid, and how many vectors there were when it was taken. */
export interface Centroid {
  readonly epoch: number
  readonly rows: number
  readonly centroid: Float32Array
}

export interface VectorRow {
  readonly id: number
  readonly vector: Float32Array
}

/** The vectors that codes are made of, by passage ids; each is as wide as it is said to be. */
export interface VectorSource<E> extends SetKey {
  /** How many there are, counted up to a limit. */
  readonly countUpTo: (limit: number) => Effect.Effect<number, E>
  /** Those after one, in order, so many at most. */
  readonly after: (passage: number, limit: number, width: number) => Effect.Effect<ReadonlyArray<VectorRow>, E>
  /** Those of some passages, in order. */
  readonly of: (passages: ReadonlyArray<number>, width: number) => Effect.Effect<ReadonlyArray<VectorRow>, E>
  /** So many at most, spread evenly over the ids. */
  readonly spread: (count: number, width: number) => Effect.Effect<ReadonlyArray<Float32Array>, E>
}

/**
 * Where codes are kept. All calls of one use of the engine see one snapshot, and all writes of one are made or none.
 * Bytes come back as they were given, or the call dies with `Damaged`; `E` is what else can go wrong there.
 */
export interface CodeStore<E> {
  readonly find: (key: SetKey) => Effect.Effect<Option.Option<CodeSet>, E>
  /** Collections that have codes. */
  readonly collections: Effect.Effect<ReadonlySet<number>, E>
  readonly create: (key: SetKey, width: number) => Effect.Effect<CodeSet, E>
  /** Notes a change of a set, and how many rows more or fewer there are. */
  readonly changed: (set: CodeSet, rows: number) => Effect.Effect<unknown, E>

  /** Every block of a set, by version. */
  readonly blocks: (set: number) => Effect.Effect<ReadonlyArray<Block>, E>
  /** An epoch's blocks of fewer rows, the smallest first, then by version. */
  readonly smallBlocks: (set: number, epoch: number, below: number) => Effect.Effect<ReadonlyArray<Block>, E>
  /** Blocks' bytes, each in the order asked for. */
  readonly bodies: (
    set: Pick<CodeSet, "id" | "width">,
    blocks: ReadonlyArray<Block>
  ) => Effect.Effect<ReadonlyArray<Uint8Array>, E>
  readonly insertBlocks: (
    set: number,
    blocks: ReadonlyArray<Omit<Block, "version"> & { readonly body: Uint8Array }>
  ) => Effect.Effect<unknown, E>
  readonly deleteBlocks: (versions: ReadonlyArray<number>) => Effect.Effect<unknown, E>

  /** The centroids of a set, by epoch. */
  readonly centroids: (set: Pick<CodeSet, "id" | "width">) => Effect.Effect<ReadonlyArray<Centroid>, E>
  readonly latestCentroid: (set: Pick<CodeSet, "id" | "width">) => Effect.Effect<Centroid | undefined, E>
  readonly addCentroid: (set: number, centroid: Centroid) => Effect.Effect<unknown, E>
}
