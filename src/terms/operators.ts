import { fold } from "./fold.ts"
import { languagesByWord } from "./languages.ts"

/** A part of a query: a word, or a possible operator. `written` is the part as it is in the query. */
export type QueryPart = { readonly written: string } & (
  | { readonly kind: "word" }
  /** Quoted: text that a passage must, or must not, contain literally. */
  | { readonly kind: "phrase"; readonly value: string; readonly negated: boolean }
  /** `-word` */
  | { readonly kind: "without"; readonly value: string }
  /** `field:value`, with the field as written. */
  | { readonly kind: "field"; readonly field: string; readonly value: string; readonly negated: boolean }
)

/** Longer queries, and those of several lines, are pasted text without operators. */
export const mostCharacters = 300

const closing = new Map([
  ['"', '"'],
  ["\u201c", "\u201d"],
  ["\u201e", "\u201c"]
])
const fieldName = /[\p{L}_][\p{L}\p{M}\p{N}_.-]{0,63}:/uy
const letterOrDigit = /[\p{L}\p{N}]/u
const endsPart = /[\s.,;:!?)]/
/** A word to exclude: starts with a letter and has at least three characters, or one in scripts with short words. */
const plainWord = /^\p{L}[\p{L}\p{M}\p{N}'\u2019-]{2,}$/u
const shortWord = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}][\p{L}\p{M}\p{N}]*$/u
/** The value of a `::`, a URL or a Windows path, not of a field. */
const noValue = /^[:/\\=]/
const flag = /^--?[\p{L}\p{N}]/u

const withoutEnd = (word: string): string => {
  let end = word.length
  while (end > 0 && ".,;:!?)".includes(word[end - 1]!)) end--
  return word.slice(0, end)
}

/** The quoted text that opens at `at`, and where it ends; undefined if it is unclosed or empty. */
const quotedAt = (query: string, at: number): { readonly value: string; readonly end: number } | undefined => {
  const close = closing.get(query.charAt(at))
  if (close === undefined) return undefined
  const end = query.indexOf(close, at + 1)
  const next = query.charAt(end + 1)
  if (end < 0 || (next !== "" && !endsPart.test(next))) return undefined
  const value = query.slice(at + 1, end).trim()
  return letterOrDigit.test(value) ? { value, end: end + 1 } : undefined
}

/** The parts of a query in order; all are words if it is pasted text or contains flags. */
export const queryParts = (text: string): ReadonlyArray<QueryPart> => {
  const query = text.trim()
  const isPasted = query.length > mostCharacters || /[\r\n]/.test(query)
  if (isPasted) return [{ kind: "word", written: query }]
  const parts: Array<QueryPart> = []
  for (let at = 0; at < query.length;) {
    if (/\s/.test(query[at]!)) {
      at++
      continue
    }
    // A query does not begin with an exclusion.
    const negated = query[at] === "-" && at > 0
    fieldName.lastIndex = at + Number(negated)
    const name = fieldName.exec(query)?.[0]
    const from = at + Number(negated) + (name?.length ?? 0)
    const quoted = quotedAt(query, from)
    let end = quoted?.end ?? at
    if (quoted === undefined) while (end < query.length && !/\s/.test(query[end]!)) end++
    const written = query.slice(at, end)
    const value = quoted?.value ?? withoutEnd(query.slice(from, end))
    if (name !== undefined && letterOrDigit.test(value) && (quoted !== undefined || !noValue.test(value))) {
      parts.push({ kind: "field", field: name.slice(0, -1), value, negated, written })
    } else if (quoted !== undefined && name === undefined) {
      parts.push({ kind: "phrase", value, negated, written })
    } else if (negated && (plainWord.test(value) || shortWord.test(value))) {
      parts.push({ kind: "without", value, written })
    } else parts.push({ kind: "word", written })
    at = end
  }
  // Beside `--flag` or `-O2`, `-jar` is a flag too.
  const hasFlags = parts.some(({ kind, written }) => kind === "word" && flag.test(written))
  return hasFlags ? parts.map((part) => (part.kind === "without" ? wordOf(part) : part)) : parts
}

/** Turns a part into a word. */
export const wordOf = ({ written }: QueryPart): QueryPart => ({ kind: "word", written })

/** Words of grammar that a sentence has beside its quotes and dashes. */
const leastGrammar = 2

const isGrammar = (word: string): boolean => languagesByWord().has(fold(withoutEnd(word).toLowerCase()))

/**
 * The parts with what is no condition in a sentence as words. Who asks "who wrote the song “Thinking Out Loud”" quotes a
 * name, and the answer need not have it. Before a word of grammar, or the same word twice, a dash is punctuation.
 */
export const inSentence = (parts: ReadonlyArray<QueryPart>): ReadonlyArray<QueryPart> => {
  const isPunctuated = (part: QueryPart) =>
    part.kind === "phrase"
      ? !part.negated
      : part.kind === "without" &&
        (isGrammar(part.value) || parts.some((other) => other !== part && other.written === part.written))
  if (!parts.some(isPunctuated)) return parts
  const grammar = parts.filter(({ kind, written }) => kind === "word" && isGrammar(written))
  return grammar.length < leastGrammar ? parts : parts.map((part) => (isPunctuated(part) ? wordOf(part) : part))
}

/** Whether a query contains anything but words. */
export const hasOperators = (parts: ReadonlyArray<QueryPart>): boolean => parts.some(({ kind }) => kind !== "word")

/** The text to search for: the words and quoted texts, else the fields' values; empty if all is excluded. */
export const positiveWords = (parts: ReadonlyArray<QueryPart>): string => {
  const said = parts.flatMap((part) =>
    part.kind === "word" ? [part.written] : part.kind === "phrase" && !part.negated ? [part.value] : []
  )
  const wanted = said.some((word) => letterOrDigit.test(word))
    ? said
    : parts.flatMap((part) => (part.kind === "field" && !part.negated ? [part.value] : []))
  return wanted.join(" ")
}
