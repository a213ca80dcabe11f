import { analyse, type WordTerms } from "./word.ts"

/** What follows in a longer word tells nothing more. */
const maxWord = 256

/**
 * Words seen lately and their terms, two to a hash: a newcomer takes the first place and the first moves to the second,
 * so that memory is bounded and a rare word does not push out a frequent one.
 */
const sets = 0x8000
const longestKept = 40
const seen = new Array<string>(2 * sets).fill("")
const seenLengths = new Uint8Array(2 * sets)
const seenTerms = new Array<string | WordTerms>(2 * sets).fill("")

/** The hash of a text with one more UTF-16 unit; of no text it is 0. */
export const mix = (hash: number, unit: number): number => Math.imul(hash ^ unit, 0x9e3779b1)

/** The terms of the word or compound from `start` to `end`, whose units hash to `hash`. */
export const termsOf = (text: string, start: number, end: number, hash: number): string | WordTerms => {
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
