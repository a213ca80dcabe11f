import { searchedHeading, searchedTitle } from "../entities/mention.ts"
import type { CollectionName, CollectionSummary } from "../model/Collection.ts"
import { type Hit, ownPassage } from "../model/SearchResult.ts"
import type { NearTerm } from "../model/Stored.ts"
import type { Searched } from "./Snapshot.ts"
import { foreignGrammarOf } from "../terms/detect.ts"
import { type Language, languageNamed } from "../terms/languages.ts"
import { beginningsOf, scan, scanFor } from "../terms/scan.ts"
import { contentIn, queryTerms, splitQuery, stemsOf } from "../terms/terms.ts"

/** The text by which a passage is judged: everything that is searched. */
export interface Judged {
  readonly title: string
  readonly heading: string
  readonly text: string
}

/** Terms of a query beyond which more make no difference. */
const enough = 8

/**
 * A passage below this is a weak match: for 100 questions to other collections than their own, 94 found nothing better.
 */
export const weakBelow = 0.1

/** Coefficients: a constant, the share of the terms, and the similarity or the number of terms. */
export const fitted = {
  /** With the cosine similarity by the packaged model. */
  meaning: [-4.8, 2.48, 5.12],
  /** With the similarity above the background, whatever the model. */
  above: [-5.11, 3.43, 7.14],
  words: [-4.65, 4.74, 1.39]
} as const

type Scale = "meaning" | "above"

/**
 * How often where the graph leads is needed, relative to what its own words and meaning tell: of 100 questions of MuSiQue,
 * 15 in 100 of these passages were, and 5 in 100 of those in their places, which looked twice as likely.
 */
const ledOdds = 7

/** The relevance of a passage that the graph leads to, given that of the passage by itself. */
const alongGraph = (own: number): number => (ledOdds * own) / (1 - own + ledOdds * own)

/** The number of a query's terms, relative to the number that makes a difference, 0 to 1. */
export const lengthOf = (content: ReadonlySet<string>): number => Math.min(enough, content.size) / enough

const logistic = (x: number): number => 1 / (1 + Math.exp(-x))

/**
 * Computes which share of a query's terms, weighted by their letters, a passage has; a term of `near` stands in for its
 * word.
 */
export const sharing = (
  content: ReadonlySet<string>,
  near: ReadonlyArray<{ readonly word: string; readonly term: string }>,
  language: Language = "en",
  stems: ReadonlyMap<string, string> = new Map()
): ((judged: Judged) => number) => {
  const all = [...content].reduce((sum, { length }) => sum + length, 0)
  /** The terms of the query that each term stands for. */
  const meanings = new Map<string, Set<string>>([...content].map((term) => [term, new Set([term])]))
  for (const { term, word } of near) {
    const known = meanings.get(term) ?? new Set()
    for (const own of queryTerms(word)) if (content.has(own)) known.add(own)
    if (known.size > 0) meanings.set(term, known)
  }
  for (const [term, stem] of stems) {
    if (content.has(term)) meanings.set(stem, new Set([...(meanings.get(stem) ?? []), term]))
  }
  const beginnings = beginningsOf(meanings.keys())
  return ({ heading, text, title }) => {
    const has = new Set<string>()
    let found = 0
    for (const field of [title, heading, text]) {
      // All terms were found.
      if (found === all) break
      const visit = (term: string) => {
        const own = meanings.get(term)
        if (own === undefined) return
        for (const one of own) {
          if (has.has(one)) continue
          has.add(one)
          found += one.length
        }
      }
      if (language === "en") scanFor(beginnings, field, visit)
      else scan(field, visit, language)
    }
    return all === 0 ? 0 : found / all
  }
}

/**
 * How likely a passage is to answer a query, 0 to 1, however it was ranked. A logistic regression on the share of the
 * query's terms that it has and, if given, on the similarity; without the similarity, on the share and the number of
 * terms. Fitted on judged passages: docs/ranking.md.
 */
export const relevance = (
  query: string,
  near: ReadonlyArray<{ readonly word: string; readonly term: string }> = []
): ((judged: Judged, similarity: number | undefined, scale?: Scale, language?: Language) => number) => {
  const all = splitQuery(query).content
  const grammar = new Set(foreignGrammarOf(query).flatMap(queryTerms))
  const telling = all.filter((term) => !grammar.has(term))
  const english = new Set(telling.length === 0 ? all : telling)
  const inLanguage = (language: Language) => {
    const content = language === "en" ? english : new Set(contentIn(query, language))
    const stems = language === "en" ? undefined : stemsOf(query, language)
    return { content, shareOf: sharing(content, near, language, stems) }
  }
  const languages = new Map<Language, ReturnType<typeof inLanguage>>()
  return (judged, similarity, scale = "meaning", language = "en") => {
    const known = languages.get(language) ?? inLanguage(language)
    languages.set(language, known)
    const { content, shareOf } = known
    const share = shareOf(judged)
    const [[constant, byShare, byOther], other] =
      similarity === undefined ? [fitted.words, lengthOf(content)] : [fitted[scale], similarity]
    return logistic(constant + byShare * share + byOther * other)
  }
}

/** Whether a collection has the packaged model, on whose cosines `relevance` was fitted. */
export const isFitted = ({ embedder: { backend, model } }: Pick<CollectionSummary, "embedder">): boolean =>
  backend === "builtin" && model === "clew-static-en-v1"

/** The relevance of hits, each computed once; by words alone where similarities have no known scale. */
export const judging = (
  asked: ReadonlyArray<Pick<CollectionSummary, "embedder" | "name">>,
  unscaled: ReadonlyArray<CollectionName>,
  question: string,
  near: ReadonlyArray<NearTerm>
): ((hit: Hit) => number) => {
  const scales = new Map(
    asked
      .filter(({ name }) => !unscaled.includes(name))
      .map((each): [CollectionName, Scale] => [each.name, isFitted(each) ? "meaning" : "above"])
  )
  const judge = relevance(question, near)
  const judged = new Map<Hit, number>()
  return (hit) => {
    const before = judged.get(hit)
    if (before !== undefined) return before
    const { collection, document, similarity, via } = hit
    const passage = ownPassage(hit)
    const what = {
      title: searchedTitle(document.title, document.source),
      heading: searchedHeading(passage),
      text: passage.text
    }
    const scale = scales.get(collection)
    const own = judge(what, scale && similarity, scale, languageNamed(hit.language))
    const value = via === undefined ? own : alongGraph(own)
    judged.set(hit, value)
    return value
  }
}

/** The collections whose similarities have no known scale. */
export const unscaled = (asked: ReadonlyArray<Pick<Searched, "background" | "embedder" | "name">>) =>
  asked.flatMap((each) => (isFitted(each) || each.background !== undefined ? [] : [each.name]))

/** Whether none of the judged hits is likely to answer; what similarities without a known scale found is never called weak. */
export const isWeak = (hits: ReadonlyArray<Hit>, unscaled: ReadonlyArray<CollectionName>): boolean =>
  hits.every(
    ({ collection, relevance = 0, similarity }) =>
      relevance < weakBelow && (similarity === undefined || !unscaled.includes(collection))
  )
