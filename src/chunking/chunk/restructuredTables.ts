import type { Line, Sign } from "./markup.ts"

/** The frame of a grid table. */
export const gridRule = /^\+[-+]{3,}$/
/** The row of marks above, within and below a simple table. */
export const simpleRule = /^=+(?: +=+)+$/
/** A table written as a list of lists, or as comma-separated values. */
export const listTable = /^\.\. (?:list|csv)-table::/

const columnsOf = (rule: string): ReadonlyArray<readonly [start: number, end: number]> =>
  Array.from(rule.matchAll(/=+/g), ({ 0: { length }, index }) => [index, index + length] as const)

/** A line's cells at the columns of a rule; undefined if a word crosses the space between two columns. */
export const cellsBelow = (rule: string, line: string): ReadonlyArray<string> | undefined => {
  const columns = columnsOf(rule)
  const isApart = columns.slice(1).every(([start], at) => line.slice(columns[at]![1], start).trim() === "")
  return isApart ? columns.map(([start], at) => line.slice(start, columns[at + 1]?.[0]).trim()) : undefined
}

/**
 * The table ends with the second rule after the first, with a rule before an empty line, or with a line that is no row.
 */
const simple = ({ indent, text: rule }: Line): Sign => {
  let rules = 0
  let wasRule = false
  return {
    is: "verbatim",
    table: true,
    ends: (line) => {
      if (line.first && wasRule) return "before"
      wasRule = simpleRule.test(line.text)
      if (wasRule) return ++rules === 2 ? "with" : undefined
      const isAscii = /^[ -~\t]*$/.test(line.text)
      return isAscii && cellsBelow(rule, " ".repeat(Math.max(0, line.indent - indent)) + line.text) === undefined
        ? "before"
        : undefined
    }
  }
}

/** reStructuredText's tables, in all forms. */
export const tableSign = (line: Line): Sign | undefined => {
  if (listTable.test(line.text)) {
    return { is: "verbatim", table: true, ends: ({ indent }) => (indent > line.indent ? undefined : "before") }
  }
  if (!line.first) return undefined
  if (gridRule.test(line.text)) {
    const isFramed = (next: Line) => !next.first && /^[+|]/.test(next.text)
    return { is: "verbatim", table: true, ends: (next) => (isFramed(next) ? undefined : "before") }
  }
  return simpleRule.test(line.text) ? simple(line) : undefined
}
