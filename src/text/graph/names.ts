import { functionWords } from "../terms/functionWords.ts"
import type { Span } from "./mention.ts"
import { type Word, words } from "./words.ts"

/** Written small inside a name. */
const joiners = new Set("of the de la le du van von der den del di da dos al el bin ibn y et des zu af ter".split(" "))

/** Small words that stand between two names as often as inside one. */
const linkers = new Set("and for in on to with at from by".split(" "))

/** Capitalised, and no names. */
const common = new Set(
  (
    "january february march april may june july august september october november december " +
    "monday tuesday wednesday thursday friday saturday sunday spring summer autumn winter i " +
    "also however although though while after before during since until because there here see note " +
    "mr mrs ms dr prof one two three several many some most other such both each every all any another " +
    "yes figure table section chapter page example"
  ).split(" ")
)

/** A language that writes its nouns large says with a capital nothing about names. */
const german = new Set("der die das und ist nicht ein eine mit den dem wird auf für werden".split(" "))

const longest = 8

/** A word that may open a name, or be one. */
const mayOpen = (word: Word): boolean =>
  word.capital && !functionWords.has(word.lower) && !common.has(word.lower) && !german.has(word.lower)

/**
 * The names in a text by rules: runs of capitalised words with the small words that join them ("Bank of England"), their
 * parts behind "of" and around "and", never a capital that only opens a sentence. In order, none twice.
 */
export const names = (text: string): ReadonlyArray<Span> => {
  const all = words(text)
  const inside = new Map<string, number>()
  let nouns = 0
  for (const word of all) {
    if (word.capital && !word.opens) inside.set(word.lower, (inside.get(word.lower) ?? 0) + 1)
    if (word.text.length <= 6 && german.has(word.lower)) nouns++
  }
  const singleWords = nouns * 12 < all.length
  const found = new Map<number, Span>()

  const add = (from: number, to: number): void => {
    while (from <= to && !mayOpen(all[from]!)) from++
    while (to >= from && !all[to]!.capital && !/^\p{N}/u.test(all[to]!.text)) to--
    if (from > to || to - from >= longest) return
    const first = all[from]!
    if (!singleWords && all.slice(from, to + 1).some(({ capital }) => !capital)) return
    if (from === to) {
      const telling = /\p{Lu}.*\p{Lu}|\p{N}/u.test(first.text)
      if (!telling && (!singleWords || first.text.length < 3 || (first.opens && !inside.has(first.lower)))) return
    }
    const span = { start: first.start, end: all[to]!.end }
    found.set(span.start * 65_536 + Math.min(65_535, span.end - span.start), span)
  }

  for (let from = 0; from < all.length; from++) {
    if (!all[from]!.capital) continue
    const to = addRun(all, from, add, (word) => (inside.get(word.lower) ?? 0) > 1)
    from = to
  }
  return [...found.values()].sort((a, b) => a.start - b.start || b.end - a.end)
}

/** Adds the names of the run that begins here, and says with which word it ends. */
const addRun = (
  all: ReadonlyArray<Word>,
  from: number,
  add: (from: number, to: number) => void,
  isRepeated: (word: Word) => boolean
): number => {
  const parts: Array<readonly [from: number, to: number]> = []
  let begins = from
  let last = from
  for (let i = from + 1; i < all.length && all[i]!.adjacent && !all[i]!.opens; i++) {
    const word = all[i]!
    if (word.capital || (/^\p{N}/u.test(word.text) && all[i - 1]!.capital)) last = i
    else if (linkers.has(word.text)) {
      if (last >= begins) parts.push([begins, last])
      begins = i + 1
    } else if (!joiners.has(word.text)) break
  }
  if (begins <= last) parts.push([begins, last])
  for (const [index, [a, b]] of parts.entries()) {
    add(a, b)
    // "Under Lincoln" names Lincoln, "David Lauren" nobody called Lauren, unless he is called so elsewhere.
    if (all[a]!.opens && b > a && (b > a + 1 || isRepeated(all[b]!))) add(a + 1, b)
    const next = parts[index + 1]
    // "Marks and Spencer" is one; two of several words are two.
    if (next !== undefined && a === b && next[0] === next[1]) add(a, next[1])
    addJoined(all, a, b, add)
  }
  return last
}

/** Of "University of the Arts" the part "Arts" as well; "University" alone would be any. */
const addJoined = (
  all: ReadonlyArray<Word>,
  from: number,
  to: number,
  add: (from: number, to: number) => void
): void => {
  let begins = from
  for (let i = from + 1; i <= to; i++) {
    if (all[i]!.capital || !joiners.has(all[i]!.text)) continue
    if (i > begins && all[i]!.text === "the") add(begins, i - 1)
    begins = i + 1
  }
  if (begins > from) add(begins, to)
}
