import type { StoredDocument } from "../model/Stored.ts"

/** A document's text with its lines addressed as search results address them: from 1, in the original. */
export interface Lines {
  readonly first: number
  readonly last: number
  /** Offset of a line's first character; a line after the last gives the text's length. */
  readonly startOf: (line: number) => number
  /** The line that an offset stands on. */
  readonly lineAt: (offset: number) => number
  /** The same, where it is known exactly: of a text taken out of a file only where passages begin. */
  readonly knownAt: (offset: number) => number | undefined
}

/** Of a text that was taken out of a page or a table: the lines are the file's, known for each passage. */
const originalLines = (content: string, passages: StoredDocument["passages"]): Lines => ({
  first: Math.min(...passages.map(({ startLine }) => startLine)),
  last: Math.max(...passages.map(({ endLine }) => endLine)),
  startOf: (line) => passages.find(({ endLine }) => endLine >= line)?.start ?? content.length,
  lineAt: (offset) => (passages.findLast(({ start }) => start <= offset) ?? passages[0]!).startLine,
  knownAt: (offset) => passages.find(({ start }) => start === offset)?.startLine
})

/**
 * Where a document is one record on one line of its file, all its passages are said to stand on that line, and so is all
 * its text.
 */
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
