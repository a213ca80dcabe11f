import type { Head } from "./head.ts"

/** A term's postings in the arena, and how many of them are not deleted as of the version. */
export interface Postings {
  at: number
  end: number
  readonly count: number
  living: number
  version: number
  /** The use of the arena that last asked for them. */
  used: number
}

/** What of a segment is in the arena: its passages' lengths, its tombstones as of the version, terms asked for. */
export interface Loaded {
  readonly ids: Head["ids"]
  readonly firsts: Head["firsts"]
  lengthsAt: number
  /** Terms of all its passages together. */
  readonly terms: number
  deadAt: number
  version: number
  /** The use of the arena that last searched it. */
  used: number
  readonly postings: Map<string, Postings>
}
