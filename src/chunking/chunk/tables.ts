import { LineWalker, skipSpace } from "../../entries/scanning.ts"
import { isTableRule } from "./markdown.ts"
import { cellsBelow, gridRule, listTable, simpleRule } from "./markup.ts"
import type { Measure } from "./unit.ts"

/** The cells that name a table's columns, and where its rows begin. */
interface TableHead {
  readonly cells: ReadonlyArray<string>
  readonly end: number
}

/** Most characters read per line, and most lines of a head. */
const bounds = { line: 1200, lines: 40 }

const orgRule = /^\|[-+|]+$/

const barred = (row: string): ReadonlyArray<string> => row.split("|")

/** Joins cells of the same column. */
const joined = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const widest = Math.max(0, ...rows.map((row) => row.length))
  return Array.from({ length: widest }, (_, at) => rows.map((row) => row[at] ?? "").join(" "))
}

interface HeadLine {
  readonly text: string
  readonly after: number
}

/** The cells in a row of a list, after its options, or in a line of values. */
const listed = (lines: ReadonlyArray<HeadLine>): TableHead | undefined => {
  const option = (name: string) => {
    const at = lines.findIndex(({ text }) => text.trimStart().startsWith(`:${name}:`))
    return at < 0 ? undefined : { at, value: lines[at]!.text.trimStart().slice(name.length + 2) }
  }
  const header = option("header")
  const values = (row: string): ReadonlyArray<string> => row.split(",").map((cell) => cell.trim().replace(/^"|"$/g, ""))
  if (header !== undefined) return { cells: values(header.value), end: lines[header.at]!.after }
  if (Number(option("header-rows")?.value ?? 0) < 1) return undefined
  const from = lines.findIndex(({ text }, at) => at > 0 && text.trim() !== "" && !/^\s*:[\w-]+:/.test(text))
  const first = lines[from]
  if (first === undefined) return undefined
  if (!/^\s*\* -/.test(first.text)) return { cells: values(first.text), end: first.after }
  const below = lines.slice(from + 1)
  const next = below.findIndex(({ text }) => /^\s*\* -/.test(text))
  const row = [first, ...(next < 0 ? below : below.slice(0, next))]
  const cells: Array<string> = []
  for (const { text } of row) {
    const [, cell] = /^\s*(?:\* )?-(?:\s+(.*)|$)/.exec(text) ?? []
    if (/^\s*(?:\* )?-(?:\s|$)/.test(text)) cells.push(cell ?? "")
    else if (cells.length > 0) cells[cells.length - 1] += ` ${text.trim()}`
  }
  return { cells, end: row.at(-1)!.after }
}

/** The head of a table between its first rule and the next one that marks it, unless the table ends there. */
const ruled = (
  lines: ReadonlyArray<HeadLine>,
  end: number,
  isRule: (text: string) => boolean,
  cells: (text: string) => ReadonlyArray<string>
): TableHead | undefined => {
  const below = lines.findIndex(({ text }, at) => at > 0 && isRule(text))
  if (below < 2 || lines[below]!.after >= end) return undefined
  // A row of dashes between two lines shows which columns the upper one spans.
  const rows = lines.slice(1, below).filter(({ text }) => !/^[\s+|-]*$/.test(text))
  return { cells: joined(rows.map(({ text }) => cells(text))), end: lines[below]!.after }
}

/** The first row names a table's columns, if a rule below it or, in AsciiDoc, an empty line says so. */
const plain = (lines: ReadonlyArray<HeadLine>): TableHead | undefined => {
  const isAsciidoc = lines[0]!.text.startsWith("|===")
  const [row, below] = isAsciidoc ? lines.slice(1) : lines
  if (row === undefined || below === undefined) return undefined
  const at = skipSpace(below.text, 0, below.text.length)
  const isHead = isAsciidoc
    ? at === below.text.length
    : isTableRule(below.text, at, below.text.length) || orgRule.test(below.text.trim())
  return isHead ? { cells: barred(row.text), end: below.after } : undefined
}

/** The head of a table in any known form; undefined if nothing names its columns. */
const tableHead = (text: string, start: number, end: number): TableHead | undefined => {
  const walker = new LineWalker(text, start, end)
  const lines: Array<HeadLine> = []
  while (lines.length < bounds.lines && walker.next()) {
    lines.push({
      text: text.slice(walker.start, Math.min(walker.end, walker.start + bounds.line)),
      after: walker.after
    })
  }
  const first = lines[0]?.text.trim()
  if (first === undefined) return undefined
  if (listTable.test(first)) return listed(lines)
  if (gridRule.test(first)) {
    return ruled(
      lines,
      end,
      (line) => /^\s*\+=[=+]*\s*$/.test(line),
      (line) => barred(line.trim().slice(1, -1))
    )
  }
  if (!simpleRule.test(first)) return plain(lines)
  // The first rule has lost its leading white space.
  const indent = columnOf(text, start)
  const cells = (line: string) => cellsBelow(first, line.slice(indent)) ?? line.trim().split(/ {2,}/)
  return ruled(lines, end, (line) => simpleRule.test(line.trim()), cells)
}

/** The number of characters before an offset on its line. */
const columnOf = (text: string, place: number): number => {
  let at = place
  while (at > 0 && text.charCodeAt(at - 1) !== 10 && text.charCodeAt(at - 1) !== 13) at--
  return place - at
}

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
