import type * as Effect from "effect/Effect"
import type { Block, Head } from "./block.ts"

/** The state of a segment: searched, being filled by a merge, being deleted, or waiting for the others of a rebuild. */
export const State = { live: 0, building: 1, garbage: 2, waiting: 3 } as const
export type State = (typeof State)[keyof typeof State]

/** The version of the storage format of segments. Postings of a lower version are made again from the stored texts. */
export const postingsFormat = 1

/** Most passages of a segment, which limits its longest postings and its number of blocks. */
export const maxPassages = 2 ** 20

/** Ordinals per chunk of tombstones. */
export const chunkOrdinals = 8192

/**
 * Passages that were added together, in order of their ids, and the postings of their terms. A live segment never
 * changes except for its tombstones. The segments of a collection follow each other by their passages' ids.
 */
export interface Segment {
  readonly id: number
  readonly collection_id: number
  /** Identifies the content: no other segment has it, in any database, not even after a rollback. */
  readonly stamp: number
  readonly passages: number
  /** Terms of all its passages, including deleted ones. */
  readonly terms: number
  readonly dead: number
  readonly dead_terms: number
  /** Identifies the state of its tombstones; changes with them. */
  readonly version: number
  readonly first_id: number
  readonly last_id: number
  readonly blocks: number
  /** While a merge fills it: the last term done. */
  readonly through: Buffer | null
  /** While a merge fills it: the segments that it replaces, in order. */
  readonly inputs: string | null
  readonly format: number
  /** `termsVersion` of the program that made its terms. */
  readonly terms_version: number
  /** How many passages of each language it was made from: `de:812 en:20`. */
  readonly languages: string
}

/** How many passages of segments are not deleted. */
export const livingIn = (segments: ReadonlyArray<Pick<Segment, "dead" | "passages">>): number =>
  segments.reduce((sum, { dead, passages }) => sum + passages - dead, 0)

/** A new segment; the store gives it its id. */
interface NewSegment extends Pick<
  Segment,
  "collection_id" | "passages" | "terms" | "first_id" | "last_id" | "blocks" | "format" | "terms_version" | "languages"
> {
  readonly stamp?: number
  readonly inputs?: ReadonlyArray<number>
  readonly state?: State
}

export interface BlockRef {
  readonly segment: number
  /** Counted from 0. */
  readonly block: number
}

/**
 * Where segments are stored. All calls of one use of the engine see one snapshot, and all writes of one use succeed or
 * none. Bytes come back as they were given, or the call dies with `Damaged`; `E` is the store's other errors.
 */
export interface SegmentStore<E> {
  /** A collection's live segments, in the order of their passages. */
  readonly live: (collection: number) => Effect.Effect<ReadonlyArray<Segment>, E>
  /** The segments that contain a collection's passages: the live ones, and those of a rebuild. */
  readonly holding: (collection: number) => Effect.Effect<ReadonlyArray<Segment>, E>
  /** In all collections, by collection and passages. */
  readonly inState: (state: State) => Effect.Effect<ReadonlyArray<Segment>, E>
  /** Collections whose postings are being rebuilt. */
  readonly rebuilding: Effect.Effect<ReadonlySet<number>, E>

  /** Adds a segment and gives its id. */
  readonly add: (segment: NewSegment) => Effect.Effect<number, E>
  /** Records how far the merge that fills a segment has come. */
  readonly advanced: (segment: number, through: Buffer, blocks: number) => Effect.Effect<unknown, E>
  /** Makes a segment that a merge has filled live. */
  readonly completed: (segment: number, blocks: number) => Effect.Effect<unknown, E>
  /** Makes a segment garbage; its rows are deleted later. */
  readonly discard: (segment: number) => Effect.Effect<unknown, E>
  /** Deletes a segment's rows, `most` at a time; true when all are gone. */
  readonly clear: (segment: number, most: number) => Effect.Effect<boolean, E>

  readonly putHead: (segment: number, head: Head) => Effect.Effect<unknown, E>
  /** By the segments' ids; dies if one is missing. */
  readonly heads: (segments: ReadonlyArray<number>) => Effect.Effect<ReadonlyMap<number, Head>, E>
  /** Adds blocks, the first as number `from`. */
  readonly addBlocks: (segment: number, from: number, blocks: ReadonlyArray<Block>) => Effect.Effect<void, E>
  readonly readBlock: (ref: BlockRef) => Effect.Effect<Buffer, E>
  /** Calls `use` with each block, in no order. */
  readonly readBlocks: (
    refs: ReadonlyArray<BlockRef>,
    use: (ref: BlockRef, data: Buffer) => void
  ) => Effect.Effect<void, E>
  /** Calls `use` with each block of at most this many bytes, in no order. */
  readonly readSmallBlocks: (
    refs: ReadonlyArray<BlockRef>,
    most: number,
    use: (data: Buffer) => void
  ) => Effect.Effect<void, E>
  /** The first bytes of a segment's blocks, in order: enough for a block's first term. */
  readonly blockStarts: (segment: number, bytes: number) => Effect.Effect<ReadonlyArray<Buffer>, E>

  /** The existing chunks of a segment's tombstones, by number: one bit for each of `chunkOrdinals`. */
  readonly tombstones: (segment: number, chunk?: number) => Effect.Effect<ReadonlyMap<number, Buffer>, E>
  readonly putTombstones: (segment: number, chunk: number, bits: Buffer) => Effect.Effect<unknown, E>
  /** Records that many more deleted passages and terms, under a new version. */
  readonly buried: (segment: number, dead: number, terms: number, version: number) => Effect.Effect<unknown, E>
}
