import type { Measure } from "./measure.ts"
import { tableHead } from "./tableHead.ts"

/** The headers of tables that were split. */
export interface TableHeaders {
  /** Takes a table's span, in order of the tables; returns where its rows begin. */
  readonly add: (start: number, end: number) => number
  /** The header of the table that contains the offset below its first line; offsets must come in order. */
  readonly at: (place: number) => string | undefined
}

/** A longer header would drown out the rows below it. */
const longest = 300

export const tableHeaders = (m: Measure): TableHeaders => {
  const tables: Array<{ readonly start: number; readonly end: number; readonly header: string }> = []
  let next = 0
  return {
    add: (start, end) => {
      const head = tableHead(m.text, start, end)
      const header = head === undefined ? "" : headerOf(head.cells)
      if (header !== "") tables.push({ start, end, header })
      return head?.end ?? start
    },
    at: (place) => {
      while (next < tables.length && tables[next]!.end <= place) next++
      const table = tables[next]
      return table !== undefined && place > table.start ? table.header : undefined
    }
  }
}

const headerOf = (cells: ReadonlyArray<string>): string => {
  const header = cells
    .map((cell) => cell.replace(/\s+/g, " ").trim())
    .filter((cell) => cell !== "")
    .join(" | ")
  return header.length <= longest ? header : wholeWords(header.slice(0, longest))
}

const wholeWords = (text: string): string => text.slice(0, Math.max(text.lastIndexOf(" "), longest >> 1)).trimEnd()
