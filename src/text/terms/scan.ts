import { CharClass, classOf } from "./classes.ts"
import { foldUnspaced } from "./fold.ts"
import { analyse, type WordTerms } from "./word.ts"

/**
 * Receives a term and the UTF-16 span it stands on. `tail` marks the last character of an unspaced run of several, which
 * its last pair contains already.
 */
export type Emit = (term: string, start: number, end: number, tail: boolean) => void

const { connector, mark, picture, separator, unspaced, word } = CharClass
const dot = 46
const comma = 44
const sharp = 35
const plus = 43
/** Longer compounds end at the next connector, so that no text can make one of unbounded cost. */
const maxCompound = 128
/** What follows in a longer word tells nothing more. */
const maxWord = 256
/** UTF-16 units of a character with its marks that count. */
const maxCharacter = 16

/**
 * Words seen lately and their terms, two to a hash: a newcomer takes the first place and the first moves to the second,
 * so that memory is bounded and a rare word does not push out a frequent one.
 */
const sets = 0x8000
const longestKept = 40
const seen = new Array<string>(2 * sets).fill("")
const seenLengths = new Uint8Array(2 * sets)
const seenTerms = new Array<string | WordTerms>(2 * sets).fill("")

const mix = (hash: number, unit: number): number => Math.imul(hash ^ unit, 0x9e3779b1)

const termsOf = (text: string, start: number, end: number, hash: number): string | WordTerms => {
  const length = end - start
  if (length > longestKept) return analyse(text.slice(start, Math.min(end, start + maxWord)))
  const first = 2 * ((hash ^ (hash >>> 16)) & (sets - 1))
  const known = seen[first] as string
  if (seenLengths[first] === length && text.startsWith(known, start)) return seenTerms[first] as string | WordTerms
  const second = seen[first + 1] as string
  const isSecond = seenLengths[first + 1] === length && text.startsWith(second, start)
  // A slice keeps its whole text alive; this copy does not.
  const word = isSecond ? second : ` ${text.slice(start, end)}`.slice(1)
  const found = isSecond ? (seenTerms[first + 1] as string | WordTerms) : analyse(word)
  seen[first + 1] = known
  seenLengths[first + 1] = seenLengths[first] as number
  seenTerms[first + 1] = seenTerms[first] as string | WordTerms
  seen[first] = word
  seenLengths[first] = length
  seenTerms[first] = found
  return found
}

const isAsciiWord = (c: number): boolean => c < 128 && classOf(c) === word
/** A plain separator, after which no compound goes on. */
const endsAsciiWord = (c: number): boolean => c < 128 && classOf(c) === separator && c !== plus && c !== sharp

const isDigit = (c: number): boolean => c >= 48 && c <= 57

const classAt = (text: string, i: number): CharClass => {
  const c = text.charCodeAt(i)
  return classOf(c < 0xd800 || c > 0xdfff ? c : (text.codePointAt(i) as number))
}

/** UTF-16 units of the character at `i`; a lone surrogate is one. */
const widthAt = (text: string, i: number): number => {
  const c = text.charCodeAt(i)
  return c >= 0xd800 && c <= 0xdbff && (text.codePointAt(i) as number) > 0xffff ? 2 : 1
}

/** The end of the run of letters, digits and marks that begins at `i`. */
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
    text.charCodeAt(i) !== comma ||
    (isDigit(text.charCodeAt(i - 1)) && /^\d{3}(?!\d)/.test(text.slice(i + 1, i + 5)))
  )
}

/** The end of the compound that begins at `start` and whose first word reaches at least to `from`. */
const endOfCompound = (text: string, start: number, from: number): number => {
  let i = endOfWord(text, from)
  while (classAt(text, i) === connector && i - start < maxCompound && joins(text, i)) i = endOfWord(text, i + 1)
  if (text.charCodeAt(i) === plus && text.charCodeAt(i + 1) === plus) return i + 2
  return i === start + 1 && text.charCodeAt(i) === sharp && classAt(text, i + 1) !== word ? i + 1 : i
}

/** A leading dot belongs to `.NET` and `.gitignore`, not to the end of a sentence. */
const opensWithDot = (text: string, i: number): boolean =>
  text.charCodeAt(i) === dot &&
  classAt(text, i + 1) === word &&
  !isDigit(text.charCodeAt(i + 1)) &&
  (i === 0 || (text.charCodeAt(i - 1) !== dot && classAt(text, i - 1) === separator))

/** Emits the pairs of an unspaced run and its last character, so that each character begins a term. */
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
const scanWord = (text: string, start: number, emit: Emit): number => {
  let h = 0
  let end = start
  while (isAsciiWord(text.charCodeAt(end))) h = mix(h, text.charCodeAt(end++))
  if (end === start || !endsAsciiWord(text.charCodeAt(end))) {
    const whole = endOfCompound(text, start, end === start ? start + 1 : end)
    while (end < whole) h = mix(h, text.charCodeAt(end++))
  }
  const found = termsOf(text, start, end, h)
  if (typeof found === "string") emit(found, start, end, false)
  else {
    for (let t = 0; t < found.terms.length; t++) {
      emit(found.terms[t] as string, start + (found.starts[t] as number), start + (found.ends[t] as number), false)
    }
  }
  return end
}

/** Emits every index term of a text from its beginning on, parts of a compound before the whole. */
export const scan = (input: string, emit: Emit): void => {
  // The NUL ends every run, so that the loops need no bounds: reading beyond a string's end is slow. Joining makes a
  // flat string; V8 would repeat a concatenation within the loop.
  const text = [input, "\0"].join("")
  const length = input.length
  let i = 0
  while (i < length) {
    const kind = classAt(text, i)
    if (kind === separator) i += widthAt(text, i)
    else if (kind === word || opensWithDot(text, i)) i = scanWord(text, i, emit)
    else if (kind === unspaced) i = scanUnspaced(text, i, emit)
    else {
      const end = i + widthAt(text, i)
      if (kind === picture) emit(text.slice(i, end), i, end, false)
      i = end
    }
  }
}

/** Whether a term is one character of an unspaced script, which begins the terms of all words it stands in. */
export const isLoneCharacter = (term: string): boolean => {
  if (classAt(term, 0) !== unspaced) return false
  let end = widthAt(term, 0)
  while (classAt(term, end) === mark) end += widthAt(term, end)
  return end === term.length
}
