import { fold, isAscii } from "./fold.ts"
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
const notRussian = /[\u0456\u0457\u0454\u045e\u0458\u0459\u045a\u045b\u0452\u0453\u045c\u045f]/u

interface Counts {
  count: number
  different: number
}

/** The words of grammar of all languages, by number. */
const grammar = [...languagesByWord.keys()]
const numbers = new Map(grammar.map((each, number) => [each, number]))
const longest = Math.max(...grammar.map((each) => each.length))

const step = (hash: number, unit: number): number => Math.imul(hash ^ unit, 0x9e3779b1)
const lastSlot = 4095
const slotOf = (hash: number): number => (hash ^ (hash >>> 16)) & lastSlot

/** A hash table of the ASCII ones: number + 1, 0 for a free slot. A Map would need a copy of each word of a text. */
const slots = new Uint16Array(lastSlot + 1)
for (const [number, each] of grammar.entries()) {
  if (!isAscii.test(each)) continue
  let hash = 0
  for (let i = 0; i < each.length; i++) hash = step(hash, each.charCodeAt(i))
  let slot = slotOf(hash)
  while (slots[slot] !== 0) slot = (slot + 1) & lastSlot
  slots[slot] = number + 1
}

/** The number of the word of grammar in a range of ASCII with this hash; undefined if it is none. */
const numberAt = (text: string, start: number, end: number, hash: number): number | undefined => {
  if (end - start > longest) return undefined
  for (let slot = slotOf(hash); slots[slot] !== 0; slot = (slot + 1) & lastSlot) {
    const number = (slots[slot] as number) - 1
    const known = grammar[number] as string
    if (known.length === end - start && text.startsWith(known, start)) return number
  }
  return undefined
}

/** How often each word of grammar occurs in the text at hand. */
const occurrences = new Uint32Array(grammar.length)

/** How many words a text in lower case has, and how often each word of grammar is among them. */
const grammarIn = (text: string) => {
  const found: Array<number> = []
  let words = 0
  for (let at = 0; at < text.length;) {
    const start = at
    let hash = 0
    let unit = text.charCodeAt(at)
    while (unit >= 97 && unit <= 122) {
      hash = step(hash, unit)
      unit = text.charCodeAt(++at)
    }
    letters.lastIndex = at
    let number: number | undefined
    if (unit >= 128 && letters.test(text)) {
      at = letters.lastIndex
      const folded = fold(text.slice(start, at))
      if (!counts(folded)) continue
      number = numbers.get(folded)
    } else if (at === start) {
      at++
      continue
    } else if (at === start + 1) continue
    else number = numberAt(text, start, at, hash)
    words++
    if (number !== undefined && (occurrences[number] = occurrences[number]! + 1) === 1) found.push(number)
  }
  const counted = found.map((number) => [grammar[number]!, occurrences[number]!] as const)
  for (const number of found) occurrences[number] = 0
  return { found: counted, words }
}

/** Code is full of one-letter names. */
const counts = (word: string): boolean => word.length > 1 || cyrillic.test(word)

/** How many words of grammar of each language there are, given how often each occurs. */
const byLanguage = (found: Iterable<readonly [word: string, count: number]>) => {
  const languages = new Map<Language, Counts>()
  for (const [each, count] of found) {
    for (const language of languagesByWord.get(each) ?? []) {
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
  const isRussian = russian.test(text) && !notRussian.test(text)
  const { found, words } = grammarIn(text.toLowerCase())
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
  const english = languages.get("en")?.count ?? 0
  const enough = different >= (words < short ? 2 : leastDifferent)
  return enough && count >= leastShare * words && count > margin * english ? best : "en"
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
  const words = query.slice(0, most).toLowerCase().match(word) ?? []
  const counts = byLanguage(words.map((each) => [fold(each), 1] as const))
  const [first, second] = [...there, ...(passages.has("en") ? [] : ["en" as const])]
    .map((language) => ({ language, count: counts.get(language)?.count ?? 0 }))
    .sort((a, b) => b.count - a.count)
  if (first!.count > (second?.count ?? 0)) return first!.language
  return (beyondAscii.test(query) ? others[0] : there[0]) ?? "en"
}
