import { copying } from "../model/units.ts"
import { CharClass, classAt, classOf, widthAt } from "./classes.ts"
import { foldUnspaced } from "./fold.ts"
import type { Language } from "./languages.ts"
import { analyse, type WordTerms } from "./word.ts"

/** The rest of a longer word adds nothing. */
const maxWord = 256

const sets = 0x8000
const longestKept = 40

/** The hash of a text with one more UTF-16 unit; the empty text's is 0. */
const mix = (hash: number, unit: number): number => Math.imul(hash ^ unit, 0x9e3779b1)

/**
 * Recent words and their terms in one language, two per hash: a new word takes the first place and moves the first to
 * the second. So memory is bounded, and a rare word does not evict a frequent one.
 */
export class SeenWords {
  private readonly words = new Array<string>(2 * sets).fill("")
  private readonly lengths = new Uint8Array(2 * sets)
  private readonly terms = new Array<string | WordTerms>(2 * sets).fill("")

  constructor(private readonly language: Language) {}

  /** The terms of the word or compound from `start` to `end`, whose units hash to `hash`. */
  termsOf(text: string, start: number, end: number, hash: number): string | WordTerms {
    const { lengths, terms, words } = this
    const length = end - start
    if (length > longestKept) return analyse(text.slice(start, Math.min(end, start + maxWord)), this.language)
    const first = 2 * ((hash ^ (hash >>> 16)) & (sets - 1))
    const known = words[first] as string
    if (lengths[first] === length && text.startsWith(known, start)) return terms[first] as string | WordTerms
    const second = words[first + 1] as string
    const isSecond = lengths[first + 1] === length && text.startsWith(second, start)
    // A slice keeps its whole text in memory; this copy does not.
    const word = isSecond ? second : ` ${text.slice(start, end)}`.slice(1)
    const found = isSecond ? (terms[first + 1] as string | WordTerms) : analyse(word, this.language)
    words[first + 1] = known
    lengths[first + 1] = lengths[first] as number
    terms[first + 1] = terms[first] as string | WordTerms
    words[first] = word
    lengths[first] = length
    terms[first] = found
    return found
  }
}

const seen = new Map<Language, SeenWords>()

/** The recent words of a language. */
export const seenIn = (language: Language): SeenWords => {
  const known = seen.get(language) ?? new SeenWords(language)
  seen.set(language, known)
  return known
}

/** Receives a term and its UTF-16 span; `tail`: the last character of an unspaced run, which its last pair has too. */
type Emit = (term: string, start: number, end: number, tail: boolean) => void

const { connector, mark, picture, separator, unspaced, word } = CharClass
const dot = 46
const comma = 44
const sharp = 35
const plus = 43
const hyphen = 45
const colon = 58
const greater = 62
/** A longer compound ends at the next connector, so that no text can make one of unbounded cost. */
const maxCompound = 128
/** UTF-16 units that count of a character with its marks. */
const maxCharacter = 16

const isAsciiWord = (c: number): boolean => c < 128 && classOf(c) === word
/** A plain separator, which ends a compound. */
const endsAsciiWord = (c: number): boolean => c < 128 && classOf(c) === separator && c !== plus && c !== sharp

const isDigit = (c: number): boolean => c >= 48 && c <= 57

/** The end of the run of letters, digits and marks that begins at `from`. */
const endOfWord = (text: string, from: number): number => {
  let i = from
  for (;;) {
    const kind = classAt(text, i)
    if (kind !== word && kind !== mark) return i
    i += widthAt(text, i)
  }
}

/** Whether the connector at `i` joins the words around it. */
const joins = (text: string, i: number): boolean => {
  if (classAt(text, i + 1) !== word) return false
  return (
    text.charCodeAt(i) !== comma || (isDigit(text.charCodeAt(i - 1)) && /^\d{3}(?!\d)/.test(text.slice(i + 1, i + 5)))
  )
}

/** Whether two signs join the words of a name, as in `File::open` and `file->open`; each may come after a word. */
const isNameSign = (first: number, second: number): boolean =>
  (first === colon && second === colon) || (first === hyphen && second === greater)

/** The length of what joins the words around `i`; 0: nothing. Two numbers make no name. */
const joint = (text: string, i: number): number => {
  if (isNameSign(text.charCodeAt(i), text.charCodeAt(i + 1))) {
    const isBetweenDigits = isDigit(text.charCodeAt(i - 1)) && isDigit(text.charCodeAt(i + 2))
    return classAt(text, i + 2) === word && !isBetweenDigits ? 2 : 0
  }
  return classAt(text, i) === connector && joins(text, i) ? 1 : 0
}

/** The end of the compound that begins at `start` and whose first word extends at least to `from`. */
const endOfCompound = (text: string, start: number, from: number): number => {
  let i = endOfWord(text, from)
  for (let length = joint(text, i); length > 0 && i - start < maxCompound; length = joint(text, i)) {
    i = endOfWord(text, i + length)
  }
  if (text.charCodeAt(i) === plus && text.charCodeAt(i + 1) === plus) return i + 2
  return i === start + 1 && text.charCodeAt(i) === sharp && classAt(text, i + 1) !== word ? i + 1 : i
}

/** A leading dot belongs to `.NET` and `.gitignore`, not to the end of a sentence. */
const opensWithDot = (text: string, i: number): boolean =>
  text.charCodeAt(i) === dot &&
  classAt(text, i + 1) === word &&
  !isDigit(text.charCodeAt(i + 1)) &&
  (i === 0 || (text.charCodeAt(i - 1) !== dot && classAt(text, i - 1) === separator))

/** Emits the pairs of an unspaced run and its last character, so that every character begins a term. */
const scanUnspaced = (text: string, from: number, emit: Emit): number => {
  let previous = ""
  let previousStart = from
  let start = from
  for (;;) {
    if (classAt(text, start) !== unspaced) break
    let end = start + widthAt(text, start)
    while (classAt(text, end) === mark) end += widthAt(text, end)
    const unit = foldUnspaced(text.slice(start, Math.min(end, start + maxCharacter)))
    if (previous !== "") emit(previous + unit, previousStart, end, false)
    previous = unit
    previousStart = start
    start = end
  }
  if (previous !== "") emit(previous, previousStart, start, previousStart > from)
  return start
}

/** Emits the terms of the word or compound at `start` and returns its end. */
const scanWord = (text: string, start: number, words: SeenWords, emit: Emit): number => {
  let h = 0
  let end = start
  let c = text.charCodeAt(end)
  while (isAsciiWord(c)) {
    h = mix(h, c)
    c = text.charCodeAt(++end)
  }
  if (end === start || c === colon || !endsAsciiWord(c)) {
    const whole = endOfCompound(text, start, end === start ? start + widthAt(text, start) : end)
    while (end < whole) h = mix(h, text.charCodeAt(end++))
  }
  const found = words.termsOf(text, start, end, h)
  if (typeof found === "string") emit(found, start, end, false)
  else {
    for (let t = 0; t < found.terms.length; t++) {
      emit(found.terms[t] as string, start + (found.starts[t] as number), start + (found.ends[t] as number), false)
    }
  }
  return end
}

/** How terms begin: their first three characters, each one of the small letters, the digits, or another or none. */
type Beginnings = Uint8Array

const kinds = 37
const other = kinds - 1
const letterY = 24

const isSmall = (c: number): boolean => (c >= 97 && c <= 122) || isDigit(c)

const kindOf = (c: number): number => (c >= 97 && c <= 122 ? c - 97 : isDigit(c) ? c - 22 : other)

/** The third letters that the stemmer makes of others: using, use; cry, cri; skies, sky. */
const madeEnd = /^..[eiy]$/

/**
 * The beginnings of the words that have some English terms. A word begins like its term, but for a second letter `y`
 * that may have become an `i` (dying, die), and for a last one that the stemmer made.
 */
export const beginningsOf = (terms: Iterable<string>): Beginnings => {
  const found = new Uint8Array(kinds ** 3)
  for (const term of terms) {
    const first = term.charCodeAt(0)
    // A word that is not ASCII is never skipped.
    if (!(first < 128)) continue
    const seconds = kindOf(first) * kinds
    const thirdsOf = (second: number) => found.subarray((seconds + second) * kinds, (seconds + second + 1) * kinds)
    if (term.length === 1) found.fill(1, seconds * kinds, (seconds + kinds) * kinds)
    else if (term.length === 2 || madeEnd.test(term)) thirdsOf(kindOf(term.charCodeAt(1))).fill(1)
    else thirdsOf(kindOf(term.charCodeAt(1)))[kindOf(term.charCodeAt(2))] = 1
    thirdsOf(letterY).fill(1)
  }
  return found
}

const isCapital = (c: number): boolean => c >= 65 && c <= 90
const small = (c: number): number => (isCapital(c) ? c + 32 : c)

/** The end of the ASCII word at `start`, small or all in capitals, unless it begins in one of these ways; then `start`. */
const endOfPart = (units: Uint16Array, start: number, beginnings: Beginnings): number => {
  const first = units[start]!
  const next = units[start + 1]!
  const isLoud = isCapital(first) && isCapital(next)
  const second = kindOf(isLoud ? small(next) : next)
  const last = units[start + 2]!
  const third = second === other ? other : kindOf(isLoud ? small(last) : last)
  if (beginnings[(kindOf(small(first)) * kinds + second) * kinds + third] !== 0) return start
  let end = start + 1
  for (let c = next; isLoud ? isCapital(c) || isDigit(c) : isSmall(c);) c = units[++end]!
  return end
}

/** The end of the word or compound with hyphens at `start` if all its terms begin in none of these ways, else `start`. */
const endOfOther = (units: Uint16Array, start: number, beginnings: Beginnings): number => {
  if (!isSmall(small(units[start]!))) return start
  let end = endOfPart(units, start, beginnings)
  if (end === start) return start
  while (units[end] === hyphen && isSmall(small(units[end + 1]!))) {
    const next = endOfPart(units, end + 1, beginnings)
    // The whole begins like its first part, if that is as long as a beginning.
    const isLike = units[start + 1] !== hyphen && units[start + 2] !== hyphen
    if (!isLike || next === end + 1 || next - start > maxCompound) return start
    end = next
  }
  const c = units[end]!
  if (isNameSign(c, units[end + 1]!)) return start
  // A comma or full stop joins words only if another follows at once.
  const joins = c < 128 && classOf(c) === connector
  return endsAsciiWord(joins ? units[end + 1]! : c) ? end : start
}

/** Emits the terms of what is at `i` in a text that ends with a separator, and returns its end. */
export const scanOne = (text: string, i: number, words: SeenWords, emit: Emit): number => {
  const kind = classAt(text, i)
  if (kind === word || opensWithDot(text, i)) return scanWord(text, i, words, emit)
  if (kind === unspaced) return scanUnspaced(text, i, emit)
  const end = i + widthAt(text, i)
  if (kind === picture) emit(text.slice(i, end), i, end, false)
  return end
}

/** The NUL ends every run, so that loops need no bounds: reading beyond a string's end is slow. */
const ended = (text: string): string =>
  // Joining makes a flat string; V8 would flatten a concatenation again within the loop.
  [text, "\0"].join("")

/**
 * Emits every index term of a text, parts of a compound before the whole. In a language other than English, which must
 * be loaded, words have their stems in it besides their English terms.
 */
export const scan = (input: string, emit: Emit, language: Language = "en"): void => {
  const words = seenIn(language)
  const text = ended(input)
  for (let i = 0; i < input.length;) i = scanOne(text, i, words, emit)
}

/** Most passages are shorter. */
const unitsOf = copying(1 << 12)

/** ASCII that neither is nor begins a term. */
const isIdle = Uint8Array.from({ length: 128 }, (_, c) => (classOf(c) === word || c === dot ? 0 : 1))

/** The same in English, where terms that begin otherwise may be left out. */
export const scanFor = (beginnings: Beginnings, input: string, emit: Emit): void => {
  const words = seenIn("en")
  const text = ended(input)
  const units = unitsOf(text, 0, text.length)
  for (let i = 0; i < input.length;) {
    if (isIdle[units[i]!] === 1) {
      i++
      continue
    }
    const other = endOfOther(units, i, beginnings)
    i = other > i ? other : scanOne(text, i, words, emit)
  }
}

/** Whether a term is a single character of an unspaced script, which begins the terms of all words that contain it. */
export const isLoneCharacter = (term: string): boolean => {
  const text = `${term}\0`
  if (classAt(text, 0) !== unspaced) return false
  let end = widthAt(text, 0)
  while (classAt(text, end) === mark) end += widthAt(text, end)
  return end === term.length
}
