import { type Mark, markAt, marksUpTo } from "../model/Locator.ts"
import type { Passage } from "../model/Passage.ts"
import type { StoredDocument } from "../model/Stored.ts"

/** Speech within a minute is cited by its beginning. */
const minute = 60_000

/** Whether a passage may continue from one place to the next: across pages, but not across slides and sheets. */
const runsOn = (from: Mark | undefined, to: Mark): boolean => {
  const [a, b] = [from?.locator, to.locator]
  if (b === undefined || a?._tag !== b._tag) return a?._tag === b?._tag
  switch (a._tag) {
    case "Slide":
      return false
    case "Part":
      return a.part === (b as typeof a).part
    case "Sheet":
      return a.sheet === (b as typeof a).sheet
    case "Time":
      return (b as typeof a).time - a.time < minute
    case "Page":
    case "Cell":
      return true
  }
}

const ownHeading = /^#{1,6} (.*)/

const newlines = (text: string): number => text.split("\n").length - 1

/** Splits a passage at its places. */
const apart = (passage: Passage, marks: ReadonlyArray<Mark>): ReadonlyArray<Passage> => {
  const cuts: Array<number> = []
  let at = marksUpTo(marks, passage.start)
  let from = marks[at - 1]
  for (; at < marks.length && marks[at]!.start < passage.end; at++) {
    if (runsOn(from, marks[at]!)) continue
    from = marks[at]!
    cuts.push(from.start)
  }
  if (cuts.length === 0) return [passage]
  return [passage.start, ...cuts].flatMap((cut, i) => {
    const whole = passage.text.slice(cut - passage.start, (cuts[i] ?? passage.end) - passage.start)
    const text = whole.trim()
    if (text === "") return []
    const start = cut + whole.indexOf(text)
    const startLine = passage.startLine + newlines(passage.text.slice(0, start - passage.start))
    const heading = ownHeading.exec(text)?.[1]?.trim()
    return [
      {
        ...passage,
        text,
        start,
        end: start + text.length,
        startLine,
        endLine: startLine + newlines(text),
        heading:
          heading === undefined || passage.heading.at(-1) === heading ? passage.heading : [...passage.heading, heading]
      }
    ]
  })
}

/** The pieces of passages that overlap, without those whose text others have: in the order of their starts. */
const distinct = (pieces: ReadonlyArray<ReadonlyArray<Passage>>): ReadonlyArray<Passage> => {
  let covered = 0
  return pieces.flatMap((own, index) => {
    const next = pieces[index + 1]?.[0]?.start ?? Infinity
    return own.filter(({ end, start }) => {
      if (start >= next || end <= covered) return false
      covered = end
      return true
    })
  })
}

/** Passages of an extracted text, each with its place in the file; none crosses the boundary of a slide or sheet. */
export const located = (
  passages: ReadonlyArray<Passage>,
  marks: ReadonlyArray<Mark> | undefined
): ReadonlyArray<Passage> =>
  marks === undefined || marks.length === 0
    ? passages
    : distinct(passages.map((passage) => apart(passage, marks))).map((passage) => {
        const mark = markAt(marks, passage.start)
        const startLine = mark?.line ?? passage.startLine
        const endLine = mark?.line === undefined ? passage.endLine : (markAt(marks, passage.end - 1)?.line ?? startLine)
        return { ...passage, startLine, endLine: Math.max(startLine, endLine), locator: mark?.locator }
      })

/** A document's text, with the line numbers that search results use: from 1, in the original file. */
export interface Lines {
  readonly first: number
  readonly last: number
  /** Offset of a line's first character; for a line after the last, the length of the text. */
  readonly startOf: (line: number) => number
  /** Offset after a line's last character; where lines are known per passage, after what may stand on it. */
  readonly endOf: (line: number) => number
  /** The line of an offset; where lines are known per passage, its first before its last character. */
  readonly lineAt: (offset: number) => number
  /** The same if it is known exactly; for extracted text, only at the starts of passages. */
  readonly knownAt: (offset: number) => number | undefined
}

/**
 * For text extracted from a page or a table: the lines of the original file, known per passage. If a passage has as many
 * lines as it has there, as rows have, each of its lines is known.
 */
const originalLines = (content: string, passages: StoredDocument["passages"]): Lines => {
  /** How many line ends of a passage are before an offset, if its lines are those of the file. */
  const below = ({ end, endLine, start, startLine }: (typeof passages)[number], offset: number): number | undefined =>
    newlines(content.slice(start, end)) === endLine - startLine ? newlines(content.slice(start, offset)) : undefined
  const at = (offset: number) => passages.findLast(({ start }) => start <= offset) ?? passages[0]!
  const last = Math.max(...passages.map(({ endLine }) => endLine))
  const startOf = (line: number): number => {
    const passage = passages.find(({ endLine }) => endLine >= line)
    if (passage === undefined) return content.length
    let start = passage.start
    if (below(passage, start) === undefined) return start
    for (let left = line - passage.startLine; left > 0; left--) start = content.indexOf("\n", start) + 1
    return start
  }
  return {
    first: Math.min(...passages.map(({ startLine }) => startLine)),
    last,
    startOf,
    endOf: (line) =>
      passages.reduce(
        (end, passage) =>
          passage.startLine <= line && (passage.endLine <= line || below(passage, passage.start) === undefined)
            ? Math.max(end, passage.end)
            : end,
        startOf(line + 1)
      ),
    lineAt: (offset) => {
      const passage = at(offset)
      const lines = offset < passage.end - 1 ? (below(passage, offset) ?? 0) : Infinity
      return Math.min(passage.endLine, passage.startLine + lines)
    },
    knownAt: (offset) => {
      const passage = at(offset)
      const lines = offset >= passage.end ? undefined : below(passage, offset)
      return lines === undefined
        ? offset === passage.start
          ? passage.startLine
          : undefined
        : passage.startLine + lines
    }
  }
}

const lineEnd = /\r\n?|\n/g

/** If a document is one record on one line of its file, all its passages and all its text are on that line. */
export const linesOf = ({ content, passages }: Pick<StoredDocument, "content" | "passages">): Lines => {
  const starts = [{ start: 0 }]
  for (const { 0: end, index } of content.matchAll(lineEnd)) starts.push({ start: index + end.length })
  // A line end at the very end ends the last line; it does not begin another.
  if (starts.length > 1 && starts.at(-1)!.start === content.length) starts.pop()

  const ordinal = (offset: number): number => marksUpTo(starts, offset)

  const record = passages.find(
    ({ end, endLine, start, startLine }) =>
      startLine !== ordinal(start) || endLine !== ordinal(Math.max(start, end - 1))
  )
  if (record !== undefined) {
    const line = record.startLine
    if (passages.some(({ endLine, startLine }) => startLine !== line || endLine !== line)) {
      return originalLines(content, passages)
    }
    return {
      first: line,
      last: line,
      startOf: (asked) => (asked <= line ? 0 : content.length),
      endOf: (asked) => (asked < line ? 0 : content.length),
      lineAt: () => line,
      knownAt: () => line
    }
  }
  return {
    first: 1,
    last: starts.length,
    startOf: (line) => starts[line - 1]?.start ?? content.length,
    endOf: (line) => starts[line]?.start ?? content.length,
    lineAt: ordinal,
    knownAt: ordinal
  }
}
