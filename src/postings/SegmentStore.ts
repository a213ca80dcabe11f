import type * as Effect from "effect/Effect"
import type { Block } from "./block.ts"
import type { Head } from "./head.ts"

/**
 * What becomes of a segment: it is searched, or a merge is filling it, or its rows are being taken away, or it waits for
 * the others of a rebuild.
 */
export const State = { live: 0, building: 1, garbage: 2, waiting: 3 } as const
export type State = (typeof State)[keyof typeof State]

/** The version of how segments are stored. Postings of a lower one are made anew from the stored texts. */
export const postingsFormat = 1

/** Passages a segment has at most, which bounds its longest postings and its number of blocks. */
export const maxPassages = 2 ** 20

/** Ordinals to a chunk of tombstones. */
export const chunkOrdinals = 8192

/**
 * Passages that came together, in order of their ids, and the postings of their terms. Never changed once it is live
 * but for its tombstones. The segments of a collection follow each other by their passages' ids.
 */
export interface Segment {
  readonly id: number
  readonly collection_id: number
  /** Its content's name: no other segment has it, in any database, not even after a rollback. */
  readonly stamp: number
  readonly passages: number
  /** Terms of all its passages together, the deleted ones' among them. */
  readonly terms: number
  readonly dead: number
  readonly dead_terms: number
  /** Its tombstones' name; another with every change of them. */
  readonly version: number
  readonly first_id: number
  readonly last_id: number
  readonly blocks: number
  /** While a merge fills it: the last term that is done. */
  readonly through: Buffer | null
  /** While a merge fills it: the segments that it takes the place of, in order. */
  readonly inputs: string | null
  readonly format: number
  /** `termsVersion` of the program that made its terms. */
  readonly terms_version: number
  /** How many passages of each language it was made of: `de:812 en:20`. */
  readonly languages: string
}

/** A segment as it begins; the store gives it its id. */
export interface NewSegment extends Pick<
  Segment,
  "collection_id" | "passages" | "terms" | "first_id" | "last_id" | "blocks" | "format" | "terms_version" | "languages"
> {
  readonly stamp?: number
  readonly inputs?: ReadonlyArray<number>
  readonly state?: State
}

export interface BlockRef {
  readonly segment: number
  /** From 0 on. */
  readonly block: number
}

/**
 * Where segments are kept. All calls of one use of the engine see one snapshot, and all writes of one are made or none.
 * Bytes come back as they were given, or the call dies with `Damaged`; `E` is what else can go wrong there.
 */
export interface SegmentStore<E> {
  /** A collection's segments that are searched, by their passages. */
  readonly live: (collection: number) => Effect.Effect<ReadonlyArray<Segment>, E>
  /** The lists of languages that a collection's segments have which are searched. */
  readonly languages: (collection: number) => Effect.Effect<ReadonlyArray<string>, E>
  /** The segments that know a collection's passages: the live ones, and those of a rebuild. */
  readonly holding: (collection: number) => Effect.Effect<ReadonlyArray<Segment>, E>
  /** Of all collections, by collection and passages. */
  readonly inState: (state: State) => Effect.Effect<ReadonlyArray<Segment>, E>
  /** Collections whose postings are being made anew. */
  readonly rebuilding: Effect.Effect<ReadonlySet<number>, E>

  /** Adds a segment and gives its id. */
  readonly add: (segment: NewSegment) => Effect.Effect<number, E>
  /** Notes how far the merge that fills a segment has come. */
  readonly advanced: (segment: number, through: Buffer, blocks: number) => Effect.Effect<unknown, E>
  /** What a merge has filled is searched from now on. */
  readonly completed: (segment: number, blocks: number) => Effect.Effect<unknown, E>
  /** A segment is searched no more; its rows wait to be cleared. */
  readonly discard: (segment: number) => Effect.Effect<unknown, E>
  /** The same for all segments of a collection, in whatever state. */
  readonly discardAll: (collection: number) => Effect.Effect<unknown, E>
  /** Takes a segment's rows away, `most` at a time; true when all are gone. */
  readonly clear: (segment: number, most: number) => Effect.Effect<boolean, E>

  readonly putHead: (segment: number, head: Head) => Effect.Effect<unknown, E>
  /** By the segments' ids; every one is there. */
  readonly heads: (segments: ReadonlyArray<number>) => Effect.Effect<ReadonlyMap<number, Head>, E>
  /** Adds blocks, the first as number `from`. */
  readonly addBlocks: (segment: number, from: number, blocks: ReadonlyArray<Block>) => Effect.Effect<void, E>
  readonly readBlock: (ref: BlockRef) => Effect.Effect<Buffer, E>
  /** Calls `use` with each block, in no order. */
  readonly readBlocks: (
    refs: ReadonlyArray<BlockRef>,
    use: (ref: BlockRef, data: Buffer) => void
  ) => Effect.Effect<void, E>
  /** Calls `use` with each of the blocks of at most so many bytes, in no order. */
  readonly readSmallBlocks: (
    refs: ReadonlyArray<BlockRef>,
    most: number,
    use: (data: Buffer) => void
  ) => Effect.Effect<void, E>
  /** The first bytes of a segment's blocks, in order: enough for a block's first term. */
  readonly blockStarts: (segment: number, bytes: number) => Effect.Effect<ReadonlyArray<Buffer>, E>

  /** The chunks of a segment's tombstones that there are, by their numbers: a bit for each of `chunkOrdinals`. */
  readonly tombstones: (segment: number, chunk?: number) => Effect.Effect<ReadonlyMap<number, Buffer>, E>
  readonly putTombstones: (segment: number, chunk: number, bits: Buffer) => Effect.Effect<unknown, E>
  /** Notes so many more deleted passages and terms of theirs, under a new version. */
  readonly buried: (segment: number, dead: number, terms: number, version: number) => Effect.Effect<unknown, E>
}
