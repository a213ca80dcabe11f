import { fold } from "./fold.ts"
import { isLanguage, isLearned, languageOf } from "./languages.ts"
import { scan } from "./scan.ts"
import { termOf } from "./word.ts"

/** A word of a query with only letters, and its index term. */
export interface Spelled {
  readonly word: string
  readonly folded: string
  readonly term: string
}

const lettersOnly = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{M}]+$/u
const shortest = 5
const longest = 24
/** Of the stem of a word one edit away. */
const shortestTerm = 3
/** Most words of a query that are checked. */
const most = 32

/** Edits allowed for a word of this many letters: none below 5, one below 8, else two. */
export const allowance = (letters: number): number => (letters < shortest ? 0 : letters < 8 ? 1 : 2)

/** The words of a query that may be misspelled: only letters, neither too short nor too long. */
export const spelledWords = (query: string): ReadonlyArray<Spelled> => {
  const found = new Map<string, Spelled>()
  scan(query, (term, start, end) => {
    const word = query.slice(start, end)
    if (found.size >= most || found.has(term) || !lettersOnly.test(word)) return
    const folded = fold(word)
    // Skips words whose term is not their own, such as a part of a compound.
    if (folded.length >= shortest && folded.length <= longest && termOf(folded) === term) {
      found.set(term, { word, folded, term })
    }
  })
  return [...found.values()]
}

const letters = "abcdefghijklmnopqrstuvwxyz"
const ascii = /^[a-z]+$/

/**
 * The terms of all words that are one edit away with the same first letter. An ending is only
 * removed if it is spelled correctly: "configuraton" has another stem than "configuration".
 */
export const termsNearby = (folded: string): ReadonlySet<string> => {
  const found = new Set<string>()
  if (!ascii.test(folded)) return found
  const add = (word: string) => {
    const term = termOf(word)
    // The word must be long enough, not its stem: `logging` has three letters.
    if (word.length >= shortest && term.length >= shortestTerm) found.add(term)
  }
  for (let i = 1; i <= folded.length; i++) {
    const [head, tail] = [folded.slice(0, i), folded.slice(i)]
    if (tail !== "") add(head + tail.slice(1))
    if (tail.length > 1) add(head + tail[1]! + tail[0]! + tail.slice(2))
    for (const letter of letters) {
      add(head + letter + tail)
      if (tail !== "") add(head + letter + tail.slice(1))
    }
  }
  return found
}

/** The spelling of a term in texts: the first word with that term, in English or in the language of its text. */
export const writtenAs = (term: string, texts: Iterable<string>): string | undefined => {
  for (const text of texts) {
    let found: string | undefined
    const language = languageOf(text) ?? "en"
    const emit = (other: string, start: number, end: number) => {
      if (other === term) found ??= text.slice(start, end)
    }
    scan(text, emit, isLanguage(language) && isLearned(language) ? language : "en")
    if (found !== undefined) return found.toLowerCase()
  }
  return undefined
}
