import type { StoredDocument } from "../model/Stored.ts"

/** A document's text, with the line numbers that search results use: from 1, in the original file. */
export interface Lines {
  readonly first: number
  readonly last: number
  /** Offset of a line's first character; for a line after the last, the length of the text. */
  readonly startOf: (line: number) => number
  /** The line of an offset. */
  readonly lineAt: (offset: number) => number
  /** The same if it is known exactly; for extracted text, only at the starts of passages. */
  readonly knownAt: (offset: number) => number | undefined
}

/** For text extracted from a page or a table: the lines of the original file, known per passage. */
const originalLines = (content: string, passages: StoredDocument["passages"]): Lines => ({
  first: Math.min(...passages.map(({ startLine }) => startLine)),
  last: Math.max(...passages.map(({ endLine }) => endLine)),
  startOf: (line) => passages.find(({ endLine }) => endLine >= line)?.start ?? content.length,
  lineAt: (offset) => (passages.findLast(({ start }) => start <= offset) ?? passages[0]!).startLine,
  knownAt: (offset) => passages.find(({ start }) => start === offset)?.startLine
})

/** If a document is one record on one line of its file, all its passages and all its text are on that line. */
export const linesOf = ({ content, passages }: Pick<StoredDocument, "content" | "passages">): Lines => {
  const starts = [0]
  for (let at = content.indexOf("\n"); at !== -1; at = content.indexOf("\n", at + 1)) starts.push(at + 1)
  // A line feed at the very end ends the last line; it does not begin another.
  if (starts.length > 1 && starts.at(-1) === content.length) starts.pop()

  const ordinal = (offset: number): number => {
    let low = 0
    let high = starts.length
    while (low + 1 < high) {
      const middle = (low + high) >> 1
      if ((starts[middle] as number) <= offset) low = middle
      else high = middle
    }
    return low + 1
  }

  const record = passages.find(
    ({ end, endLine, start, startLine }) =>
      startLine !== ordinal(start) || endLine !== ordinal(Math.max(start, end - 1))
  )
  if (record !== undefined) {
    if (passages.some(({ startLine }) => startLine !== record.startLine)) return originalLines(content, passages)
    const line = record.startLine
    return {
      first: line,
      last: line,
      startOf: (asked) => (asked <= line ? 0 : content.length),
      lineAt: () => line,
      knownAt: () => line
    }
  }
  return {
    first: 1,
    last: starts.length,
    startOf: (line) => starts[line - 1] ?? content.length,
    lineAt: ordinal,
    knownAt: ordinal
  }
}
