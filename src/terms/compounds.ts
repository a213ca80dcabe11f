import type { Language } from "./languages.ts"

/** Languages that write several nouns as one word, and what may join them. */
const links: Partial<Record<Language, ReadonlyArray<string>>> = {
  da: ["", "s", "e"],
  de: ["", "s", "es", "n", "en", "er"],
  fi: [""],
  nl: ["", "s", "e", "en"],
  no: ["", "s", "e"],
  sv: ["", "s"]
}
/** Least letters of a part. */
const least = 4

/** Two words that may form a compound. */
export type Parts = readonly [string, string]

/** The ways to split a word into two in a language, in small letters. */
export const splits = (word: string, language: Language): ReadonlyArray<Parts> => {
  const lower = word.normalize("NFC").toLowerCase()
  const found: Array<Parts> = []
  for (let at = least; at <= lower.length - least; at++) {
    const [left, right] = [lower.slice(0, at), lower.slice(at)]
    for (const link of links[language] ?? []) {
      if (left.endsWith(link) && left.length - link.length >= least) {
        found.push([left.slice(0, left.length - link.length), right])
      }
    }
  }
  return found
}

/** The most frequent parts, by the geometric mean of their passages (Koehn & Knight 2003); none if one is in none. */
export const likeliest = (ways: ReadonlyArray<Parts>, passagesWith: (word: string) => number): Parts | undefined => {
  let best: Parts | undefined
  let most = 0
  for (const parts of ways) {
    const count = passagesWith(parts[0]) * passagesWith(parts[1])
    if (count > most) {
      most = count
      best = parts
    }
  }
  return best
}
