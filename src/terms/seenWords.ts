import type { Language } from "./languages.ts"
import { analyse, type WordTerms } from "./word.ts"

/** The rest of a longer word adds nothing. */
const maxWord = 256

const sets = 0x8000
const longestKept = 40

/** The hash of a text with one more UTF-16 unit; the empty text's is 0. */
export const mix = (hash: number, unit: number): number => Math.imul(hash ^ unit, 0x9e3779b1)

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
