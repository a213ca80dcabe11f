import { type Scored, byScore, falling } from "../model/Passage.ts"
import type { LegPlace } from "../model/SearchResult.ts"

/** One leg's candidates with its own scores, best first, each passage once. */
export interface Leg {
  readonly ranked: ReadonlyArray<Scored>
  /** The leg's score of a candidate that only the other leg found; default, or if undefined: 0. */
  readonly scoreOf?: ((id: number) => number | undefined) | undefined
}

export interface FusionOptions {
  /** Weight of the vector leg, 0 to 1; a leg of weight 0 adds no candidates. */
  readonly alpha: number
  /** By reciprocal ranks, or by scores divided by their maximum. */
  readonly method: "rrf" | "score"
  /** RRF's constant, default 10. */
  readonly k?: number | undefined
  /** Order of candidates with equal scores, in both methods. */
  readonly tieOrder: (a: number, b: number) => number
}

/** A fused candidate; a place is missing if the leg did not rank it. */
export interface Fused extends Scored {
  /**
   * Decides between equal scores: for reciprocal ranks, the score-fused score, as far as the legs' rankings provide it.
   */
  readonly second: number
  readonly vector: LegPlace | undefined
  readonly keyword: LegPlace | undefined
  /** What each leg adds to the score. */
  readonly parts: { readonly vector: number; readonly keyword: number }
}

/** A passage and its places in the legs. */
interface Candidate {
  readonly id: number
  readonly vector: LegPlace | undefined
  keyword: LegPlace | undefined
}

const candidatesOf = (vector: ReadonlyArray<Scored>, keyword: ReadonlyArray<Scored>) => {
  const all: Array<Candidate> = vector.map(({ id, score }, at) => ({
    id,
    vector: { rank: at + 1, score },
    keyword: undefined
  }))
  const known = new Map<number, Candidate>()
  for (const candidate of all) known.set(candidate.id, candidate)
  let rank = 0
  for (const { id, score } of keyword) {
    const place = { rank: ++rank, score }
    const candidate = known.get(id)
    if (candidate === undefined) all.push({ id, vector: undefined, keyword: place })
    else candidate.keyword = place
  }
  return all
}

/** RRF's constant where none is given. */
export const usualK = 10

const reciprocal = (place: Pick<LegPlace, "rank"> | undefined, k: number): number =>
  place === undefined ? 0 : (k + 1) / (k + place.rank)

/** Scores divided by their maximum; unchanged if none is positive, since dividing would reverse their order. */
const normalised = (
  { scoreOf }: Leg,
  candidates: ReadonlyArray<Candidate>,
  placeIn: (candidate: Candidate) => LegPlace | undefined
): Float64Array => {
  const scores = new Float64Array(candidates.length)
  let max = 0
  for (let at = 0; at < scores.length; at++) {
    const one = candidates[at]!
    scores[at] = placeIn(one)?.score ?? scoreOf?.(one.id) ?? 0
    if (scores[at]! > max) max = scores[at]!
  }
  if (max > 0) for (let at = 0; at < scores.length; at++) scores[at]! /= max
  return scores
}

/**
 * Combines rankings with incomparable scores, each best first, into one: a candidate's score depends on its rank, 1 for
 * the first of each.
 */
export const byRank = (rankings: ReadonlyArray<ReadonlyArray<Scored>>): Array<Scored> =>
  rankings
    .flatMap((ranking) => ranking.map(({ id }, index) => ({ id, score: reciprocal({ rank: index + 1 }, usualK) })))
    .sort(byScore)

/**
 * Every candidate of the two legs, best first. `rrf`: alpha/(k + rank_vector) + (1 - alpha)/(k + rank_keyword), where a
 * leg that did not rank it adds nothing, times k + 1, so that first in both is 1 (Cormack, Clarke and Büttcher 2009,
 * weighted); ties by the legs' scores. `score`: alpha·cos/max(cos) + (1 - alpha)·bm25/max(bm25), the maxima over all
 * candidates.
 */
export const fuse = (vector: Leg, keyword: Leg, options: FusionOptions): ReadonlyArray<Fused> => {
  const { alpha, k = usualK, method, tieOrder } = options
  const candidates = candidatesOf(alpha > 0 ? vector.ranked : [], alpha < 1 ? keyword.ranked : [])
  const vectorScores = normalised(vector, candidates, (one) => one.vector)
  const keywordScores = normalised(keyword, candidates, (one) => one.keyword)
  return (
    candidates
      .map(({ id, keyword, vector }, at): Fused => {
        const weighted = { vector: alpha * vectorScores[at]!, keyword: (1 - alpha) * keywordScores[at]! }
        const parts =
          method === "score"
            ? weighted
            : { vector: alpha * reciprocal(vector, k), keyword: (1 - alpha) * reciprocal(keyword, k) }
        return {
          id,
          score: parts.vector + parts.keyword,
          second: weighted.vector + weighted.keyword,
          vector,
          keyword,
          parts
        }
      })
      // In place: a comparator for lists of all kinds would make an object of each score.
      .sort((a, b) =>
        a.score > b.score ? -1 : a.score < b.score ? 1 : falling(a.second, b.second) || tieOrder(a.id, b.id)
      )
  )
}
