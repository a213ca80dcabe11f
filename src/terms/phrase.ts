import { fold, isAscii } from "./fold.ts"
import { contentTerms } from "./terms.ts"

const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
/** A version or number with its points, or a word with the rest of an English contraction ("it's") or the sign of `C++`. */
const words =
  /v?\d+(?:[.,]\d+)+|[\p{L}\p{M}\p{N}]+(?:['\u2019](?:s|d|ll|re|ve|m|t)(?![\p{L}\p{M}\p{N}]))*(?:\+\+|#)?/giu
/** The same with all that is around an apostrophe as one word ("OBrien"). */
const joinedWords = /v?\d+(?:[.,]\d+)+|[\p{L}\p{M}\p{N}]+(?:['\u2019]\p{L}+)*(?:\+\+|#)?/giu
/** Soft hyphens, joiners and the like, which a reader does not see. */
const invisible = /\p{Cf}/gu
/** The points of "U.S.". */
const points = /(?<=(?<![\p{L}\p{N}])\p{L})\.(?=\p{L}(?![\p{L}\p{N}]))/gu
const apostrophe = /['\u2019]/g

const wordsOf = (text: string, of = words): ReadonlyArray<string> =>
  text.replace(invisible, "").replace(points, "").match(of) ?? []

const folded = (word: string): string => {
  const plain = word.replace(apostrophe, "")
  if (isAscii.test(plain)) return plain.toLowerCase()
  const sign = /(?:\+\+|#)$/.exec(plain)?.[0] ?? ""
  return fold(plain.slice(0, plain.length - sign.length)) + sign
}

/** Words in lower case without accents, with blanks around them; no blanks between characters of unspaced scripts. */
const flat = (text: string, of: RegExp): string => {
  let all = ""
  let last = ""
  for (const raw of wordsOf(text, of)) {
    const word = folded(raw)
    if (word === "") continue
    all += (last !== "" && unspaced.test(last) && unspaced.test(word[0]!) ? "" : " ") + word
    last = word.at(-1)!
  }
  return `${all} `
}

/** The terms of all words of a text, without those of compounds, which another spelling would not have. */
export const plainTerms = (text: string): ReadonlyArray<string> => [
  ...new Set(contentTerms(wordsOf(text).join(" ").toLowerCase()))
]

const testOf = (phrase: string, of: RegExp): ((text: string) => boolean) | undefined => {
  const wanted = flat(phrase, of)
  if (wanted.trim() === "") return undefined
  // In an unspaced script a phrase may begin and end anywhere.
  const from = unspaced.test(wanted[1]!) ? 1 : 0
  const to = unspaced.test(wanted.at(-2)!) ? wanted.length - 1 : wanted.length
  const needle = wanted.slice(from, to)
  return (text) => flat(text, of).includes(needle)
}

const hasApostrophe = (text: string): boolean => text.includes("'") || text.includes("\u2019")

/** Tests whether texts contain a phrase, whatever its signs, case and accents; undefined if it has no word. */
export const phraseTest = (phrase: string): ((text: string) => boolean) | undefined => {
  const apart = testOf(phrase, words)
  const joined = testOf(phrase, joinedWords)
  if (apart === undefined || joined === undefined) return undefined
  return (text) => apart(text) || ((hasApostrophe(text) || hasApostrophe(phrase)) && joined(text))
}

const wordPart = /[\p{L}\p{N}_-]/u

/** Whether a text contains a word literally, with its dashes, and not only inside a longer word. */
export const writes = (text: string, word: string): boolean => {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
    if (!wordPart.test(text.charAt(at - 1)) && !wordPart.test(text.charAt(at + word.length))) return true
  }
  return false
}
