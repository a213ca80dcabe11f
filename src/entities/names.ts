import { functionWords } from "../terms/functionWords.ts"
import type { Span } from "./mention.ts"
import { type Word, words } from "./words.ts"

/** Lower-case words inside names. */
const joiners = new Set("of the de la le du van von der den del di da dos al el bin ibn y et des zu af ter".split(" "))

/** Lower-case words that occur between two names as often as inside one. */
const linkers = new Set("and for in on to with at from by".split(" "))

/** Joiners after which a part may be a separate name: "England" in "Bank of England". */
const parting = new Set(["of", "the"])

/** They begin names of several words, but are not names. */
const seasons = new Set(["spring", "summer", "autumn", "winter"])

/** Capitalised words that are not names. */
const common = new Set(
  (
    "january february march april may june july august september october november december " +
    "monday tuesday wednesday thursday friday saturday sunday spring summer autumn winter i " +
    "also however although though while after before during since until because there here see note " +
    "mr mrs ms dr prof one two three several many some most other such both each every all any another " +
    "yes figure table section chapter page example array list number filter default defaults returns"
  ).split(" ")
)

/** Capitalised after "of" in a title or an office, but not names by themselves. */
const general = new Set(
  (
    "north south east west union representatives year years truth freedom liberty justice peace war wars law laws state states nations people republic " +
    "police court defence defense interior treasury finance commerce trade labor labour transport agriculture health " +
    "education art arts science sciences technology engineering medicine music film television honor honour fame power " +
    "church god lords commons staff time life death love night day light fire earth world king kings queen men women children"
  ).split(" ")
)

/** Frequent German words: German capitalises its nouns, so capitals do not show names. */
const german = new Set("der die das und ist nicht ein eine mit den dem wird auf für werden".split(" "))
/** The longest of them, and their first letters in either case, since most words begin with others. */
const longestGerman = 6
const germanInitials = new Set(
  [...german].flatMap(([first = ""]) => [first, first.toUpperCase()]).map((c) => c.charCodeAt(0))
)

const longest = 8
/** More consecutive capitalised words than this, with nothing between them, are cells of a table. */
const longestPlain = 5

/** "Han-manufactured", "IPv6-only": the part after the hyphen turns a name into an adjective. */
const adjective =
  /\p{L}-\p{Ll}*(?:ed|ing|ent|ant|able|ible|ive|al|ic|ly|like|wide|free|only|born|based|style|type|era|run|built)$/u

/** The end of a sentence; a longer text without one is a table or a list of labels, whose cells run together. */
const sentenceEnd = /[.!?\u3002](?:["'\u2019\u201d)\]]{0,2})(?:\s|$)/u
const shortestTable = 100

// The build for older engines compiles a regex with \p again wherever it is inside a function.
const number = /^\p{N}/u
const longNumber = /^\p{N}{3}/u
const marked = /\p{Lu}.*\p{Lu}|\p{N}/u
const verb = /(?:ing|ed|ly)$/u

/** A word that may begin a name, or be one. */
const mayOpen = (word: Word): boolean =>
  word.capital &&
  !adjective.test(word.text) &&
  !functionWords.has(word.lower) &&
  !common.has(word.lower) &&
  !german.has(word.lower)

/**
 * Finds names in a text by rules: runs of capitalised words with the small words that join them ("Bank of England"),
 * and their parts after "of" and around "and", but never a capital that only starts a sentence. In order, none twice.
 */
export const names = (text: string): ReadonlyArray<Span> => {
  const all = words(text)
  const inside = new Map<string, number>()
  let nouns = 0
  for (const word of all) {
    if (word.capital && !word.opens) inside.set(word.lower, (inside.get(word.lower) ?? 0) + 1)
    const isShort = word.end - word.start <= longestGerman
    if (isShort && germanInitials.has(text.charCodeAt(word.start)) && german.has(word.lower)) nouns++
  }
  const singleWords = nouns * 12 < all.length && (text.length < shortestTable || sentenceEnd.test(text))
  const isGerman = nouns * 12 >= all.length
  const isSmall = smallIn(all)
  const found = new Map<number, Span>()

  const add = (from: number, to: number): void => {
    while (from <= to && !mayOpen(all[from]!) && !(from < to && seasons.has(all[from]!.lower))) from++
    const last = to
    while (to >= from && (all[to]!.capital ? isSentence(all[to]!) : !number.test(all[to]!.text))) to--
    if (from > to || to - from >= longest) return
    if (to - from >= longestPlain && all.slice(from, to + 1).every(({ capital }) => capital)) return
    const first = all[from]!
    // "RESULTS There" is a label and a sentence.
    if (from === to && to < last && first.opens && all[to + 1]!.capital) return
    if (isGerman && all.slice(from, to + 1).some(({ capital }) => !capital)) return
    if (from === to) {
      const telling = isMark(first)
      if (!telling && (!singleWords || first.text.length < 3 || (first.opens && !inside.has(first.lower)))) return
      // If it also occurs in lower case, it is a noun.
      if (!telling && isSmall(first.lower)) return
    }
    const span = { start: first.start, end: all[to]!.end }
    found.set(span.start * 65_536 + Math.min(65_535, span.end - span.start), span)
  }

  const rules: Rules = {
    isRepeated: (word) => (inside.get(word.lower) ?? 0) > 1,
    isOne: (first, last) => isOne(text, all[first]!.start, all[last]!.end),
    isNoun: ({ lower }) => isSmall(lower) || verb.test(lower)
  }
  for (let from = 0; from < all.length; from++) {
    if (all[from]!.capital) from = addRun(all, from, add, rules)
  }
  return [...found.values()].sort((a, b) => a.start - b.start || b.end - a.end)
}

/** From so many questions on, a set of all words pays. */
const manyQuestions = 8

/** Answers whether a word also occurs without a capital. */
const smallIn = (all: ReadonlyArray<Word>): ((lower: string) => boolean) => {
  let small: ReadonlySet<string> | undefined
  let questions = 0
  return (lower) => {
    if (small === undefined && ++questions < manyQuestions) {
      return all.some((word) => !word.capital && word.is(lower))
    }
    small ??= new Set(all.flatMap(({ capital, text }) => (capital ? [] : [text])))
    return small.has(lower)
  }
}

interface Rules {
  /** Whether it occurs in lower case elsewhere in the text, or never begins a name. */
  readonly isNoun: (word: Word) => boolean
  /** Whether the parts around "and" form one name. */
  readonly isOne: (first: number, last: number) => boolean
  readonly isRepeated: (word: Word) => boolean
}

/** Adds the names of the run that begins here, and returns the word with which it ends. */
const addRun = (
  all: ReadonlyArray<Word>,
  from: number,
  add: (from: number, to: number) => void,
  { isNoun, isOne, isRepeated }: Rules
): number => {
  const parts: Array<readonly [from: number, to: number]> = []
  let begins = from
  let last = from
  for (let i = from + 1; i < all.length && all[i]!.adjacent && !all[i]!.opens; i++) {
    const word = all[i]!
    // The next cell of a table.
    // "Active 13 April".
    if (common.has(word.lower) && last === i - 1 && number.test(all[last]!.text)) {
      last--
      break
    }
    if (word.capital && (word.text === all[i - 1]!.text || longNumber.test(all[i - 1]!.text))) break
    if (word.capital || (number.test(word.text) && all[i - 1]!.capital)) last = i
    else if (linkers.has(word.text)) {
      if (last >= begins) parts.push([begins, last])
      begins = i + 1
    } else if (!joiners.has(word.text)) break
  }
  if (begins <= last) parts.push([begins, last])
  for (let index = 0; index < parts.length; index++) {
    const [a, b] = parts[index]!
    // "Following the BUA" names the BUA.
    if (all[a]!.opens && b > a + 1 && all[a + 1]!.text === "the" && (isNoun(all[a]!) || all[a]!.lower.endsWith("s"))) {
      add(a + 2, b)
      continue
    }
    // The beginning of "Center for Wooden Boats" is not a name.
    if (a < b || parts.length === 1 || all[b + 1]?.text !== "for") add(a, b)
    // "Under Lincoln" names Lincoln, but "David Lauren" nobody called Lauren, unless he is called so elsewhere.
    if (all[a]!.opens && b > a && (b > a + 1 ? isNoun(all[a]!) : isRepeated(all[b]!))) add(a + 1, b)
    // "Marks and Spencer" is one name; two parts of several words each are two.
    const next = parts[index + 1]
    const joins = next !== undefined && a === b && next[0] === next[1] && all[b + 1]!.text === "and"
    if (joins && isOne(a, next[1])) add(a, next[1])
    addJoined(all, a, b, add, isRepeated)
  }
  return last
}

/** Adds "Arts" of "University of the Arts"; "University" alone could be any. */
const addJoined = (
  all: ReadonlyArray<Word>,
  from: number,
  to: number,
  add: (from: number, to: number) => void,
  isRepeated: (word: Word) => boolean
): void => {
  let begins = from
  let joiner = ""
  for (let i = from + 1; i <= to; i++) {
    if (all[i]!.capital || !joiners.has(all[i]!.text)) continue
    if (i > begins && all[i]!.text === "the") add(begins, i - 1)
    begins = i + 1
    joiner = all[i]!.text
  }
  const holds = begins < to || isRepeated(all[to]!) || (parting.has(joiner) && !general.has(all[to]!.lower))
  if (begins > from && holds) add(begins, to)
}

/** Quoted, or said twice: "Marks and Spencer" is one name, "Uruguay and Suriname" are two. */
const isOne = (text: string, start: number, end: number): boolean => {
  const phrase = text.slice(start, end)
  return /["\u201c\u2018'*_]/u.test(text.charAt(start - 1)) || text.indexOf(phrase) !== text.lastIndexOf(phrase)
}

/** "IPv4" or "NATO", which is a name by its form. */
const isMark = ({ text }: Word): boolean => marked.test(text)

/** A capital that begins a sentence after a label: "RESULTS There". */
const isSentence = (word: Word): boolean => word.text.length > 1 && functionWords.has(word.lower) && !isMark(word)
