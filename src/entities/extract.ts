import { functionWords } from "../terms/functionWords.ts"
import type { Said } from "../model/Graph.ts"
import { keyOf } from "./key.ts"
import { links } from "./links.ts"
import type { Mention, Relation, Span } from "./mention.ts"
import { names } from "./names.ts"
import { pathKeys, stemOf } from "./paths.ts"
import { placeOf } from "./place.ts"
import { symbols } from "./symbols.ts"

/** A passage, and the parts of its document that the rules need. */
export interface Text {
  readonly text: string
  /** Headings above it, outermost first. */
  readonly heading: ReadonlyArray<string>
  /** Its index in the document, from 0. */
  readonly ordinal: number
  readonly title?: string | undefined
  readonly source?: string | undefined
  /** A language model's answer about it. */
  readonly said?: Said | undefined
}

/** A passage with more is a list or a table of names, which joins nothing. */
export const mostMentions = 48

const longestName = 120

/** The evidence for what follows from a passage's position, not from its text. */
const nowhere: Span = { start: 0, end: 0 }

const plainLetter = /[a-z]/u
const letter = /\p{L}/u
const beyondAscii = /[^\p{ASCII}]/u

/** Whether a key can name something: not a single letter or function word, a number, or a sentence. */
export const tellsSomething = (key: string): boolean =>
  key.length >= 2 &&
  key.length <= longestName &&
  (plainLetter.test(key) || letter.test(key)) &&
  (key.length > 2 || beyondAscii.test(key)) &&
  !functionWords.has(key) &&
  (key.length < 20 || key.split(" ", 11).length <= 10)

/** "BLAS" of "Basic Linear Algebra Subprograms (BLAS)": whether the words' first letters spell it. */
const spells = (short: string, long: string): boolean =>
  short.length > 1 &&
  [...long.matchAll(/[\p{L}\p{N}]+/gu)]
    .map(([word]) => word)
    .filter((word) => /^\p{Lu}/u.test(word))
    .map((word) => word[0])
    .join("")
    .startsWith(short.toUpperCase())

/** The names in a title: the title itself, the title without a qualifier in brackets, and an acronym beside it. */
export const titleKeys = (title: string, text = ""): ReadonlyArray<string> => {
  if (title.length > 2 * longestName) return []
  const keys = [keyOf(title)]
  const qualified = /^(.*\S)\s*\(([^()]*)\)\s*$/su.exec(title)
  const bare = qualified?.[1] ?? title
  keys.push(keyOf(bare))
  if (qualified?.[2] !== undefined && spells(qualified[2], bare)) keys.push(keyOf(qualified[2]))
  const at = text.indexOf(`${bare} (`)
  const beside =
    at < 0 ? undefined : /^([\p{Lu}\p{N}]{2,8})\)/u.exec(text.slice(at + bare.length + 2, at + bare.length + 12))?.[1]
  if (beside !== undefined && spells(beside, bare)) keys.push(keyOf(beside))
  return [...new Set(keys)].filter(tellsSomething)
}

const namesSaid = ({ entities, relations }: Said): ReadonlyArray<string> => [
  ...entities,
  ...relations.flatMap(({ object, subject }) => [subject, object])
]

/**
 * All of a passage's relations to entities, each key and relation once, at its first occurrence. It depends only on the
 * passage and on the answer about it, so an incrementally updated graph equals a rebuilt one.
 */
export const mentionsOf = ({ heading, ordinal, said, source, text, title }: Text): ReadonlyArray<Mention> => {
  const found: Array<Mention> = []
  const seen = { defines: new Set(), heads: new Set(), links: new Set(), imports: new Set(), mentions: new Set() }
  const add = (key: string, relation: Relation, { end, start }: Span): void => {
    if (found.length >= mostMentions || seen[relation].has(key)) return
    seen[relation].add(key)
    found.push({ key, relation, start, end })
  }
  if (ordinal === 0) {
    // A document without a title is named by the heading above its beginning.
    const called = title ?? heading[0]
    for (const key of called === undefined ? [] : titleKeys(called, text)) add(key, "defines", nowhere)
    if (source !== undefined) {
      const stem = keyOf(stemOf(source) ?? "")
      if (tellsSomething(stem)) add(stem, "defines", nowhere)
      for (const key of pathKeys(source)) add(key, "defines", nowhere)
    }
  }
  const under = keyOf(heading.at(-1) ?? "")
  if (tellsSomething(under)) add(under, "heads", nowhere)
  if (source !== undefined) {
    const own = new Set(pathKeys(source))
    // A link to the same page says nothing.
    for (const link of links(text, source)) if (!own.has(link.key)) add(link.key, link.relation, link)
  }
  const addNamed = (spans: ReadonlyArray<Span>): void => {
    for (const span of spans) {
      if (found.length >= mostMentions) return
      const key = keyOf(text.slice(span.start, span.end))
      if (tellsSomething(key)) add(key, "mentions", span)
    }
  }
  addNamed(names(text))
  addNamed(symbols(text))
  // After the rules' names, so that a model's answer removes none of them.
  for (const name of said === undefined ? [] : namesSaid(said)) {
    const key = keyOf(name)
    if (tellsSomething(key) && !seen.defines.has(key)) add(key, "mentions", placeOf(name, text) ?? nowhere)
  }
  return found
}

/** Most words of a question that are searched for names. */
const mostWords = 64

/**
 * The keys that a question may name something by: `names` by the rules for names, `phrases` of two to six words that
 * could be a title, however they are written.
 */
export const namedIn = (
  question: string
): { readonly names: ReadonlyArray<string>; readonly phrases: ReadonlyArray<string> } => {
  // A question's first word may well be a name; the prefix keeps it from being the start of the sentence.
  const text = `x ${question}`
  const spans = [...names(text), ...symbols(text)].map(({ end, start }) => keyOf(text.slice(start, end)))
  const words = [...question.matchAll(/[\p{L}\p{N}+#]+(?:['’.-][\p{L}\p{N}+#]+)*/gu)].slice(0, mostWords)
  const phrases = new Set<string>()
  for (const [from, first] of words.entries()) {
    if (functionWords.has(first[0].toLowerCase())) continue
    for (const last of words.slice(from + 1, from + 6)) {
      if (functionWords.has(last[0].toLowerCase())) continue
      phrases.add(keyOf(question.slice(first.index, last.index + last[0].length)))
    }
  }
  return { names: [...new Set(spans)].filter(tellsSomething), phrases: [...phrases].filter(tellsSomething) }
}
