import { fold } from "./terms/fold.ts"
import { scan } from "./terms/scan.ts"
import { termOf } from "./terms/word.ts"

/** A word of letters alone, as a query has it, and the term that it is looked up by. */
export interface Spelled {
  readonly word: string
  readonly folded: string
  readonly term: string
}

const lettersOnly = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{M}]+$/u
const shortest = 5
const longest = 24
/** Words of a query that are looked at. */
const most = 32

/** Edits that a word of so many letters is given: none below 5, one below 8, else two. */
export const allowance = (letters: number): number => (letters < shortest ? 0 : letters < 8 ? 1 : 2)

/** The words of a query that may be misspelled: letters alone, not too short and not too long. */
export const spelledWords = (query: string): ReadonlyArray<Spelled> => {
  const found = new Map<string, Spelled>()
  scan(query, (term, start, end) => {
    const word = query.slice(start, end)
    if (found.size >= most || found.has(term) || !lettersOnly.test(word)) return
    const folded = fold(word)
    // A part of a compound, or the whole of several, has another term than its letters.
    if (folded.length >= shortest && folded.length <= longest && termOf(folded) === term) {
      found.set(term, { word, folded, term })
    }
  })
  return [...found.values()]
}

const letters = "abcdefghijklmnopqrstuvwxyz"
const ascii = /^[a-z]+$/

/**
 * The terms of the words that are one edit away, first letter kept, by the word. An ending is cut off only where it is
 * spelled as it should be: "configuraton" has another stem than "configuration".
 */
export const termsNearby = (folded: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  if (!ascii.test(folded)) return found
  const add = (word: string) => {
    const term = termOf(word)
    if (term.length >= shortest && !found.has(term)) found.set(term, word)
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

/** How a text writes a term: the first word that is looked up by it. */
export const writtenAs = (term: string, texts: Iterable<string>): string | undefined => {
  for (const text of texts) {
    let found: string | undefined
    scan(text, (other, start, end) => {
      if (other === term) found ??= text.slice(start, end)
    })
    if (found !== undefined) return found.toLowerCase()
  }
  return undefined
}
