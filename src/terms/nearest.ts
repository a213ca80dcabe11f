import { distance } from "./distance.ts"

/** Treats `chunk-size`, `chunkSize` and `chunk_size` as equal. */
const plain = (word: string): string => word.toLowerCase().replace(/[-_.\s]/g, "")

/**
 * Edits from one word to another. A candidate that starts with the word (at least three letters), or contains it (at
 * least four), is one edit away.
 */
const edits = (word: string, candidate: string, limit: number): number => {
  const isPart = (word.length >= 3 && candidate.startsWith(word)) || (word.length >= 4 && candidate.includes(word))
  return isPart ? Math.min(1, distance(word, candidate, limit)) : distance(word, candidate, limit)
}

/** Longer names are not compared: the cost grows with the square of the length. */
const longest = 100

/**
 * The candidates that a mistyped name most likely means: at most three equally near ones, in order; none if nothing is
 * similar. A third of a name's letters may be wrong.
 */
export const nearest = (word: string, candidates: ReadonlyArray<string>): ReadonlyArray<string> => {
  const wanted = plain(word)
  if (wanted.length > longest) return []
  let best = Infinity
  let found: Array<string> = []
  for (const candidate of candidates) {
    if (candidate.length > longest) continue
    const name = plain(candidate)
    const allowed = Math.max(1, Math.ceil(Math.min(wanted.length, name.length) / 3))
    const away = edits(wanted, name, allowed)
    if (away > allowed || away > best) continue
    if (away < best) found = []
    best = away
    found.push(candidate)
  }
  return found.slice(0, 3)
}

/** ` (did you mean X?)`, or an empty text. */
export const didYouMean = (word: string, candidates: ReadonlyArray<string>, shown = (name: string) => name): string => {
  const [found] = nearest(word, candidates)
  return found === undefined ? "" : ` (did you mean ${shown(found)}?)`
}
