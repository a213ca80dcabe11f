/** The passages that a filter leaves to be searched, by their ids in the index. */
export interface Mask {
  /** Passage id i is in when bits[i >>> 5] >>> (i & 31) & 1; ids beyond the last word are not. */
  readonly bits: Uint32Array
  /** How many are in. */
  readonly count: number
}
