import type { Said } from "../model/Graph.ts"
import type { TextSpan } from "../model/Passage.ts"
import { functionWords } from "../terms/languages.ts"
import { keyOf, type Mention, type Relation } from "./mention.ts"
import { names } from "./names.ts"

/** A link's normalised target: resolved against the source that contains it, without extension, query and fragment. */
const resolved = (source: string, target: string): string => {
  const bare = target.replace(/[?#].*$/su, "")
  if (/^[a-z][a-z0-9+.-]*:/iu.test(bare) || bare.startsWith("//"))
    return trimmed(bare.replace(/^[a-z+.-]*:?\/\//iu, ""))
  const base = bare.startsWith("/")
    ? []
    : source
        .replace(/^[a-z+.-]*:\/\//iu, "")
        .split("/")
        .slice(0, -1)
  const steps: Array<string> = []
  for (const step of [...base, ...bare.split("/")]) {
    if (step === "..") steps.pop()
    else if (step !== "." && step !== "") steps.push(step)
  }
  return trimmed(steps.join("/"))
}

const extension = /\.(?:mdx?|markdown|html?|adoc|asciidoc|rst|txt|ipynb|[cm]?[jt]sx?|h|hpp|py|rs|go)$/iu

const trimmed = (path: string): string => {
  const steps = path.split("/").filter((step) => step !== "")
  const last = steps.pop()?.replace(extension, "")
  if (last !== undefined && !/^(?:index|readme|_index)$/iu.test(last)) steps.push(last)
  return steps.join("/").toLowerCase()
}

const tail = (path: string): string => path.split("/").slice(-2).join("/")

/** The keys by which a link finds the document with this source: its path from the root, and its last two segments. */
export const pathKeys = (source: string): ReadonlyArray<string> => {
  if (source.includes("#") || source.length > 1000 || !/[/.]/u.test(source)) return []
  const path = resolved("", source)
  return path === "" ? [] : [...new Set([`/${path}`, `~${tail(path)}`])]
}

/**
 * The key of a link's target: its path if the link is relative; the last two segments if it starts at a site's root,
 * whose location is unknown. Undefined if it leads nowhere else.
 */
const targetKey = (source: string, target: string): string | undefined => {
  if (target.length > 1000 || /^(?:#|mailto:|javascript:|data:|tel:)/iu.test(target)) return undefined
  const path = resolved(source, decoded(target))
  if (path === "" || path.length < 3) return undefined
  return target.startsWith("/") && !target.startsWith("//") ? `~${tail(path)}` : `/${path}`
}

const decoded = (target: string): string => {
  try {
    return decodeURIComponent(target)
  } catch {
    return target
  }
}

/** The name of a source's file without extension, if it says more than its folder: "git-rebase", not "index". */
const stemOf = (source: string): string | undefined => {
  if (source.includes("#")) return undefined
  const file = source.slice(source.lastIndexOf("/") + 1)
  const dot = file.lastIndexOf(".")
  const stem = dot > 0 ? file.slice(0, dot) : file
  return stem === "" || untelling.test(stem) ? undefined : stem
}

/** What a document is called by its file, beside its title, with the key of each. */
export const fileNames = (source: string): ReadonlyArray<{ readonly name: string; readonly key: string }> => {
  const stem = stemOf(source) ?? ""
  const [path, end] = pathKeys(source)
  return [
    ...(tellsSomething(keyOf(stem)) ? [{ name: stem, key: keyOf(stem) }] : []),
    ...(path === undefined ? [] : [{ name: source, key: path }]),
    ...(end === undefined ? [] : [{ name: end.slice(1), key: end }])
  ]
}

const untelling = /^(?:index|readme|_index|main|mod|license|changelog|\d[\d.-]{0,40})$/iu

interface Rule {
  readonly relation: Relation
  /** A string that every match of the pattern contains; searched for first. */
  readonly sign: string
  /** Its first group is the target. Bounded repeats keep it linear on any text. */
  readonly pattern: RegExp
  readonly key: (source: string, target: string) => string | undefined
}

const byName = (_source: string, target: string) => keyOf(target)
const relative = (source: string, target: string) =>
  /^\.{1,2}\//u.test(target) ? targetKey(source, target) : undefined

const rules: ReadonlyArray<Rule> = [
  // Markdown: [text](target "title")
  { relation: "links", sign: "](", pattern: /\]\(<?([^()<>\s"]{1,500})>?(?:\s[^()]{0,200})?\)/gu, key: targetKey },
  // Markdown: [label]: target
  { relation: "links", sign: "]:", pattern: /^ {0,3}\[[^[\]\n]{1,200}\]: {1,4}<?([^<>\s]{1,500})/gmu, key: targetKey },
  { relation: "links", sign: "=", pattern: /\bhref\s{0,4}=\s{0,4}["']([^"'\s]{1,500})["']/giu, key: targetKey },
  // Wiki: [[Page#section|label]]
  { relation: "links", sign: "[[", pattern: /\[\[([^[\]|#\n]{1,200})(?:[#|][^[\]\n]{0,200})?\]\]/gu, key: byName },
  // AsciiDoc
  { relation: "links", sign: "linkgit:", pattern: /\blinkgit:([\w.-]{1,100})\[/gu, key: byName },
  { relation: "links", sign: "[", pattern: /\b(?:link|xref|include)::?([^[\]\s{}:]{1,300})\[/gu, key: targetKey },
  // JavaScript and TypeScript
  {
    relation: "imports",
    sign: "./",
    pattern: /\b(?:from|import|require\()\s{0,4}["']([^"'\n]{1,300})["']/gu,
    key: relative
  },
  // C
  {
    relation: "imports",
    sign: "#",
    pattern: /^[ \t]{0,8}#[ \t]{0,8}include[ \t]{0,8}"([^"\n]{1,300})"/gmu,
    key: targetKey
  }
]

const signs = [...new Set(rules.map(({ sign }) => sign))]

/** A document's links and imports, by the rules of the formats that have them. */
const links = (text: string, source: string): ReadonlyArray<Mention> => {
  const found: Array<Mention> = []
  const there = new Map(signs.map((sign) => [sign, text.includes(sign)]))
  for (const { key, pattern, relation, sign } of rules) {
    if (there.get(sign) !== true) continue
    for (const match of text.matchAll(pattern)) {
      const known = key(source, match[1]!)
      if (known === undefined || known === "") continue
      const start = match.index + match[0].indexOf(match[1]!)
      found.push({ key: known, relation, start, end: start + match[1]!.length })
    }
  }
  return found
}

const letterOrDigit = /[\p{L}\p{N}]/u

/** Where a text contains a name as whole words, in this or another case; undefined if it does not. */
export const placeOf = (name: string, text: string): TextSpan | undefined =>
  name === "" ? undefined : (wholeWords(name, text) ?? wholeWords(name.toLowerCase(), lowered(text)))

/** The text in lower case, unless that would change offsets: a place in it is a place in the text. */
const lowered = (text: string): string => {
  const lower = text.toLowerCase()
  return lower.length === text.length ? lower : text
}

/** Occurrences of a name inside longer words that are skipped. */
const mostTries = 50

const wholeWords = (name: string, text: string): TextSpan | undefined => {
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
  letterOrDigit.test(text.charAt(at - 1)) && letterOrDigit.test(text.charAt(at)) && !unspaced.test(text.charAt(at))

const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u

/** Inline code in a text, on one line. */
const spans = /`([^`\n]{3,60})`/gu

/** A name in inline code: one to three words, without arguments. */
const name = /^[\p{L}_$@.<-][\p{L}\p{N}_$.:#-]{0,60}(?: [\p{L}\p{N}_.-]{1,60}){0,2}(?:\(\)|>)?$/u

const words = /(?:--)?[A-Za-z_]\w*(?:(?:::|[.-])\w+)*/gu

/** Base64 and similar: capitals all over a long word. */
const isNoise = (word: string): boolean =>
  word.length >= 12 && 4 * (word.match(/[a-z0-9](?=[A-Z])/gu) ?? []).length >= word.length

/** Whether it is an option, snake_case, camelCase, PascalCase with two humps, or a dotted path that is called. */
const isCode = (word: string, next: string | undefined): boolean => {
  if (word.startsWith("--")) return word.length >= 4
  if (word.includes("-")) return false
  if (isNoise(word)) return false
  if (/[a-z0-9]_[a-z0-9]/iu.test(word) || /[a-z0-9][A-Z][a-z0-9]/u.test(word)) return true
  return next === "(" && /[:.]/u.test(word)
}

/** A sign that every form of code has; most prose has none. */
const sign = /--|_|[a-z0-9][A-Z][a-z0-9]|[:.]\w{1,80}\(/u

/** Values and types of every language, which name nothing. */
const values = new Set(
  "true false null undefined unknown string number boolean object array void any promise error none nil int float bool str".split(
    " "
  )
)

/** The symbols, options and commands that a text names. */
const symbols = (text: string): ReadonlyArray<TextSpan> => {
  const found: Array<TextSpan> = []
  if (text.includes("`")) {
    for (const { 1: inside, index } of text.matchAll(spans)) {
      if (name.test(inside!) && !values.has(inside!.toLowerCase().replace(/^<|>$/gu, "")))
        found.push({ start: index + 1, end: index + 1 + inside!.length })
    }
  }
  if (!sign.test(text)) return found
  for (const { 0: word, index } of text.matchAll(words)) {
    if (word.length >= 4 && word.length <= 80 && isCode(word, text[index + word.length])) {
      found.push({ start: index, end: index + word.length })
    }
  }
  return found
}

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
const mostMentions = 48

const longestName = 120

/** The evidence for what follows from a passage's position, not from its text. */
const nowhere: TextSpan = { start: 0, end: 0 }

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
  const add = (key: string, relation: Relation, { end, start }: TextSpan): void => {
    if (found.length >= mostMentions || seen[relation].has(key)) return
    seen[relation].add(key)
    found.push({ key, relation, start, end })
  }
  if (ordinal === 0) {
    // A document without a title is named by the heading above its beginning.
    const called = title ?? heading[0]
    for (const key of called === undefined ? [] : titleKeys(called, text)) add(key, "defines", nowhere)
    for (const { key } of source === undefined ? [] : fileNames(source)) add(key, "defines", nowhere)
  }
  const under = keyOf(heading.at(-1) ?? "")
  if (tellsSomething(under)) add(under, "heads", nowhere)
  if (source !== undefined) {
    const own = new Set(pathKeys(source))
    // A link to the same page says nothing.
    for (const link of links(text, source)) if (!own.has(link.key)) add(link.key, link.relation, link)
  }
  const addNamed = (spans: ReadonlyArray<TextSpan>): void => {
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

/** The keys a question may name something by: `names` by the rules, `phrases` of words that could be a title. */
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
