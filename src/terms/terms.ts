import { functionWords, type Language, stemIn } from "./languages.ts"
import { CharClass, classAt } from "./classes.ts"
import { grammarOf } from "./detect.ts"
import { joinedIn } from "./codeNames.ts"
import { hasKanaOrHangul, withoutChineseGrammar, withoutGrammar } from "./grammar.ts"
import { scan } from "./scan.ts"

/** The index terms of a document's text, in order, with repeats. */
export const terms = (text: string, language?: Language): Array<string> => {
  const found: Array<string> = []
  scan(text, (term) => found.push(term), language)
  return found
}

/**
 * The terms of a query to look up, in order, with repeats, which count. Like `terms`, but without the last character of
 * an unspaced run of several, which its pair contains.
 */
export const queryTerms = (text: string): Array<string> => {
  const found: Array<string> = []
  scan(text, (term, _start, _end, tail) => {
    if (!tail) found.push(term)
  })
  return found
}

/** A query's content terms, and the function words around them, each in order with repeats. */
interface QueryTerms {
  readonly content: ReadonlyArray<string>
  readonly function: ReadonlyArray<string>
}

const split = (text: string, telling: string): QueryTerms => {
  const all = queryTerms(text)
  const content = (telling === text ? all : queryTerms(telling)).filter((term) => !functionWords.has(term))
  const known = new Set(content)
  return content.length === 0
    ? { content: all, function: [] }
    : { content, function: all.filter((term) => !known.has(term)) }
}

/** Splits a query's terms; the content is never empty: a query of only function words is about them. */
export const splitQuery = (text: string): QueryTerms => split(text, withoutGrammar(text))

/**
 * The content terms of a query to texts in a language, which must be loaded: those of English, but for the words of its
 * grammar.
 */
export const contentIn = (query: string, language: Language): ReadonlyArray<string> => {
  const all = splitQuery(query).content
  if (language === "en") return all
  const grammar = new Set(grammarOf(query, language).flatMap(queryTerms))
  const telling = all.filter((term) => !grammar.has(term))
  return telling.length === 0 ? all : telling
}

/** The terms by which texts in a language, which must be loaded, have the content of a query. */
export const formsIn = (query: string, language: Language): ReadonlyArray<string> => {
  const content = contentIn(query, language)
  if (language === "en") return content
  const stems = stemsOf(query, language)
  return content.flatMap((term) => [term, stems.get(term) ?? term])
}

/** Adds to the terms of texts in a language those of a query's words, which they have in another form. */
export const inflectedIn = (query: string, language: Language): ((text: string) => Set<string>) => {
  if (language === "en") return (text) => new Set(terms(text))
  const stems = [...stemsOf(query, language)]
  return (text) => {
    const found = new Set(terms(text, language))
    for (const [term, stem] of stems) if (found.has(stem)) found.add(term)
    return found
  }
}

/** The terms of a query to rank by, with Japanese and Korean grammar. */
export const rankedTerms = (text: string): ReadonlyArray<string> => split(text, withoutChineseGrammar(text)).content

/** The content of the words of a text, whatever the pairs around them. */
export const contentTerms = (text: string): ReadonlyArray<string> => split(text, text).content

/** More did not rank better, and a query's time grows with its terms. */
const maxRepeats = 4
const maxTerms = 64

/**
 * The terms to rank by and their counts, at most 4; of more than 64, the first and the last: a question, or an
 * error's message, stands at either end of what is pasted with it.
 */
export const salient = (terms: ReadonlyArray<string>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const term of terms) counts.set(term, Math.min(maxRepeats, (counts.get(term) ?? 0) + 1))
  const last = [...new Set(terms.toReversed())]
  let room = maxTerms
  for (const term of new Set([...counts.keys()].flatMap((first, at) => [first, last[at]!]))) {
    const kept = Math.min(counts.get(term)!, room)
    counts.set(term, kept)
    room -= kept
  }
  return new Map([...counts].filter(([, count]) => count > 0).sort((a, b) => b[1] - a[1]))
}

/** The share of a word's weight that its stem in its own language gets; its English term gets the rest. */
const ownShare = 0.6

/** The greatest weight of a pair of characters beside words written with spaces: pairs overlap. */
const pairShare = 0.5
/** The weight of all pairs together, relative to the words'. */
const pairsShare = 2

const isPair = (term: string): boolean => classAt(term, 0) === CharClass.unspaced

/**
 * The terms and their weights, those of pairs lower if there are also words: most pairs of a question are its grammar, and
 * at full weight a dozen of them outweigh the name that it is about.
 */
const balanced = (counts: ReadonlyMap<string, number>): ReadonlyMap<string, number> => {
  const pairs = [...counts.keys()].filter(isPair).length
  const words = counts.size - pairs
  if (pairs === 0 || words === 0) return counts
  const share = Math.min(pairShare, (pairsShare * words) / pairs)
  return new Map([...counts].map(([term, count]) => [term, isPair(term) ? share * count : count]))
}

/** The terms of each name that is joined from several parts, the whole name's first. */
export const joinedTerms = (query: string): ReadonlyArray<ReadonlyArray<string>> =>
  joinedIn(query).map((name) => [...new Set(queryTerms(name))].sort((a, b) => b.length - a.length))

/** The share of its weight that a term of Japanese or Korean grammar keeps, since it may be part of a word. */
const grammarShare = 0.5

const lessGrammar = (query: string, counts: ReadonlyMap<string, number>): ReadonlyMap<string, number> => {
  if (!hasKanaOrHangul(query)) return counts
  const content = new Set(splitQuery(query).content)
  return new Map([...counts].map(([term, count]) => [term, content.has(term) ? count : grammarShare * count]))
}

/**
 * The terms and their weights, those of a name in code (`get_user`) lower: whole and parts together weigh like one word, else
 * passages with nothing but the name come before those that also have the query's other words.
 */
const namesAsOne = (query: string, counts: ReadonlyMap<string, number>): ReadonlyMap<string, number> => {
  const names = joinedTerms(query)
  if (names.length === 0) return counts
  const weights = new Map(counts)
  for (const name of names) {
    const own = name.filter((term) => counts.has(term))
    // What stands beside the name too keeps that weight.
    for (const term of own) weights.set(term, Math.max(0, weights.get(term)! - 1) + 1 / own.length)
  }
  return weights
}

/** The terms to rank by in a language, with their weights: the English terms, and the words' stems. */
export const weighted = (query: string, language: Language): ReadonlyMap<string, number> => {
  const counts = namesAsOne(query, lessGrammar(query, balanced(salient(rankedTerms(query)))))
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

/** The stems of a query's words in a language, by their English terms. */
export const stemsOf = (query: string, language: Language): ReadonlyMap<string, string> => {
  const stems = new Map<string, string>()
  scan(query, (term, start, end) => {
    const own = stemIn(language, query.slice(start, end))
    if (own !== undefined && !stems.has(term)) stems.set(term, own)
  })
  return stems
}

/**
 * The version of the terms that `terms` and `queryTerms` make from a text, and of the texts of a passage that terms are
 * made from. If you change what a text's terms are, raise it by one; nothing else is needed. Postings of a lower version
 * are rebuilt from the stored texts (Store/sql/rebuild.ts), at once or in the background, and answer until then. A
 * change that only affects how queries are looked up needs no new version.
 */
export const termsVersion = 6
