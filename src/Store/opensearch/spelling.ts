import * as Effect from "effect/Effect"
import type { NearTerm } from "../../model/Stored.ts"
import { learned } from "../../postings/languages.ts"
import { Nearest, partWeight } from "../../postings/spelling.ts"
import { likeliest, splits } from "../../terms/compounds.ts"
import { queryLanguage } from "../../terms/detect.ts"
import type { Language } from "../../terms/languages.ts"
import { type Spelled, allowance, spelledWords } from "../../terms/spelling.ts"
import { weighted } from "../../terms/terms.ts"
import type { Answer } from "./client.ts"
import type { Cluster } from "./Cluster.ts"
import { type Within, frequencies } from "./within.ts"

/** Most unknown words of a query for which similar terms are looked up. */
const mostWords = 3
/** Similar terms that each collection names; the cluster compares terms with the same first letter. */
const mostTerms = 50

/** The terms of collections that are spelled like a word, with the passages that have them. */
const suggested = Effect.fnUntraced(function* (
  { searches }: Cluster,
  within: ReadonlyArray<Within>,
  { term }: Spelled
) {
  const answers = yield* searches(
    within.map(({ record }) => ({
      index: record.passages,
      body: {
        size: 0,
        suggest: {
          near: {
            text: term,
            term: {
              field: "terms",
              analyzer: "whitespace",
              suggest_mode: "always",
              string_distance: "damerau_levenshtein",
              max_edits: Math.min(2, Math.max(1, allowance(term.length))),
              prefix_length: 1,
              min_word_length: 4,
              size: mostTerms,
              shard_size: mostTerms
            }
          }
        }
      }
    }))
  )
  return answers.flatMap(({ suggest }) =>
    (suggest.near as ReadonlyArray<Answer>).flatMap(
      ({ options }) => options as ReadonlyArray<{ readonly text: string; readonly freq: number }>
    )
  )
})

/**
 * For each word of a query that matches nothing: the terms of its parts, if it is a compound of words in the
 * collections, else the most similarly spelled terms there.
 */
export const nearTerms = Effect.fnUntraced(function* (cluster: Cluster, within: ReadonlyArray<Within>, query: string) {
  const words = spelledWords(query)
  if (words.length === 0) return []
  const languages = new Map<Language, number>()
  for (const each of within) {
    for (const [language, count] of each.languages) languages.set(language, (languages.get(language) ?? 0) + count)
  }
  const language = queryLanguage(query, languages)
  yield* learned([language])
  const termsOf = (word: string) => [...weighted(word, language).keys()]
  /** The number of passages that have any of a word's terms. */
  const counting = Effect.fnUntraced(function* (all: ReadonlyArray<string>) {
    const terms = [...new Set(all.flatMap(termsOf))]
    const counts = yield* frequencies(
      cluster,
      within.map(({ record }) => record),
      terms.map((term) => ({ term, isPrefix: false }))
    )
    const of = new Map(terms.map((term, at) => [term, counts[at]!]))
    return new Map(all.map((word) => [word, Math.max(0, ...termsOf(word).map((term) => of.get(term)!))]))
  })
  const counts = yield* counting(words.map(({ word }) => word))
  const found: Array<NearTerm> = []
  for (const word of words.filter((each) => counts.get(each.word) === 0).slice(0, mostWords)) {
    const ways = splits(word.word, language)
    const parts = ways.length === 0 ? counts : yield* counting(ways.flat())
    const compound = likeliest(ways, (part) => parts.get(part)!)
    if (compound !== undefined) {
      for (const part of compound) {
        for (const [term, weight] of weighted(part, language)) {
          found.push({ word: word.word, term, shown: part, weight: partWeight * weight })
        }
      }
      continue
    }
    const nearest = new Nearest(word)
    for (const { freq, text } of yield* suggested(cluster, within, word)) nearest.see(text, freq)
    found.push(...nearest.best())
  }
  return found
})
