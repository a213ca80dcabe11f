import { functionWords } from "./terms/functionWords.ts"
import { isLoneCharacter, scan } from "./terms/scan.ts"

/** The ASCII punctuation that terms may contain: `tokenchars` of FTS5's `ascii` tokenizer. */
export const termPunctuation = "+#.-/"

/** The index terms of a document's text, in order, as often as they occur. */
export const terms = (text: string): Array<string> => {
  const found: Array<string> = []
  scan(text, (term) => found.push(term))
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

/** FTS5 takes time with the square of an expression's length; more of either did not rank better. */
const maxRepeats = 4
const maxPhrases = 64

/** The most repeated terms, then the first said, each as often as it is said, within the bounds. */
const salient = (terms: ReadonlyArray<string>): ReadonlyArray<string> => {
  const counts = new Map<string, number>()
  for (const term of terms) counts.set(term, Math.min(maxRepeats, (counts.get(term) ?? 0) + 1))
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .flatMap(([term, count]) => new Array<string>(count).fill(term))
    .slice(0, maxPhrases)
}

const phrase = (term: string): string => {
  const quoted = `"${term.replaceAll('"', '""')}"`
  return isLoneCharacter(term) ? `${quoted}*` : quoted
}

/**
 * An FTS5 expression that matches any of the terms. A repeated term counts as often as it is said, at most 4 times; of
 * more than 64 the most repeated and then the first are kept. A lone character of an unspaced script matches every pair
 * that it begins. Empty without terms, which FTS5 refuses: then nothing matches.
 */
export const matchExpression = (terms: ReadonlyArray<string>): string => salient(terms).map(phrase).join(" OR ")
