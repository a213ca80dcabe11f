import type { Span } from "./mention.ts"

const letter = /[\p{L}\p{N}]/u

/** Where a text contains a name as whole words, in this or another case; undefined if it does not. */
export const placeOf = (name: string, text: string): Span | undefined =>
  name === "" ? undefined : (wholeWords(name, text) ?? wholeWords(name.toLowerCase(), lowered(text)))

/** The text in lower case, unless that would change offsets: a place in it is a place in the text. */
const lowered = (text: string): string => {
  const lower = text.toLowerCase()
  return lower.length === text.length ? lower : text
}

/** Occurrences of a name inside longer words that are skipped. */
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

/** Whether a word continues across this offset. In scripts without spaces, words may begin and end anywhere. */
const isInside = (text: string, at: number): boolean =>
  letter.test(text.charAt(at - 1)) && letter.test(text.charAt(at)) && !unspaced.test(text.charAt(at))

const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u
