import type { Measure } from "./measure.ts"
import { LineWalker } from "./lines.ts"
import { isTableRule } from "./markdownLine.ts"
import { skipSpace } from "./space.ts"

/** The headers of the tables that were taken apart. */
export interface TableHeaders {
  /** A table's span; tables come in order. */
  readonly add: (start: number, end: number) => void
  /** The header of the table that holds the place below its first line; places come in order. */
  readonly at: (place: number) => string | undefined
}

/** A longer header would drown out the rows it stands above. */
const longest = 300

export const tableHeaders = (m: Measure): TableHeaders => {
  const tables: Array<{ readonly start: number; readonly end: number; readonly header: string }> = []
  let next = 0
  return {
    add: (start, end) => {
      const header = headerOf(m.text, start, end)
      if (header !== "") tables.push({ start, end, header })
    },
    at: (place) => {
      while (next < tables.length && tables[next]!.end <= place) next++
      const table = tables[next]
      return table !== undefined && place > table.start ? table.header : undefined
    }
  }
}

const orgRule = /^\|[-+|]+$/

/** Whether what stands between two places is the row of a header's rule, as GitHub and Org write it. */
const isRule = (text: string, start: number, end: number): boolean => {
  const at = skipSpace(text, start, end)
  return isTableRule(text, at, end) || (end - at < 4 * longest && orgRule.test(text.slice(at, end).trimEnd()))
}

/**
 * The names of a table's columns: the cells of its first row, if a rule below says that it is a header or, in AsciiDoc, an
 * empty line does.
 */
const headerOf = (text: string, start: number, end: number): string => {
  const line = new LineWalker(text, start, end)
  if (!line.next()) return ""
  const isAsciidoc = text.startsWith("|===", line.start)
  if (isAsciidoc && !line.next()) return ""
  const row = text.slice(line.start, Math.min(line.end, line.start + 4 * longest))
  if (!line.next()) return ""
  const isHeader = isAsciidoc ? skipSpace(text, line.start, line.end) === line.end : isRule(text, line.start, line.end)
  if (!isHeader) return ""
  const header = row
    .split("|")
    .map((cell) => cell.replace(/\s+/g, " ").trim())
    .filter((cell) => cell !== "")
    .join(" | ")
  return header.length <= longest ? header : wholeWords(header.slice(0, longest))
}

const wholeWords = (text: string): string => text.slice(0, Math.max(text.lastIndexOf(" "), longest >> 1)).trimEnd()
