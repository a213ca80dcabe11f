/** Saturation of a term's frequency, and how far a passage's length counts: the customary values. */
const k1 = 1.2
const b = 0.75

/** What a term weighs that stands in none of more than half of the passages: next to nothing, yet they match. */
const leastIdf = 1e-6

/** The weight of a term that `matching` of `total` passages contain (Robertson & Zaragoza 2009, 3.1). */
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

/** The norm where `passages` have `terms` between them. */
export const norm = (passages: number, terms: number): Norm => ({
  gain: k1 + 1,
  base: k1 * (1 - b),
  slope: terms === 0 ? 0 : (k1 * b * passages) / terms
})
