import { distance } from "fastest-levenshtein"

/** The candidate that a mistyped word most likely means; undefined where nothing is like it. */
export const nearest = (word: string, candidates: ReadonlyArray<string>): string | undefined => {
  const plain = word.toLowerCase()
  let best: { readonly candidate: string; readonly away: number } | undefined
  for (const candidate of candidates) {
    const away = candidate.startsWith(plain) && plain.length >= 3 ? 1 : distance(plain, candidate)
    if (away <= Math.ceil(Math.min(plain.length, candidate.length) / 3) && away < (best?.away ?? Infinity)) {
      best = { candidate, away }
    }
  }
  return best?.candidate
}

/** ` (did you mean X?)`, or nothing. */
export const didYouMean = (word: string, candidates: ReadonlyArray<string>, prefix = ""): string => {
  const found = nearest(word, candidates)
  return found === undefined ? "" : ` (did you mean ${prefix}${found}?)`
}
