/** Saturation of a term's frequency, and the influence of a passage's length: the usual values. */
const k1 = 1.2
const b = 0.75

/** The weight of a term in more than half of the passages: close to zero, but they still match. */
const leastIdf = 1e-6

/** The weight of a term that occurs in `matching` of `total` passages (Robertson & Zaragoza 2009, 3.1). */
export const idf = (total: number, matching: number): number => {
  const weight = Math.log((total - matching + 0.5) / (matching + 0.5))
  return weight > 0 ? weight : leastIdf
}

/**
 * BM25 with lengths normalised by the average over all passages: a term adds `gain · idf · f / (f + base + slope · length)`
 * to the score of a passage of `length` terms where it occurs `f` times, each occurrence counted by its field's weight.
 */
export interface Norm {
  readonly gain: number
  readonly base: number
  readonly slope: number
}

/** The norm for `passages` with `terms` in total. */
export const norm = (passages: number, terms: number): Norm => ({
  gain: k1 + 1,
  base: k1 * (1 - b),
  slope: terms === 0 ? 0 : (k1 * b * passages) / terms
})
