import { fold, isAscii } from "./fold.ts"
import { type Language, languagesByWord, alphabets } from "./languages.ts"

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
const lowerWord = /(?<!\p{L})\p{Ll}+(?!\p{L})/gu
const cyrillic = /^\p{Script=Cyrillic}/u

interface Counts {
  count: number
  different: number
}

const tags = /<[^<>]{1,400}>/g
const letter = /\p{L}/gu
/** From this share of letters on, a script decides: the rest is code and names. */
const leastOfScript = 0.3

const isOfAscii = /^\p{ASCII}*$/u
const asciiWord = /[a-z]+/g

/**
 * How many words a text in lower case has, and how often each word of grammar is among them; one-letter names in code are
 * none.
 */
const grammarIn = (text: string) => {
  const found = new Map<string, number>()
  let words = 0
  const isPlain = isOfAscii.test(text)
  for (const each of text.match(isPlain ? asciiWord : word) ?? []) {
    const folded = isPlain ? each : fold(each)
    if (folded.length < 2 && !cyrillic.test(folded)) continue
    words++
    if (languagesByWord().has(folded)) found.set(folded, (found.get(folded) ?? 0) + 1)
  }
  return { found, words }
}

/** Letters that, among these languages, only one has: its words of grammar are few, since endings say the same. */
const ownLetters: ReadonlyArray<readonly [language: Language, letter: RegExp]> = [
  ["pl", /[\u0105\u0119\u0142\u015b\u017a\u017c]/],
  ["tr", /[\u011f\u0131]/]
]

/** How many words of grammar of each language there are, given how often each occurs. */
const byLanguage = (found: Iterable<readonly [word: string, count: number]>) => {
  const languages = new Map<Language, Counts>()
  for (const [each, count] of found) {
    for (const language of languagesByWord().get(each) ?? []) {
      const known = languages.get(language)
      if (known === undefined) languages.set(language, { count, different: 1 })
      else {
        known.count += count
        known.different++
      }
    }
  }
  return languages
}

const countIn = (text: string, letters: RegExp): number => text.match(letters)?.length ?? 0

/** A text may quote words and names of another language with the same script: so many of its letters to one of those. */
const ownToForeign = 5

/** The language of a text with other letters than Latin ones that only it has. */
const inOtherLetters = (text: string) => {
  const found = alphabets.find(([, , own, others]) => {
    const count = countIn(text, own)
    return count > 0 && count > ownToForeign * countIn(text, others)
  })
  return found && { language: found[0], script: found[1] }
}

/** Whether enough letters of a text are of a script. */
const isIn = (script: RegExp, text: string): boolean => countIn(text, script) > leastOfScript * countIn(text, letter)

const isOfScript = (language: Language): boolean => alphabets.some(([other]) => other === language)

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
  const lower = text.toLowerCase()
  const own = inOtherLetters(lower)
  // Nothing that is mostly written in other letters is English, however much code stands beside it.
  if (own !== undefined && isIn(own.script, text)) return own.language
  const { found, words } = grammarIn(lower)
  const languages = byLanguage(found)
  for (const [language, own] of ownLetters) {
    if (!own.test(lower)) continue
    // Names have capitals, and an English text may name many.
    const telling = (text.match(lowerWord) ?? []).filter((each) => own.test(each) && !found.has(fold(each)))
    const { count = 0, different = 0 } = languages.get(language) ?? {}
    languages.set(language, { count: count + telling.length, different: different + new Set(telling).size })
  }
  let best: Language = "en"
  let strongest: Counts = { count: 0, different: 0 }
  for (const [language, counts] of languages) {
    if (language === "en" || (isOfScript(language) && language !== own?.language)) continue
    if (counts.count < strongest.count || (counts.count === strongest.count && language > best)) continue
    best = language
    strongest = counts
  }
  const { count, different } = strongest
  const enough = different >= (words < short ? 2 : leastDifferent)
  if (!enough || count < leastShare * words) return "en"
  const english = languages.get("en")?.count ?? 0
  return count > margin * english ? best : "en"
}

/** Letters that are not Latin, but for the signs of formulas: µm, ΔG. */
const otherLetters = /[^\p{Script=Latin}\p{Script=Greek}\p{Script=Common}\P{L}]|\p{Script=Greek}{3,}/gu

/** Whether a text is in a language with other letters than Latin ones. */
export const isInOtherLetters = (text: string): boolean =>
  !isAscii.test(text) &&
  (text.match(otherLetters)?.join("").length ?? 0) > leastOfScript * (text.match(letter)?.length ?? 0)

const wordsOf = (query: string): ReadonlyArray<string> =>
  Array.from(query.slice(0, most).toLowerCase().match(word) ?? [], fold)

/** How many words of grammar of each language there are among words. */
const grammarAmong = (words: ReadonlyArray<string>) => byLanguage(words.map((each) => [each, 1] as const))

/**
 * The words of a question that are grammar, folded, if it has several of another language's, and more than of English and
 * any other: one may be a name (hat size, the met office).
 */
export const foreignGrammarOf = (query: string): ReadonlyArray<string> => {
  const words = wordsOf(query)
  const [first, second] = [...grammarAmong(words)].sort(([, a], [, b]) => b.count - a.count)
  if (first === undefined || first[0] === "en" || first[1].count <= Math.max(1, second?.[1].count ?? 0)) return []
  return words.filter((each) => languagesByWord().get(each)?.includes(first[0]) === true)
}

/**
 * The words of a question that are grammar of a language, folded, if it has more of them than of English; in Latin letters
 * several of them: one may be a name.
 */
export const grammarOf = (query: string, language: Language): ReadonlyArray<string> => {
  const words = wordsOf(query)
  const counts = grammarAmong(words)
  const least = isOfScript(language) ? 0 : Math.max(1, counts.get("en")?.count ?? 0)
  if ((counts.get(language)?.count ?? 0) <= least) return []
  return words.filter((each) => languagesByWord().get(each)?.includes(language) === true)
}

const accented = /[^\p{ASCII}\p{P}\p{S}]/u
const han = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u

const allOwnLetters = [...ownLetters, ...alphabets.map(([language, , own]) => [language, own] as const)]

const scriptOf = (language: Language): string | undefined => alphabets.find(([other]) => other === language)?.[1].source

/**
 * The language to look a query up in, given the number of passages in each language: of those with its letters, the one
 * with most of the query's words of grammar, else one with letters of its own there, else the one of most passages.
 */
export const queryLanguage = (query: string, passages: ReadonlyMap<Language, number>): Language => {
  if (han.test(query) || [...passages.keys()].every((language) => language === "en")) return "en"
  const counts = grammarAmong(wordsOf(query))
  const [most] = [...counts].filter(([language]) => passages.has(language)).sort(([, a], [, b]) => b.count - a.count)
  // Names in code are Latin in any language, and may be most of a question.
  const found = isAscii.test(query)
    ? undefined
    : alphabets.find(([, script]) => (most ? isIn(script, query) : countIn(query, script) > 0))
  const script = found?.[1].source ?? (most && scriptOf(most[0]))
  const there = [...passages]
    .filter(([language]) => scriptOf(language) === script)
    .sort(([, a], [, b]) => b - a)
    .map(([language]) => language)
  const others = there.filter((language) => language !== "en")
  if (others.length === 0) return "en"
  const [first, second] = [...there, ...(script !== undefined || passages.has("en") ? [] : ["en" as const])]
    .map((language) => ({ language, count: counts.get(language)?.count ?? 0 }))
    .sort((a, b) => b.count - a.count)
  if (first!.count > (second?.count ?? 0)) return first!.language
  const own = allOwnLetters.find(
    ([language, letters]) => there.includes(language) && countIn(query.toLowerCase(), letters) > 0
  )
  if (own !== undefined) return own[0]
  return (accented.test(query) ? others[0] : there[0]) ?? "en"
}
