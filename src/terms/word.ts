import { fold, isAscii } from "./fold.ts"
import { type Language, stemIn } from "./languages.ts"
import { stem } from "porter2"

/** The terms of a word or compound as parallel lists; offsets are relative to its start, end exclusive. */
export interface WordTerms {
  readonly terms: ReadonlyArray<string>
  readonly starts: ReadonlyArray<number>
  readonly ends: ReadonlyArray<number>
}

/** A longer term keeps its beginning and a hash of the whole, so that only it finds itself. */
export const maxTermLength = 64
const keptOfLongTerm = 48

/** FNV-1a over UTF-16 units, 32 bits, in base 36. */
const hash = (text: string): string => {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return (h >>> 0).toString(36)
}

const english = /^[a-z]{3,40}$/

/** The index term of a folded word: English is stemmed; words with digits, signs or other letters are not. */
export const termOf = (folded: string): string => {
  if (english.test(folded)) return stem(folded)
  if (folded.length <= maxTermLength) return folded
  return folded.slice(0, keptOfLongTerm).replace(/[\uD800-\uDBFF]$/, "") + hash(folded)
}

const plain = /^[A-Za-z]?[a-z0-9]*$/
/** A dotted number, one with thousands separators, or a word with the sign of `C++` and `C#`. */
const pieces = /(?<![\p{L}\p{M}\p{N}])v?\d+(?:[.,]\d+)+|[^._\-/@&',:>’‐‑+#]+(?:\+\+|#)?/giu
const dottedNumber = /^v?\d+[.,]\d/i
/** U.S.A, e.g: its single letters are not useful terms. */
const acronym = /^\p{L}(?:\.\p{L})+$/u
/** The part after the apostrophe in "it's", "we'll", "don't". */
const contraction = /^(?:s|d|ll|re|ve|m|t)$/i
const isContraction = (before: string, piece: string): boolean =>
  (before === "'" || before === "’") && contraction.test(piece)
/** Where a part begins in camel case: aB and ABc, but not in the plural of an acronym (RNAs). */
const camel = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{N})(?=\p{Lu}\p{Ll})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})(?!\p{Lu}s(?!\p{Ll}))/u

/** The stemmer does not recognise the plural of a word without vowels. */
const singular = (word: string): string => word.replace(/(?<=\p{Lu})s$/u, "")

class Collector implements WordTerms {
  readonly terms: Array<string> = []
  readonly starts: Array<number> = []
  readonly ends: Array<number> = []

  constructor(private readonly language: Language) {}

  /** A single word: its term, and its stem in its own language. */
  simple(word: string, start: number, end: number): void {
    this.add(fold(word), start, end)
    const own = stemIn(this.language, word)
    if (own !== undefined) this.term(own, start, end)
  }

  add(folded: string, start: number, end: number): void {
    if (folded !== "") this.term(termOf(folded), start, end)
  }

  private term(term: string, start: number, end: number): void {
    if (this.terms.includes(term)) return
    this.terms.push(term)
    this.starts.push(start)
    this.ends.push(end)
  }

  /** 1.2.3 also matches 1.2, and v1.2.3 matches v1 and 1.2.3; nobody searches for more than four levels. */
  number(text: string, start: number): void {
    const end = start + text.length
    const version = text.toLowerCase().replaceAll(",", "")
    const bare = version.replace(/^v/, "")
    if (bare !== version) this.add(version.slice(0, version.indexOf(".")), start, end)
    const levels = bare.split(".", 5)
    for (let level = 2; level < levels.length; level++) this.add(levels.slice(0, level).join("."), start, end)
    this.add(bare, start, end)
  }

  word(text: string, start: number): void {
    const name = text.replace(/(?<![+#])[+#]+$/, "")
    let at = start
    const parts = name.length > maxTermLength ? [name] : name.split(camel)
    for (const part of parts) {
      if (parts.length > 1 && part.length > 1) this.simple(singular(part), at, at + part.length)
      at += part.length
    }
    if (name === text || name.length > 1) this.simple(singular(name), start, at)
    if (name !== text) this.add(fold(name) + text.slice(name.length), start, start + text.length)
  }
}

const oneWord = (raw: string, language: Language): string | WordTerms => {
  const term = termOf(raw.toLowerCase())
  const own = stemIn(language, raw)
  if (own === undefined || own === term) return term
  return { terms: [term, own], starts: [0, 0], ends: [raw.length, raw.length] }
}

/** The whole without separators, so that `get_user`, `get-user` and `getUser` match; between digits they stay. */
const joined = (compound: string): string => {
  const folded = isAscii.test(compound)
    ? compound.toLowerCase()
    : compound.replace(/[^._\-/@&',:>’‐‑]+/g, (word) => fold(word))
  return folded.replace(/(?<=\d)([.\-/])(?=\d)|[._\-/@&',:>’‐‑]+/g, "$1").replace(/^v(?=\d+\.\d)/, "")
}

/**
 * The terms of a word or compound, each once: its parts, the parts between slashes or an `@`, and the whole; for words
 * of a language with its own rules, also the stems by those. A string is the only term and covers all of it.
 */
export const analyse = (raw: string, language: Language): string | WordTerms => {
  if (plain.test(raw)) return language === "en" ? termOf(raw.toLowerCase()) : oneWord(raw, language)
  if (acronym.test(raw)) return termOf(joined(raw))
  const out = new Collector(language)
  let segment = 0
  let parts = 0
  let segments = 1
  pieces.lastIndex = 0
  for (let found = pieces.exec(raw); found !== null; found = pieces.exec(raw)) {
    const piece = found[0]
    const at = found.index
    const before = raw.charAt(at - 1)
    if (before === "/" || before === "@") {
      if (parts > 1) out.add(joined(raw.slice(segment, at - 1)), segment, at - 1)
      segment = at
      parts = 0
      segments++
    }
    if (isContraction(before, piece)) {
      // "don't" also matches "dont", but "we'll" does not match "well".
      if (/t/i.test(piece)) parts++
      continue
    }
    parts++
    if (plain.test(piece)) out.simple(piece.toLowerCase(), at, at + piece.length)
    else if (dottedNumber.test(piece)) out.number(piece, at)
    else out.word(piece, at)
  }
  if (parts > 1) out.add(joined(raw.slice(segment)), segment, raw.length)
  if (segments > 1) out.add(joined(raw), 0, raw.length)
  if (raw.startsWith(".")) out.add(`.${joined(raw)}`, 0, raw.length)
  return out
}
