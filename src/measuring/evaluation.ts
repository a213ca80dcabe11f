/** Judged documents and their grades; a grade of 0 or less, and a document without one, is not relevant. */
export type Judgements = ReadonlyMap<string, number>

const gain = (judgements: Judgements, document: string): number => Math.max(0, judgements.get(document) ?? 0)

const discounted = (gains: ReadonlyArray<number>): number =>
  gains.reduce((sum, value, i) => sum + value / Math.log2(i + 2), 0)

const relevant = (judgements: Judgements): ReadonlyArray<number> =>
  [...judgements.values()].filter((grade) => grade > 0)

/**
 * Normalised discounted cumulative gain of the best k, 0 to 1: the sum of grade / log2(rank + 1), divided by that of
 * the ideal order (Järvelin and Kekäläinen 2002, linear gain as in trec_eval and BEIR). `ranking` is best first, each
 * document once. 0 if nothing is relevant.
 */
export const ndcgAt = (k: number, ranking: ReadonlyArray<string>, judgements: Judgements): number => {
  const ideal = discounted(
    relevant(judgements)
      .toSorted((a, b) => b - a)
      .slice(0, k)
  )
  return ideal === 0 ? 0 : discounted(ranking.slice(0, k).map((document) => gain(judgements, document))) / ideal
}

/** The share of the relevant documents among the best k, 0 to 1; 0 if nothing is relevant. */
export const recallAt = (k: number, ranking: ReadonlyArray<string>, judgements: Judgements): number => {
  const all = relevant(judgements).length
  return all === 0 ? 0 : ranking.slice(0, k).filter((document) => gain(judgements, document) > 0).length / all
}

/**
 * 1 if all relevant documents are among the best k, else 0. Its mean is the share of queries with all their evidence.
 */
export const allFoundAt = (k: number, ranking: ReadonlyArray<string>, judgements: Judgements): number =>
  recallAt(k, ranking, judgements) === 1 ? 1 : 0

/** 1 over the rank of the first relevant document among the best k, else 0. Its mean over queries is MRR@k. */
export const reciprocalRankAt = (k: number, ranking: ReadonlyArray<string>, judgements: Judgements): number => {
  const at = ranking.slice(0, k).findIndex((document) => gain(judgements, document) > 0)
  return at < 0 ? 0 : 1 / (at + 1)
}

/** The arithmetic mean; 0 without values. */
export const mean = (values: ReadonlyArray<number>): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
