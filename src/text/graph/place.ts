import type { Span } from "./mention.ts"

const letter = /[\p{L}\p{N}]/u

/** Where a text has a name as words of its own, as it is spelled or in other case; undefined where it has not. */
export const placeOf = (name: string, text: string): Span | undefined =>
  name === "" ? undefined : (wholeWords(name, text) ?? wholeWords(name.toLowerCase(), lowered(text)))

/** A place found in it is a place in the text. */
const lowered = (text: string): string => {
  const lower = text.toLowerCase()
  return lower.length === text.length ? lower : text
}

/** Places of a name inside longer words that are passed over. */
const mostTries = 50

const wholeWords = (name: string, text: string): Span | undefined => {
  let start = text.indexOf(name)
  for (let tries = 0; start >= 0 && tries < mostTries; tries++) {
    const end = start + name.length
    if (!isInside(text, start) && !isInside(text, end)) return { start, end }
    start = text.indexOf(name, start + 1)
  }
  return undefined
}

/** Whether a word goes on over this offset. Scripts that write no spaces have words everywhere. */
const isInside = (text: string, at: number): boolean =>
  letter.test(text.charAt(at - 1)) && letter.test(text.charAt(at)) && !unspaced.test(text.charAt(at))

const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u
