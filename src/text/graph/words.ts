import type { Span } from "./mention.ts"

/** A word of a text, with what the rules for names need. */
export interface Word extends Span {
  readonly text: string
  readonly lower: string
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

const parts = new Set("/_~")
const apostrophe = /['’]/u
const inside = new Set("'’&.-")

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

const widthAt = (text: string, at: number): number => (text.codePointAt(at)! > 0xffff ? 2 : 1)

/** The words of a text: letters and digits, joined by single signs such as a hyphen or an apostrophe. */
export const words = (text: string): ReadonlyArray<Word> => {
  const found: Array<Word> = []
  let last = 0
  let before: string | undefined
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
      let next = at < text.length ? classAt(text, at) : none!
      // "d'Ampezzo" continues with a name.
      if (at === start + 1 && isSmall && apostrophe.test(text.charAt(at)) && classAt(text, at + 1) === large)
        capital = true
      if (next === none && inside.has(text.charAt(at)) && at + 1 < text.length && classAt(text, at + 1) > none!) {
        at += 1
        next = classAt(text, at)
        isSmall = false
      }
      if (next === none) break
      if (next === large) {
        hasLarge = true
        capital ||= isSmall
      }
      isSmall &&= next === small
    }
    const word = text.slice(start, at)
    const gap = text.slice(last, start)
    const isPlain = gap === " " && before !== undefined
    const stop = !isPlain && (gap === ". " || gap === ".") && before !== undefined && abbreviation.test(before)
    if (before === undefined || gap.includes("\n")) inHeading = heading.test(gap)
    // A part of a path or a constant is not a name.
    const isPart = (start > 0 && parts.has(text.charAt(start - 1))) || text.charAt(at) === "_"
    found.push({
      start,
      end: at,
      text: word,
      lower: hasLarge ? word.toLowerCase() : word,
      capital: capital && !inHeading && !isPart,
      adjacent: isPlain || (before !== undefined && (stop || joined.test(gap))),
      opens:
        before === undefined ||
        (!isPlain &&
          !stop &&
          gap.length > 1 &&
          (ending.test(gap) || gap.includes("//") || opensByDash(gap) || /\n\s*\n/u.test(gap)))
    })
    last = at
    before = word
  }
  return found
}
