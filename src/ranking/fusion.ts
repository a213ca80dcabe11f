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

const placesOf = <K>(leg: Leg<K>): Map<K, Place> => {
  const places = new Map<K, Place>()
  for (const { key, score } of leg.ranked) places.set(key, { rank: places.size + 1, score })
  return places
}

const reciprocal =
  <K>(places: ReadonlyMap<K, Place>, k: number) =>
  (key: K): number => {
    const place = places.get(key)
    return place === undefined ? 0 : (k + 1) / (k + place.rank)
  }

/** Scores divided by their maximum; unchanged if none is positive, since dividing would reverse their order. */
const normalised = <K>(leg: Leg<K>, places: ReadonlyMap<K, Place>, keys: Iterable<K>) => {
  const scores = new Map<K, number>()
  let max = 0
  for (const key of keys) {
    const score = places.get(key)?.score ?? leg.scoreOf?.(key) ?? 0
    scores.set(key, score)
    if (score > max) max = score
  }
  return (key: K): number => (scores.get(key) as number) / (max === 0 ? 1 : max)
}

/**
 * Combines rankings with incomparable scores, each best first, into one: a candidate's score depends on its rank, 1 for
 * the first of each.
 */
export const byRank = <K>(rankings: ReadonlyArray<ReadonlyArray<Ranked<K>>>, k = 10): Array<Ranked<K>> =>
  rankings
    .flatMap((ranking) => ranking.map(({ key }, index) => ({ key, score: (k + 1) / (k + index + 1) })))
    .sort((a, b) => b.score - a.score)

/**
 * Every candidate of the two legs, best first. `rrf`: alpha/(k + rank_vector) + (1 - alpha)/(k + rank_keyword), where a
 * leg that did not rank it adds nothing, times k + 1, so that first in both is 1 (Cormack, Clarke and Büttcher 2009,
 * weighted); ties by the legs' scores. `score`: alpha·cos/max(cos) + (1 - alpha)·bm25/max(bm25), the maxima over all
 * candidates.
 */
export const fuse = <K>(vector: Leg<K>, keyword: Leg<K>, options: FusionOptions<K>): ReadonlyArray<Fused<K>> => {
  const { alpha, k = 10, method, tieOrder } = options
  const vectorPlaces = alpha > 0 ? placesOf(vector) : new Map<K, Place>()
  const keywordPlaces = alpha < 1 ? placesOf(keyword) : new Map<K, Place>()
  const keys = new Set([...vectorPlaces.keys(), ...keywordPlaces.keys()])
  const [vectorScore, keywordScore] = [normalised(vector, vectorPlaces, keys), normalised(keyword, keywordPlaces, keys)]
  const [vectorRank, keywordRank] = [reciprocal(vectorPlaces, k), reciprocal(keywordPlaces, k)]
  return Array.from(keys, (key) => {
    const byScore = { vector: alpha * vectorScore(key), keyword: (1 - alpha) * keywordScore(key) }
    const parts =
      method === "score" ? byScore : { vector: alpha * vectorRank(key), keyword: (1 - alpha) * keywordRank(key) }
    return {
      key,
      score: parts.vector + parts.keyword,
      second: byScore.vector + byScore.keyword,
      vector: vectorPlaces.get(key),
      keyword: keywordPlaces.get(key),
      parts
    }
  }).sort((a, b) => b.score - a.score || b.second - a.second || tieOrder(a.key, b.key))
}
