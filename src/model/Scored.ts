/** A passage by its id in the index, with a leg's score. */
export interface Scored {
  readonly id: number
  readonly score: number
}
