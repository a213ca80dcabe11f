import { functionWords } from "./terms/functionWords.ts"
import { type Language, stemIn } from "./terms/languages.ts"
import { scan } from "./terms/scan.ts"

/** The index terms of a document's text, in order, as often as they occur. */
export const terms = (text: string, language?: Language): Array<string> => {
  const found: Array<string> = []
  scan(text, (term) => found.push(term), language)
  return found
}

/**
 * The terms to look a query up by, in order, repeated ones kept: they count as often as they are said. As `terms`, but
 * the last character of an unspaced run of several is left to its pair.
 */
export const queryTerms = (text: string): Array<string> => {
  const found: Array<string> = []
  scan(text, (term, _start, _end, tail) => {
    if (!tail) found.push(term)
  })
  return found
}

/** A query's terms: what it is about, and the function words around it, each in order with repeats. */
export interface QueryTerms {
  readonly content: ReadonlyArray<string>
  readonly function: ReadonlyArray<string>
}

/** Splits a query's terms. Content is never empty where there are terms: a query of function words is about them. */
export const splitQuery = (text: string): QueryTerms => {
  const all = queryTerms(text)
  const content = all.filter((term) => !functionWords.has(term))
  return content.length === 0
    ? { content: all, function: [] }
    : { content, function: all.filter((term) => functionWords.has(term)) }
}

/** More of either did not rank better, and a query's time grows with its terms. */
const maxRepeats = 4
const maxTerms = 64

/**
 * The terms to rank by, and how often each counts: as often as it is said, at most 4 times. Of more than 64, repeats
 * included, the most repeated and then the first are kept.
 */
export const salient = (terms: ReadonlyArray<string>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const term of terms) counts.set(term, Math.min(maxRepeats, (counts.get(term) ?? 0) + 1))
  const kept = new Map<string, number>()
  let room = maxTerms
  for (const [term, count] of [...counts].sort((a, b) => b[1] - a[1])) {
    if (room === 0) break
    kept.set(term, Math.min(count, room))
    room -= kept.get(term)!
  }
  return kept
}

/** What a word's stem in its own language counts, of what the word counts; the rest is what its term in English counts. */
const ownShare = 0.6

/** The terms to rank by in a language, and how much each counts: those of English, and the stems of their words. */
export const weighted = (query: string, language: Language): ReadonlyMap<string, number> => {
  const counts = salient(splitQuery(query).content)
  if (language === "en") return counts
  const stems = stemsOf(query, language)
  const weights = new Map<string, number>()
  const add = (term: string, weight: number) => weights.set(term, (weights.get(term) ?? 0) + weight)
  for (const [term, count] of counts) {
    const own = stems.get(term) ?? term
    add(term, count * (own === term ? 1 : 1 - ownShare))
    if (own !== term) add(own, count * ownShare)
  }
  return weights
}

/** The stems of a query's words in a language, by their terms in English. */
export const stemsOf = (query: string, language: Language): ReadonlyMap<string, string> => {
  const stems = new Map<string, string>()
  scan(query, (term, start, end) => {
    const own = stemIn(language, query.slice(start, end))
    if (own !== undefined && !stems.has(term)) stems.set(term, own)
  })
  return stems
}
