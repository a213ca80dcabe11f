import { byScore, falling } from "../model/Passage.ts"

/** A candidate of one leg with the leg's own score. */
export interface Ranked<K> {
  readonly key: K
  readonly score: number
}

/** One leg's candidates, best first, each key once. */
export interface Leg<K> {
  readonly ranked: ReadonlyArray<Ranked<K>>
  /** The leg's score of a candidate that only the other leg found; default, or if undefined: 0. */
  readonly scoreOf?: ((key: K) => number | undefined) | undefined
}

export interface FusionOptions<K> {
  /** Weight of the vector leg, 0 to 1; a leg of weight 0 adds no candidates. */
  readonly alpha: number
  /** By reciprocal ranks, or by scores divided by their maximum. */
  readonly method: "rrf" | "score"
  /** RRF's constant, default 10. */
  readonly k?: number | undefined
  /** Order of candidates with equal scores, in both methods. */
  readonly tieOrder: (a: K, b: K) => number
}

/** A leg's place for a candidate: rank from 1, and the leg's own score. */
export interface Place {
  readonly rank: number
  readonly score: number
}

/** A fused candidate; a place is missing if the leg did not rank it. */
export interface Fused<K> {
  readonly key: K
  readonly score: number
  /**
   * Decides between equal scores: for reciprocal ranks, the score-fused score, as far as the legs' rankings provide it.
   */
  readonly second: number
  readonly vector: Place | undefined
  readonly keyword: Place | undefined
  /** What each leg adds to the score. */
  readonly parts: { readonly vector: number; readonly keyword: number }
}

/** A key and its places in the legs. */
interface Candidate<K> {
  readonly key: K
  readonly vector: Place | undefined
  keyword: Place | undefined
}

const candidatesOf = <K>(vector: ReadonlyArray<Ranked<K>>, keyword: ReadonlyArray<Ranked<K>>) => {
  const all: Array<Candidate<K>> = vector.map(({ key, score }, at) => ({
    key,
    vector: { rank: at + 1, score },
    keyword: undefined
  }))
  const known = new Map<K, Candidate<K>>()
  for (const candidate of all) known.set(candidate.key, candidate)
  let rank = 0
  for (const { key, score } of keyword) {
    const place = { rank: ++rank, score }
    const candidate = known.get(key)
    if (candidate === undefined) all.push({ key, vector: undefined, keyword: place })
    else candidate.keyword = place
  }
  return all
}

const reciprocal = (place: Place | undefined, k: number): number =>
  place === undefined ? 0 : (k + 1) / (k + place.rank)

/** Scores divided by their maximum; unchanged if none is positive, since dividing would reverse their order. */
const normalised = <K>(
  { scoreOf }: Leg<K>,
  candidates: ReadonlyArray<Candidate<K>>,
  placeIn: (candidate: Candidate<K>) => Place | undefined
): Float64Array => {
  const scores = new Float64Array(candidates.length)
  let max = 0
  for (let at = 0; at < scores.length; at++) {
    const one = candidates[at]!
    scores[at] = placeIn(one)?.score ?? scoreOf?.(one.key) ?? 0
    if (scores[at]! > max) max = scores[at]!
  }
  if (max > 0) for (let at = 0; at < scores.length; at++) scores[at]! /= max
  return scores
}

/**
 * Combines rankings with incomparable scores, each best first, into one: a candidate's score depends on its rank, 1 for
 * the first of each.
 */
export const byRank = <K>(rankings: ReadonlyArray<ReadonlyArray<Ranked<K>>>, k = 10): Array<Ranked<K>> =>
  rankings
    .flatMap((ranking) => ranking.map(({ key }, index) => ({ key, score: (k + 1) / (k + index + 1) })))
    .sort(byScore)

/**
 * Every candidate of the two legs, best first. `rrf`: alpha/(k + rank_vector) + (1 - alpha)/(k + rank_keyword), where a
 * leg that did not rank it adds nothing, times k + 1, so that first in both is 1 (Cormack, Clarke and Büttcher 2009,
 * weighted); ties by the legs' scores. `score`: alpha·cos/max(cos) + (1 - alpha)·bm25/max(bm25), the maxima over all
 * candidates.
 */
export const fuse = <K>(vector: Leg<K>, keyword: Leg<K>, options: FusionOptions<K>): ReadonlyArray<Fused<K>> => {
  const { alpha, k = 10, method, tieOrder } = options
  const candidates = candidatesOf(alpha > 0 ? vector.ranked : [], alpha < 1 ? keyword.ranked : [])
  const vectorScores = normalised(vector, candidates, (one) => one.vector)
  const keywordScores = normalised(keyword, candidates, (one) => one.keyword)
  return (
    candidates
      .map(({ key, keyword, vector }, at): Fused<K> => {
        const weighted = { vector: alpha * vectorScores[at]!, keyword: (1 - alpha) * keywordScores[at]! }
        const parts =
          method === "score"
            ? weighted
            : { vector: alpha * reciprocal(vector, k), keyword: (1 - alpha) * reciprocal(keyword, k) }
        return {
          key,
          score: parts.vector + parts.keyword,
          second: weighted.vector + weighted.keyword,
          vector,
          keyword,
          parts
        }
      })
      // In place: a comparator for lists of all kinds would make an object of each score.
      .sort((a, b) =>
        a.score > b.score ? -1 : a.score < b.score ? 1 : falling(a.second, b.second) || tieOrder(a.key, b.key)
      )
  )
}
