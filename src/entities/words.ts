import type { Span } from "./mention.ts"

/** A word of a text, with what the rules for names need. */
export interface Word extends Span {
  readonly text: string
  readonly lower: string
  /** Whether its text is this one. */
  readonly is: (text: string) => boolean
  /** Whether it begins with a capital, or has one inside, as in iPhone. */
  readonly capital: boolean
  /** Whether only a space, a line end or an initial's full stop separates it from the previous word. */
  readonly adjacent: boolean
  /** Whether it is the first of a sentence, list item, quotation or heading, where a capital says nothing. */
  readonly opens: boolean
}

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
  if (unit >= 0xd800 && unit < 0xdc00) return classed(String.fromCodePoint(text.codePointAt(at)!))
  return (known[unit] ||= classed(text[at]!))
}

const widthAt = (text: string, at: number): number =>
  text.charCodeAt(at) >= 0xd800 && text.codePointAt(at)! > 0xffff ? 2 : 1

/** A word that copies its text only if somebody asks: of most words, nobody does. */
class Found implements Word {
  constructor(
    private readonly source: string,
    readonly start: number,
    readonly end: number,
    private readonly hasLarge: boolean,
    readonly capital: boolean,
    readonly adjacent: boolean,
    readonly opens: boolean
  ) {}

  get text(): string {
    return this.source.slice(this.start, this.end)
  }

  get lower(): string {
    return this.hasLarge ? this.text.toLowerCase() : this.text
  }

  is(other: string): boolean {
    return this.end - this.start === other.length && this.source.startsWith(other, this.start)
  }
}

const space = 0x20

/** The words of a text: letters and digits, joined by single signs such as a hyphen or an apostrophe. */
export const words = (text: string): ReadonlyArray<Word> => {
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
    let isPart = text.charCodeAt(at) === underscore
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
    found.push(new Found(text, start, at, hasLarge, capital && !inHeading && !isPart, adjacent, opens))
    last = at
    before = start
  }
  return found
}
