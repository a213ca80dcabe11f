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

/** Numbers from 0 to below 1, deterministic for a seed (mulberry32, Tommy Ettinger). */
export const randomFrom = (seed: number): (() => number) => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const shortest = 3
const longest = 12
const mostCharacters = 1000

/**
 * A query that someone looking for the passage might use: one time in four its document's title, else 3 to 12
 * consecutive words of it, if it has as many. Empty: it has none.
 */
export const queryOf = (
  { text, title = "" }: { readonly text: string; readonly title?: string | undefined },
  random: () => number
): string => {
  const words = text.split(/\s+/u).filter((word) => /[\p{L}\p{N}]/u.test(word))
  const wantsTitle = random() < 1 / 4
  if (title.trim() !== "" && (wantsTitle || words.length === 0)) return title.trim().slice(0, mostCharacters).trim()
  const length = Math.min(words.length, shortest + Math.floor(random() * (longest - shortest + 1)))
  const from = Math.floor(random() * (words.length - length + 1))
  return words
    .slice(from, from + length)
    .join(" ")
    .slice(0, mostCharacters)
    .trim()
}

/** A mean, and the bounds that contain 95 % of the means of resampled values. */
export interface Interval {
  readonly mean: number
  readonly low: number
  readonly high: number
}

const rounds = 2000

/** Efron's percentile bootstrap of the mean, deterministic for a seed; all 0 without values. */
export const bootstrap = (values: ReadonlyArray<number>, seed: number): Interval => {
  const random = randomFrom(seed)
  const means: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    let sum = 0
    for (let n = 0; n < values.length; n++) sum += values[Math.floor(random() * values.length)]!
    means.push(values.length === 0 ? 0 : sum / values.length)
  }
  means.sort((a, b) => a - b)
  return { mean: mean(values), low: means[Math.floor(0.025 * rounds)]!, high: means[Math.ceil(0.975 * rounds) - 1]! }
}
