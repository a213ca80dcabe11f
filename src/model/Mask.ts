/** The passages that a filter leaves, by their ids in the index. */
export interface Mask {
  /** Passage id i is included if bits[i >>> 5] >>> (i & 31) & 1; ids beyond the last word are not. */
  readonly bits: Uint32Array
  /** The number of included passages. */
  readonly count: number
}
