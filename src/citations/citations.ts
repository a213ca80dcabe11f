import { formatOfName } from "../chunking/format.ts"
import { wellFormed } from "../model/kinds.ts"
import { documentKey, type Hit } from "../model/SearchResult.ts"
import { functionWords } from "../terms/languages.ts"
import { queryTerms, terms } from "../terms/terms.ts"
import { eachStated } from "./sentences.ts"
import { isTitle } from "./statements.ts"

/** A `[n]`, 【n】 or ［n］ in an answer, and the sentence it belongs to; UTF-16 offsets in the answer, end exclusive. */
export interface CitationMark {
  readonly n: number
  readonly start: number
  readonly end: number
  /** The sentence without its marks. */
  readonly sentence: string
}

const inside = String.raw`(\d{1,3}(?:\s*[,;\u2013-]\s*\d{1,3})*)`
/** Some models use the brackets of CJK texts, and add to the number what they cite (`†source`); `[1](...)` is a link. */
const mark = new RegExp(
  String.raw`\[ ?${inside} ?\](?!\()|\u3010 ?${inside} ?(?:\u2020[^\u3010\u3011\n]{0,80})?\u3011|\uff3b ?${inside} ?\uff3d`,
  "g"
)

const codeFence = /^[\s>]{0,40}(`{3,}|~{3,})/
const listItem = /^\s*(?:[-*+]|\d{1,3}[.)])\s/
const inlineCode = /(?<!`)(`{1,4})(?!`)[^\n]{0,2000}?[^`\n]\1(?!`)/g
const blank = (text: string): string => text.replace(/[^\n]/g, " ")

/** A text with its fences and indented code blanked, and the fence that is open at its end, with its line. */
const fenced = (text: string) => {
  const lines = text.split("\n")
  const seen: Array<string> = []
  let open: { readonly mark: string; readonly at: number } | undefined
  // Indented lines after an empty one are code, but not below an item of a list.
  let [isList, isIndented, afterBlank] = [false, false, true]
  for (const [at, line] of lines.entries()) {
    if (/\S/.test(line)) {
      isList = listItem.test(line) || (isList && /^\s/.test(line))
      isIndented = !isList && (afterBlank || isIndented) && /^(?: {4}|\t)/.test(line)
      afterBlank = false
    } else afterBlank = true
    const [indented = "", mark = ""] = codeFence.exec(line) ?? []
    const rest = line.slice(indented.length)
    const wasOpen = open !== undefined
    if (open === undefined && !isIndented) {
      const isFence = !(mark.startsWith("`") ? rest.includes("`") : isTitle(lines[at - 2], lines[at - 1], line))
      if (mark !== "" && isFence) open = { mark, at }
    } else if (open !== undefined && mark.startsWith(open.mark) && rest.trim() === "") open = undefined
    seen.push(wasOpen || open !== undefined || isIndented ? blank(line) : line)
  }
  return { lines, seen, open }
}

/** The fence that code after a text is in, if any: of what stands before a passage, it says how the passage begins. */
export const openFence = (text: string): string | undefined => fenced(text).open?.mark

/** `a[1]` in code is not a citation; a fence that is never closed starts no code, unless the text `isPart` of another. */
const withoutCode = (text: string, isPart = false): string => {
  const { lines, open, seen } = fenced(text)
  const shown = open === undefined || isPart ? seen : [...seen.slice(0, open.at), ...lines.slice(open.at)]
  return shown.join("\n").replace(inlineCode, blank)
}

/** A text with its marks replaced, as they stand in `seen`, the text without code. */
const replaced = (text: string, seen: string, marks: RegExp, by: (mark: string) => string): string => {
  let all = ""
  let at = 0
  for (const { 0: whole, index } of seen.matchAll(marks)) {
    all += text.slice(at, index) + by(whole)
    at = index + whole.length
  }
  return all + text.slice(at)
}

const rounded = (mark: string): string => `(${mark.slice(1, -1)})`

/** A text's own reference mark, such as `[12]` after a word, a space or a full stop; not `a[1]` or `a = [1]` in code. */
const ownMark = /(?<![\p{L}\p{N}_\])[`]|=\s?)[[【［] ?\d[\d\s,;–-]{0,40}(?:†[^【】\n]{0,80})?[\]】］](?!\()/gu

/**
 * A passage whose own reference marks cannot be mistaken for citations: `[12]` gets round brackets, outside of code. It
 * begins within code if there is a `fence`.
 */
export const withoutMarks = (text: string, fence?: string): string =>
  fence === undefined
    ? replaced(text, withoutCode(text, true), ownMark, rounded)
    : withoutMarks(`${fence}\n${text}`).slice(fence.length + 1)

/** The same of a quote that is part of an answer: nothing of it is taken for a citation. */
export const withoutCitations = (text: string): string => replaced(text, withoutCode(text), mark, rounded)

/** Whether a passage of several may begin in code that begins before it, and has marks or the end of the code. */
export const isUnsure = (hit: Hit): boolean => {
  const { ordinal, text } = hit.passage
  if (ordinal === 0 || isCode(hit)) return false
  return openFence(text) !== undefined || withoutMarks(text) !== text || withoutCitations(text) !== text
}

/** Whether a passage is of a file of code or data, in which numbers in brackets are no reference marks. */
export const isCode = ({ document }: Hit): boolean => {
  const format = formatOfName(document.source)
  return format === "code" || format === "data"
}

/** The ends of an answer's sentences; a mark after a full stop belongs to the sentence that it ends. */
const sentenceEnds = (answer: string): ReadonlyArray<number> => {
  const ends: Array<number> = []
  eachStated(
    answer.replace(mark, ({ length }) => "\f".repeat(length)),
    (end) => ends.push(end)
  )
  return ends
}

/** The passages that a mark names: `1, 3` and `1-3` name several. */
const numbersOf = (inside: string): ReadonlyArray<number> =>
  inside.split(/[,;]/).flatMap((part) => {
    const [first = 0, last = first] = part.split(/[–-]/).map(Number)
    // If it is no range of passages, the numbers count separately.
    return last < first || last - first > 20
      ? [first, last]
      : Array.from({ length: last - first + 1 }, (_, i) => first + i)
  })

/** Marks, with the brackets around them: "(Source: [1], [2])". */
const marked = /\((?:\p{L}{1,12}:?)?[ ,;]*\0[ ,;\0]*\)|\0/gu

const contentTerms = (text: string): ReadonlyArray<string> =>
  queryTerms(text).filter((term) => !functionWords.has(term))

/** Characters of a sentence that count: a model that repeats itself may end none. */
const longest = 2000

/** Whether a sentence says anything that a passage could support; "It is." does not. */
export const hasContent = (sentence: string): boolean => contentTerms(sentence).length > 0

/**
 * Every citation of an answer, in order; `[1, 2]` and `[1-2]` are two at the same place. Marks in code do not count. A
 * mark that stands alone, or at a sentence without a content word, belongs to the previous sentence with content, if
 * there is one.
 */
export const citationMarks = (answer: string): ReadonlyArray<CitationMark> => {
  const ends = sentenceEnds(answer)
  const seen = withoutCode(answer)
  const plain = (from: number, to: number): string => {
    const sentence = replaced(answer.slice(from, to), seen.slice(from, to), mark, () => "\0")
      .replace(marked, "")
      .replace(/[ \t\r\n]+/g, " ")
      .replace(/ ([.!?,;])(?=\s|$)/g, "$1")
      .trim()
    return wellFormed(sentence.slice(0, longest))
  }
  const marks: Array<CitationMark> = []
  let at = -1
  let own = ""
  let last: string | undefined
  const next = (): void => {
    at++
    own = plain(ends[at - 1] ?? 0, ends[at] ?? answer.length)
    if (hasContent(own)) last = own
  }
  next()
  for (const match of seen.matchAll(mark)) {
    while (at < ends.length - 1 && ends[at]! <= match.index) next()
    const place = { start: match.index, end: match.index + match[0].length, sentence: last ?? own }
    for (const n of numbersOf(match[1] ?? match[2] ?? match[3]!)) marks.push({ n, ...place })
  }
  return marks
}

/** The share of a sentence's content terms in a passage, its title or headings; 0 without content terms. */
export const lexicalSupport = (sentence: string, { document, passage }: Hit): number => {
  const wanted = contentTerms(sentence)
  if (wanted.length === 0) return 0
  const there = new Set(terms([document.title ?? "", ...passage.heading, passage.text].join("\n")))
  return wanted.filter((term) => there.has(term)).length / wanted.length
}

/** Consecutive passages of one document as one text, word for word. */
export interface Stretch {
  /** Their ranks, from 0, best first. */
  readonly ranks: ReadonlyArray<number>
  /** Joined into one passage, from the first one's start to the last one's end. */
  readonly hit: Hit
}

/** The text between two passages, if their spans determine it: nothing, a blank, or line ends. */
const between = (before: Hit["passage"], after: Hit["passage"]): string | undefined => {
  const gap = after.start - before.end
  const lines = after.startLine - before.endLine
  if (gap === lines && gap >= 0 && gap <= 3) return "\n".repeat(gap)
  return gap === 1 && lines === 0 ? " " : undefined
}

/** Joins two passages; undefined if the text between them is unknown, or they have different headings or pages. */
const joined = (before: Hit, after: Hit): Hit | undefined => {
  const [a, b] = [before.passage, after.passage]
  if (a.locator !== undefined || b.locator !== undefined || a.heading.join("\n") !== b.heading.join("\n")) return
  if (b.tableHeader !== undefined && b.tableHeader !== a.tableHeader && !a.text.includes("|")) return
  if (b.end <= a.end) return
  const text =
    b.start < a.end
      ? a.text.slice(b.start - a.start) === b.text.slice(0, a.end - b.start) && a.text + b.text.slice(a.end - b.start)
      : between(a, b) !== undefined && a.text + between(a, b) + b.text
  return text === false ? undefined : { ...before, passage: { ...a, text, end: b.end, endLine: b.endLine } }
}

const byPlace = (a: { readonly ordinal: number }, b: { readonly ordinal: number }): number => a.ordinal - b.ordinal

/**
 * The hits as one reads them: consecutive passages of a document as one, unless it has more than `most` characters, which is
 * cited from the first one's start to the last one's end, and those of one document together, both at the place of the best.
 */
export const gathered = (hits: ReadonlyArray<Hit>, most: number): ReadonlyArray<Hit> => {
  const byDocument = new Map<string, Array<Hit>>()
  const apart = stretchesOf(hits).flatMap((stretch) =>
    stretch.hit.passage.text.length <= most
      ? [stretch]
      : stretch.ranks.map((rank): Stretch => ({ ranks: [rank], hit: hits[rank]! }))
  )
  for (const { hit, ranks } of apart.sort((a, b) => a.ranks[0]! - b.ranks[0]!)) {
    const own = ranks.map((rank) => hits[rank]!)
    const best = own[0]!
    const key = documentKey(best)
    byDocument.set(key, [
      ...(byDocument.get(key) ?? []),
      own.length === 1
        ? best
        : {
            ...best,
            passage: { ...hit.passage, ordinal: best.passage.ordinal },
            spans: own.flatMap(({ passage, spans }) => spans ?? [passage]).sort(byPlace),
            ...optionally(
              "similar",
              own.flatMap(({ similar = [] }) => similar)
            ),
            ...optionally(
              "foundBy",
              [...new Set(own.flatMap(({ foundBy = [] }) => foundBy))].sort((a, b) => a - b)
            )
          }
    ])
  }
  return [...byDocument.values()].flat()
}

const optionally = <K extends string, V>(key: K, values: ReadonlyArray<V>) =>
  (values.length === 0 ? {} : { [key]: values }) as { readonly [P in K]?: ReadonlyArray<V> }

/** The hits, with consecutive passages of a document joined, each at its best rank. */
export const stretchesOf = (hits: ReadonlyArray<Hit>): ReadonlyArray<Stretch> => {
  const byDocument = new Map<string, Array<Stretch>>()
  for (const [rank, hit] of hits.entries()) {
    const key = documentKey(hit)
    const own = byDocument.get(key) ?? []
    own.push({ ranks: [rank], hit })
    byDocument.set(key, own)
  }
  const found: Array<Stretch> = []
  for (const own of byDocument.values()) {
    let open: Stretch | undefined
    for (const next of own.toSorted((a, b) => a.hit.passage.start - b.hit.passage.start)) {
      const both = open === undefined ? undefined : joined(open.hit, next.hit)
      if (open !== undefined && both === undefined) found.push(open)
      open = open === undefined || both === undefined ? next : { ranks: [...open.ranks, ...next.ranks], hit: both }
    }
    if (open !== undefined) found.push(open)
  }
  return found
    .map(({ hit, ranks }) => ({ hit, ranks: ranks.toSorted((a, b) => a - b) }))
    .toSorted((a, b) => a.ranks[0]! - b.ranks[0]!)
}
