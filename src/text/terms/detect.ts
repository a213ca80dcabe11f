import { fold } from "./fold.ts"
import { type Language, languagesByWord } from "./languages.ts"

/** Characters read per text. */
const most = 4000
/** The least share of words of grammar in prose of a language, and the least number of different ones. */
const leastShare = 0.12
const leastDifferent = 4
/** Texts with fewer words need fewer. */
const short = 24
/** How many times more than English ones there must be: comments in code are English. */
const margin = 1.5

const word = /\p{L}+/gu
const cyrillic = /^\p{Script=Cyrillic}/u
/** Letters of Russian, and letters of the other languages that share its words of grammar. */
const russian = /[\u044b\u044d]/u
const notRussian = /[\u0456\u0457\u0454\u045e\u0458\u0459\u045a\u045b\u0452\u0453\u045c\u045f]/u

interface Counts {
  count: number
  readonly different: Set<string>
}

/** How many words of grammar of each language are among the words; languages in order of first occurrence. */
const countsIn = (words: ReadonlyArray<string>) => {
  const counts = new Map<Language, Counts>()
  for (const each of words) {
    for (const language of languagesByWord.get(each) ?? []) {
      const found = counts.get(language) ?? { count: 0, different: new Set() }
      found.count++
      found.different.add(each)
      counts.set(language, found)
    }
  }
  return counts
}

const wordsOf = (text: string): ReadonlyArray<string> => (text.match(word) ?? []).map(fold)

/**
 * The language of a document, from the words of grammar at the beginning of its text. English if they do not decide: it
 * is code, names, too short, or in an unknown language. Deterministic.
 */
export const documentLanguage = (texts: Iterable<string>): Language => {
  let text = ""
  for (const part of texts) {
    text += `${part.slice(0, most - text.length)}\n`
    if (text.length >= most) break
  }
  const isRussian = russian.test(text) && !notRussian.test(text)
  // Code is full of one-letter names.
  const words = wordsOf(text.toLowerCase()).filter((each) => each.length > 1 || cyrillic.test(each))
  const counts = countsIn(words)
  const english = counts.get("en")?.count ?? 0
  const [best] = [...counts]
    .filter(([language]) => language !== "en" && (language !== "ru" || isRussian))
    .sort(([x, a], [y, b]) => b.count - a.count || (x < y ? -1 : 1))
  if (best === undefined) return "en"
  const [language, { count, different }] = best
  const enough = different.size >= (words.length < short ? 2 : leastDifferent)
  return enough && count >= leastShare * words.length && count > margin * english ? language : "en"
}

const beyondAscii = /[^\p{ASCII}\p{P}\p{S}]/u
const han = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u

/**
 * The language to look a query up in, given the number of passages in each language: the one with most of the query's
 * words of grammar; else Russian or not, by its letters; else the language of most passages.
 */
export const queryLanguage = (query: string, passages: ReadonlyMap<Language, number>): Language => {
  const there = [...passages].sort(([, a], [, b]) => b - a).map(([language]) => language)
  const others = there.filter((language) => language !== "en")
  if (others.length === 0 || han.test(query)) return "en"
  if (cyrillic.test(query.replace(/^[^\p{L}]+/u, ""))) return passages.has("ru") ? "ru" : "en"
  const counts = countsIn(wordsOf(query.slice(0, most).toLowerCase()))
  const [first, second] = [...there, ...(passages.has("en") ? [] : ["en" as const])]
    .map((language) => ({ language, count: counts.get(language)?.count ?? 0 }))
    .sort((a, b) => b.count - a.count)
  if (first!.count > (second?.count ?? 0)) return first!.language
  return (beyondAscii.test(query) ? others[0] : there[0]) ?? "en"
}
