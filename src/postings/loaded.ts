import type { Head } from "./head.ts"

/** A term's unpacked postings in the arena, and how many of them are not deleted in this version. */
export interface Postings {
  at: number
  end: number
  readonly count: number
  /** How many have a frequency too large for 4 bits. */
  readonly large: number
  living: number
  version: number
  /** The last use of the arena that asked for them. */
  used: number
}

/** What the arena has of a segment: its passages' lengths, its tombstones in this version, and the requested terms. */
export interface Loaded {
  readonly ids: Head["ids"]
  readonly firsts: Head["firsts"]
  lengthsAt: number
  /** Terms of all its passages. */
  readonly terms: number
  deadAt: number
  version: number
  /** The last use of the arena that searched it. */
  used: number
  readonly postings: Map<string, Postings>
}
