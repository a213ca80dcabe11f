import { lazily } from "../model/lazily.ts"
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
const letters = /\p{L}+/uy
const cyrillic = /^\p{Script=Cyrillic}/u
/** Letters of Russian, and letters of the other languages that share its words of grammar. */
const russian = /[\u044b\u044d]/u
const notRussian = /[\u0450\u0452-\u052f]/u

interface Counts {
  readonly count: number
  readonly different: number
}

const tags = /<[^<>]{1,400}>/g
const letter = /\p{L}/gu
const cyrillicLetter = /\p{Script=Cyrillic}/gu
/** From this share of letters on, a script decides: the rest is code and names. */
const leastOfScript = 0.3

const letterA = 97
const alphabet = 26

/** Words of grammar, with their lengths as bits by their first two letters. */
interface Grammar {
  readonly words: ReadonlySet<string>
  readonly lengths: Int32Array
}

const grammarOf = (words: Iterable<string>): Grammar => {
  const lengths = new Int32Array(alphabet * alphabet)
  const known = new Set(words)
  for (const each of known) {
    if (/^[a-z]{2}/.test(each)) lengths[pairAt(each, 0)]! |= 1 << each.length
  }
  return { words: known, lengths }
}

/** The words of grammar of all languages, and of all but English. */
const wholeGrammar = lazily(() => grammarOf(languagesByWord().keys()))
const foreignGrammar = lazily(() =>
  grammarOf(
    [...languagesByWord()].flatMap(([each, languages]) => (languages.some((own) => own !== "en") ? [each] : []))
  )
)

const pairAt = (text: string, at: number): number =>
  (text.charCodeAt(at) - letterA) * alphabet + text.charCodeAt(at + 1) - letterA

/** How many words a text has, and how often each word of a grammar is among them; one-letter names in code are none. */
const grammarIn = (text: string, { lengths, words: grammar }: Grammar) => {
  const found = new Map<string, number>()
  let words = 0
  for (let at = 0; at < text.length;) {
    const start = at
    let unit = text.charCodeAt(at)
    // Not one regex for all words: most are ASCII, which this reads in a third of the time.
    while (unit >= 97 && unit <= 122) unit = text.charCodeAt(++at)
    letters.lastIndex = at
    const isFolded = unit >= 128 && letters.test(text)
    if (isFolded) at = letters.lastIndex
    else if (at === start) at++
    if (!isFolded && at <= start + 1) continue
    const each = isFolded
      ? fold(text.slice(start, at))
      : // Most words are told apart by this, without being copied.
        (lengths[pairAt(text, start)]! & (1 << Math.min(31, at - start))) === 0
        ? ""
        : text.slice(start, at)
    if (isFolded && each.length < 2 && !cyrillic.test(each)) continue
    words++
    if (each !== "" && grammar.has(each)) found.set(each, (found.get(each) ?? 0) + 1)
  }
  return { found, words }
}

/** How many words of grammar of each language there are, given how often each occurs. */
const byLanguage = (found: Iterable<readonly [word: string, count: number]>) => {
  const languages = new Map<Language, Counts>()
  for (const [each, count] of found) {
    for (const language of languagesByWord().get(each) ?? []) {
      const known = languages.get(language) ?? { count: 0, different: 0 }
      languages.set(language, { count: known.count + count, different: known.different + 1 })
    }
  }
  return languages
}

/**
 * The language of a document, from the words of grammar at the beginning of its text. English if they do not decide: it
 * is code, names, too short, or in an unknown language. Deterministic.
 */
export const documentLanguage = (passages: Iterable<{ readonly text: string }>): Language => {
  let text = ""
  for (const passage of passages) {
    text += `${passage.text.slice(0, most - text.length)}\n`
    if (text.length >= most) break
  }
  if (/^\s*<[?!a-z]/i.test(text)) text = text.replace(tags, " ")
  const isRussian = russian.test(text) && !notRussian.test(text)
  // Nothing that is mostly written in other letters is English, however much code stands beside it.
  if (isRussian && (text.match(cyrillicLetter)?.length ?? 0) > leastOfScript * (text.match(letter)?.length ?? 0))
    return "ru"
  const lower = text.toLowerCase()
  const { found, words } = grammarIn(lower, foreignGrammar())
  const languages = byLanguage(found)
  let best: Language = "en"
  let strongest: Counts = { count: 0, different: 0 }
  for (const [language, counts] of languages) {
    if (language === "en" || (language === "ru" && !isRussian)) continue
    if (counts.count < strongest.count || (counts.count === strongest.count && language > best)) continue
    best = language
    strongest = counts
  }
  const { count, different } = strongest
  const enough = different >= (words < short ? 2 : leastDifferent)
  // Most texts are in English, and its words are not counted for them.
  if (!enough || count < leastShare * words) return "en"
  const english = byLanguage(grammarIn(lower, wholeGrammar()).found).get("en")?.count ?? 0
  return count > margin * english ? best : "en"
}

const latinLetter = /\p{Script=Latin}/gu

/** Whether a text is in a language with other letters than Latin ones. */
export const isInOtherLetters = (text: string): boolean => {
  const all = text.match(letter)?.length ?? 0
  return all - (text.match(latinLetter)?.length ?? 0) > leastOfScript * all
}

const wordsOf = (query: string): ReadonlyArray<string> =>
  Array.from(query.slice(0, most).toLowerCase().match(word) ?? [], fold)

/** How many words of grammar of each language there are among words. */
const grammarAmong = (words: ReadonlyArray<string>) => byLanguage(words.map((each) => [each, 1] as const))

/** The words of a question that are grammar, folded, if it has more of another language's than of English and any other. */
export const foreignGrammarOf = (query: string): ReadonlyArray<string> => {
  const words = wordsOf(query)
  const [first, second] = [...grammarAmong(words)].sort(([, a], [, b]) => b.count - a.count)
  if (first === undefined || first[0] === "en" || first[1].count <= (second?.[1].count ?? 0)) return []
  return words.filter((each) => languagesByWord().get(each)?.includes(first[0]) === true)
}

const accented = /[^\p{ASCII}\p{P}\p{S}]/u
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
  const counts = grammarAmong(wordsOf(query))
  const [first, second] = [...there, ...(passages.has("en") ? [] : ["en" as const])]
    .map((language) => ({ language, count: counts.get(language)?.count ?? 0 }))
    .sort((a, b) => b.count - a.count)
  if (first!.count > (second?.count ?? 0)) return first!.language
  return (accented.test(query) ? others[0] : there[0]) ?? "en"
}
