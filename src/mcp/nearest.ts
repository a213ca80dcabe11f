import { distance } from "fastest-levenshtein"

const nearest = (word: string, candidates: ReadonlyArray<string>): string | undefined =>
  candidates
    .map((candidate) => ({ candidate, away: distance(word.toLowerCase(), candidate) }))
    .filter(({ away, candidate }) => away <= Math.max(1, candidate.length / 3))
    .sort((a, b) => a.away - b.away)[0]?.candidate

/** " (did you mean X?)", or nothing. */
export const didYouMean = (word: string, candidates: ReadonlyArray<string>): string => {
  const found = nearest(word, candidates)
  return found === undefined ? "" : ` (did you mean ${found}?)`
}
