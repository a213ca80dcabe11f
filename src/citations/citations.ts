import type { Hit } from "../model/SearchResult.ts"
import { eachSentence } from "../chunking/sentences.ts"
import { functionWords } from "../terms/functionWords.ts"
import { queryTerms, terms } from "../terms/terms.ts"

/** A `[n]` or 【n】 in an answer, and the sentence it belongs to; UTF-16 offsets in the answer, end exclusive. */
export interface CitationMark {
  readonly n: number
  readonly start: number
  readonly end: number
  /** The sentence without its marks. */
  readonly sentence: string
}

const inside = String.raw`(\d{1,3}(?:\s*[,;\u2013-]\s*\d{1,3})*)`
/** Some models use the brackets of CJK texts; `[1](...)` is a link. */
const mark = new RegExp(String.raw`\[${inside}\](?!\()|\u3010${inside}\u3011`, "g")

/** `a[1]` in code is not a citation; a fence that is never closed starts no code. */
const withoutCode = (answer: string): string =>
  answer.replace(/```[^]*?```|`[^`\n]*`/g, (code) => code.replace(/[^\n]/g, " "))

/** A text's own reference mark, such as `[12]` after a word, a space or a full stop; not `a[1]` in code. */
const ownMark = /(^|[^\p{L}\p{N}_\])[`])[[【](\d[\d\s,;–-]{0,40})[\]】](?!\()/gmu

/** A text whose own reference marks cannot be mistaken for citations of passages: `[12]` gets round brackets. */
export const withoutMarks = (text: string): string => text.replace(ownMark, "$1($2)")

/**
 * The ends of an answer's sentences. Marks are blanked, so that one after a full stop belongs to the sentence it ends.
 */
const sentenceEnds = (answer: string): ReadonlyArray<number> => {
  const blank = answer.replace(mark, ({ length }) => " ".repeat(length))
  const ends: Array<number> = []
  for (const line of blank.matchAll(/[^\n]+/g)) {
    eachSentence(blank, line.index, line.index + line[0].length, (end) => ends.push(end))
  }
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

const contentTerms = (text: string): ReadonlyArray<string> =>
  queryTerms(text).filter((term) => !functionWords.has(term))

/** Whether a sentence says anything that a passage could support; "It is." does not. */
export const hasContent = (sentence: string): boolean => contentTerms(sentence).length > 0

/**
 * Every citation of an answer, in order; `[1, 2]` and `[1-2]` are two at the same place. Marks in code do not count. A
 * mark that stands alone, or at a sentence without a content word, belongs to the previous sentence with content, if
 * there is one.
 */
export const citationMarks = (answer: string): ReadonlyArray<CitationMark> => {
  const ends = sentenceEnds(answer)
  const plain = (from: number, to: number): string =>
    answer
      .slice(from, to)
      .replaceAll(mark, "")
      .replace(/[ \t]+/g, " ")
      .replace(/ ([.!?,;])/g, "$1")
      .trim()
  const marks: Array<CitationMark> = []
  let at = 0
  let sentence = ""
  for (const match of withoutCode(answer).matchAll(mark)) {
    while (at < ends.length - 1 && ends[at]! <= match.index) at++
    let from = at
    do sentence = plain(ends[from - 1] ?? 0, ends[from] ?? answer.length)
    while (!hasContent(sentence) && from-- > 0)
    if (from < 0) sentence = plain(ends[at - 1] ?? 0, ends[at] ?? answer.length)
    const place = { start: match.index, end: match.index + match[0].length, sentence }
    for (const n of numbersOf(match[1] ?? match[2]!)) marks.push({ n, ...place })
  }
  return marks
}

/**
 * The share of a sentence's content terms that occur in a passage, its title or its headings; 0 to 1, 0 without content
 * terms.
 */
export const lexicalSupport = (sentence: string, { document, passage }: Hit): number => {
  const wanted = contentTerms(sentence)
  if (wanted.length === 0) return 0
  const there = new Set(terms([document.title ?? "", ...passage.heading, passage.text].join("\n")))
  return wanted.filter((term) => there.has(term)).length / wanted.length
}
