import { widthAt } from "../terms/classes.ts"
import { functionWords } from "../terms/languages.ts"
import type { TextSpan } from "../model/Passage.ts"

const abbreviation = /^(?:\p{Lu}|St|Mr|Mrs|Ms|Dr|Jr|Sr|Mt|Ft|Prof|Gen|Lt|Col|Capt|Rev|Sgt)$/u
const joined = /^(?:[ \t]{1,2}|[ \t]?\r?\n[ \t]?| & | - )$/u
/** The end of a sentence: decided by the last mark in the gap that is not a quotation mark, bracket or space. */
const ending = /[.!?:;•*#>|。！？][^.!?:;•*#>|。！？]*$/u

/** After a mark, or at the start of a line, a dash begins an explanation or a list item. */
const opensByDash = (gap: string): boolean => {
  const marked = gap.trimEnd()
  if (marked.length === gap.length || !/[-\u2013\u2014]$/.test(marked)) return false
  const before = marked.slice(0, -1)
  const rest = before.trimEnd()
  return before.includes("\n", rest.length) || /[)\]`*"']$/.test(rest)
}
/** A heading may capitalise all its words. */
const heading = /(?:^|\n) {0,3}#{1,6}[ \t]+$/u

/** After one of these signs, a word is a part of something else. */
const isPartAfter = (unit: number): boolean => unit === 0x2f || unit === 0x5f || unit === 0x7e
const underscore = 0x5f

const isApostrophe = (unit: number): boolean => unit === 0x27 || unit === 0x2019
/** Whether a sign may be inside of a word: an apostrophe, `&`, `.` or `-`. */
const isInside = (unit: number): boolean => isApostrophe(unit) || unit === 0x26 || unit === 0x2e || unit === 0x2d

/** Classes of characters: not part of a word, part of one, a small letter, a capital. */
const [none, other, small, large] = [1, 2, 3, 4]

const [upper, lower, letter] = [/\p{Lu}/u, /\p{Ll}/u, /[\p{L}\p{N}]/u]

const classed = (character: string): number =>
  upper.test(character) ? large! : lower.test(character) ? small! : letter.test(character) ? other! : none!

/** A cache of the classes of UTF-16 units, 0 if not computed: a regex per letter would take most of the time. */
const known = new Uint8Array(0x1_0000)

/** The class of the character at an offset; a character above U+FFFF has two units. */
const classAt = (text: string, at: number): number => {
  const unit = text.charCodeAt(at)
  const kind = known[unit]!
  if (kind !== 0) return kind
  if (unit >= 0xd800 && unit < 0xdc00) return classed(String.fromCodePoint(text.codePointAt(at)!))
  return (known[unit] = classed(text[at]!))
}

/** A word of a text, which copies it only if somebody asks: of most words, nobody does. */
class Word implements TextSpan {
  constructor(
    private readonly source: string,
    readonly start: number,
    readonly end: number,
    private readonly hasLarge: boolean,
    /** Whether it begins with a capital, or has one inside, as in iPhone. */
    readonly capital: boolean,
    /** Whether it is the first of a sentence, list item, quotation or heading, where a capital says nothing. */
    readonly opens: boolean,
    /** Whether only a space or the like separates it from the one before, and no sentence begins with it. */
    readonly goesOn: boolean
  ) {}

  get text(): string {
    return this.source.slice(this.start, this.end)
  }

  get lower(): string {
    return this.hasLarge ? this.text.toLowerCase() : this.text
  }
}

const space = 0x20

/** The words of a text: letters and digits, joined by single signs such as a hyphen or an apostrophe. */
const words = (text: string): ReadonlyArray<Word> => {
  const found: Array<Word> = []
  // The word before; -1: there is none.
  let before = -1
  let last = 0
  let inHeading = false
  let at = 0
  while (at < text.length) {
    const first = classAt(text, at)
    if (first <= none!) {
      at += 1
      continue
    }
    const start = at
    let capital = first === large
    let hasLarge = capital
    // Only small letters so far; a capital then makes the word a name.
    let isSmall = first === small
    for (;;) {
      at += widthAt(text, at)
      if (at >= text.length) break
      let next = classAt(text, at)
      if (next === none) {
        const sign = text.charCodeAt(at)
        if (at + 1 === text.length || !isInside(sign)) break
        const after = classAt(text, at + 1)
        // "d'Ampezzo" continues with a name.
        if (at === start + 1 && isSmall && after === large && isApostrophe(sign)) capital = true
        if (after === none) break
        at += 1
        next = after
        isSmall = false
      }
      if (next === large) {
        hasLarge = true
        capital ||= isSmall
      }
      isSmall &&= next === small
    }
    const isPlain = before >= 0 && start === last + 1 && text.charCodeAt(last) === space
    let adjacent = isPlain
    let opens = false
    let isPart = at < text.length && text.charCodeAt(at) === underscore
    if (!isPlain) {
      const gap = text.slice(last, start)
      const stop = (gap === ". " || gap === ".") && before >= 0 && abbreviation.test(text.slice(before, last))
      if (before < 0 || gap.includes("\n")) inHeading = heading.test(gap)
      // A part of a path or a constant is not a name.
      isPart ||= start > 0 && isPartAfter(text.charCodeAt(start - 1))
      adjacent = before >= 0 && (stop || joined.test(gap))
      opens =
        before < 0 ||
        (!stop &&
          gap.length > 1 &&
          (ending.test(gap) || gap.includes("//") || opensByDash(gap) || /\n\s*\n/u.test(gap)))
    }
    found.push(new Word(text, start, at, hasLarge, capital && !inHeading && !isPart, opens, adjacent && !opens))
    last = at
    before = start
  }
  return found
}

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
/** Lengths of words as bits, by the last five bits of their first letter: most words are told apart by this. */
const lengthsOf = (words: Iterable<string>): Int32Array => {
  const lengths = new Int32Array(32)
  for (const word of words) lengths[word.charCodeAt(0) & 31]! |= 1 << word.length
  return lengths
}
const germanLengths = lengthsOf(german)

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
const mayOpen = (word: Word): boolean => {
  if (!word.capital) return false
  const { lower, text } = word
  return (
    !(text.includes("-") && adjective.test(text)) &&
    !functionWords.has(lower) &&
    !common.has(lower) &&
    !german.has(lower)
  )
}

/**
 * Finds names in a text by rules: runs of capitalised words with the small words that join them ("Bank of England"),
 * and their parts after "of" and around "and", but never a capital that only starts a sentence. In order, none twice.
 */
export const names = (text: string): ReadonlyArray<TextSpan> => {
  const all = words(text)
  const inside = new Map<string, number>()
  let nouns = 0
  for (const word of all) {
    if (word.capital && !word.opens) inside.set(word.lower, (inside.get(word.lower) ?? 0) + 1)
    const lengths = germanLengths[text.charCodeAt(word.start) & 31]!
    if (lengths & (1 << Math.min(31, word.end - word.start)) && german.has(word.lower)) nouns++
  }
  const singleWords = nouns * 12 < all.length && (text.length < shortestTable || sentenceEnd.test(text))
  const isGerman = nouns * 12 >= all.length
  const isSmall = (lower: string): boolean =>
    all.some(({ capital, end, start }) => !capital && end - start === lower.length && text.startsWith(lower, start))
  const areCapital = (from: number, to: number): boolean => all.slice(from, to + 1).every(({ capital }) => capital)
  const found = new Map<number, TextSpan>()

  const add = (from: number, to: number): void => {
    while (from <= to && !mayOpen(all[from]!) && !(from < to && seasons.has(all[from]!.lower))) from++
    const last = to
    while (to >= from && (all[to]!.capital ? isSentence(all[to]!) : !number.test(all[to]!.text))) to--
    if (from > to || to - from >= longest) return
    if (to - from >= longestPlain && areCapital(from, to)) return
    const first = all[from]!
    // "RESULTS There" is a label and a sentence.
    if (from === to && to < last && first.opens && all[to + 1]!.capital) return
    if (isGerman && !areCapital(from, to)) return
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
  for (let i = from + 1; i < all.length && all[i]!.goesOn; i++) {
    const word = all[i]!
    // "Active 13 April".
    if (last === i - 1 && number.test(all[last]!.text) && common.has(word.lower)) {
      last--
      break
    }
    if (word.capital) {
      const before = all[i - 1]!.text
      if (word.text === before || longNumber.test(before)) break
      last = i
      continue
    }
    const { text } = word
    if (number.test(text) && all[i - 1]!.capital) last = i
    else if (linkers.has(text)) {
      if (last >= begins) parts.push([begins, last])
      begins = i + 1
    } else if (!joiners.has(text)) break
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
    if (a < b || parts.length === 1 || !(b + 1 < all.length && all[b + 1]!.text === "for")) add(a, b)
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
