import type { Span } from "./mention.ts"

/** A word of a text, as the rules for names see it. */
export interface Word extends Span {
  readonly text: string
  readonly lower: string
  /** Begins with a capital, or has one inside, as iPhone has. */
  readonly capital: boolean
  /** Nothing but a space, a line's end or an initial's full stop parts it from the word before. */
  readonly adjacent: boolean
  /** First of a sentence, line of a list, quotation or heading, where a capital says nothing. */
  readonly opens: boolean
}

const pattern = /[\p{L}\p{N}]+(?:['’&.-][\p{L}\p{N}]+)*/gu
const capitalised = /^\p{Lu}|^\p{Ll}+\p{Lu}/u
const abbreviation = /^(?:\p{Lu}|St|Mr|Mrs|Ms|Dr|Jr|Sr|Mt|Ft|Prof|Gen|Lt|Col|Capt|Rev|Sgt)$/u
const joined = /^(?:[ \t]{1,2}|[ \t]?\r?\n[ \t]?| & | - )$/u
/** What a sentence ends with: the last mark of the gap that is no quotation mark, bracket or space decides. */
const ending = /[.!?:;•*#>|。！？][^.!?:;•*#>|。！？]*$/u

export const words = (text: string): ReadonlyArray<Word> => {
  const found: Array<Word> = []
  let last = 0
  let before: string | undefined
  for (const match of text.matchAll(pattern)) {
    const [word] = match
    const gap = text.slice(last, match.index)
    const initial = before !== undefined && abbreviation.test(before)
    const stop = initial && (gap === ". " || gap === ".")
    found.push({
      start: match.index,
      end: match.index + word.length,
      text: word,
      lower: word.toLowerCase(),
      capital: capitalised.test(word),
      adjacent: before !== undefined && (stop || joined.test(gap)),
      opens: before === undefined || (!stop && gap.length > 1 && (ending.test(gap) || /\n\s*\n/u.test(gap)))
    })
    last = match.index + word.length
    before = word
  }
  return found
}
