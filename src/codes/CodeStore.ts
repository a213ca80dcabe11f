import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"

/** The version of how codes are made and stored. Codes of a lower version are made again from the vectors. */
export const codesFormat = 1

/** A collection has codes from this many vectors on: scoring fewer exactly takes no noticeable time. */
export const codesFrom = 4096

/** The codes of one generation of a collection's vectors. */
export interface CodeSet {
  readonly id: number
  readonly width: number
  readonly seed: number
  readonly rows: number
  /** Increases with every change. */
  readonly sequence: number
}

/** Identifies the vectors that codes are made of: a collection and a generation. */
export interface SetKey {
  readonly collection: number
  /** `rebuilt`: codes of the vectors in use that will replace `current` when all exist. */
  readonly generation: "current" | "next" | "rebuilt"
}

/** A stored block without its body: its number of rows, and its lowest and highest passage id. */
export interface Block {
  /** Increases with every block stored, and is never reused. */
  readonly version: number
  readonly epoch: number
  readonly rows: number
  readonly first: number
  readonly last: number
}

/** A centroid, and the number of vectors when it was computed. */
export interface Centroid {
  readonly epoch: number
  readonly rows: number
  readonly centroid: Float32Array
}

export interface VectorRow {
  readonly id: number
  readonly vector: Float32Array
}

/** The vectors that codes are made of, by passage id; each has the width that the call names. */
export interface VectorSource<E> extends SetKey {
  /** The number of vectors, counted up to a limit. */
  readonly countUpTo: (limit: number) => Effect.Effect<number, E>
  /** At most `limit` vectors after one passage, in order. */
  readonly after: (passage: number, limit: number, width: number) => Effect.Effect<ReadonlyArray<VectorRow>, E>
  /** The vectors of some passages, in order. */
  readonly of: (passages: ReadonlyArray<number>, width: number) => Effect.Effect<ReadonlyArray<VectorRow>, E>
  /** At most `count` vectors, spread evenly over the ids. */
  readonly spread: (count: number, width: number) => Effect.Effect<ReadonlyArray<Float32Array>, E>
}

/**
 * Where codes are stored. All calls of one use of the engine see one snapshot, and all writes of one use succeed or
 * none. Bytes come back as they were given, or the call dies with `Damaged`; `E` is the store's other errors.
 */
export interface CodeStore<E> {
  readonly find: (key: SetKey) => Effect.Effect<Option.Option<CodeSet>, E>
  /** Collections that have codes. */
  readonly collections: Effect.Effect<ReadonlySet<number>, E>
  readonly create: (key: SetKey, width: number) => Effect.Effect<CodeSet, E>
  /** Records a change of a set, and the change of its number of rows. */
  readonly changed: (set: CodeSet, rows: number) => Effect.Effect<unknown, E>

  /** Every block of a set, by version. */
  readonly blocks: (set: number) => Effect.Effect<ReadonlyArray<Block>, E>
  /** An epoch's blocks with fewer than `below` rows, the smallest first, then by version. */
  readonly smallBlocks: (set: number, epoch: number, below: number) => Effect.Effect<ReadonlyArray<Block>, E>
  /** The blocks' bytes, in the order asked for. */
  readonly bodies: (
    set: Pick<CodeSet, "id" | "width">,
    blocks: ReadonlyArray<Block>
  ) => Effect.Effect<ReadonlyArray<Uint8Array>, E>
  readonly insertBlocks: (
    set: number,
    blocks: ReadonlyArray<Omit<Block, "version"> & { readonly body: Uint8Array }>
  ) => Effect.Effect<unknown, E>
  readonly deleteBlocks: (versions: ReadonlyArray<number>) => Effect.Effect<unknown, E>

  /** The centroids of a set, the latest last. */
  readonly centroids: (set: Pick<CodeSet, "id" | "width">) => Effect.Effect<ReadonlyArray<Centroid>, E>
  readonly addCentroid: (set: number, centroid: Centroid) => Effect.Effect<unknown, E>
}
