import { parse } from "csv-parse/sync"
import { type Extracted, NotExtracted } from "./Extracted.ts"
import { lineMark, MarkdownWriter, RowWriter } from "./MarkdownWriter.ts"

const delimiters = [",", ";", "\t", "|"]

/** Counts a delimiter outside quotes in a line. */
const count = (line: string, delimiter: string): number => {
  let found = 0
  let quoted = false
  for (const char of line) {
    if (char === '"') quoted = !quoted
    else if (char === delimiter && !quoted) found++
  }
  return found
}

/** Lines joined where a quote is open at their end. */
const joined = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const records: Array<string> = []
  let isOpen = false
  for (const line of lines) {
    records.push(isOpen ? `${records.pop()}\n${line}` : line)
    if (line.split('"').length % 2 === 0) isOpen = !isOpen
  }
  return records
}

/** The delimiter that splits most of the first records into the same number of cells; of lines, if quotes do not pair. */
const delimiterOf = (text: string): string | undefined => {
  const lines = text.slice(0, 65_536).split(/\r\n|\n|\r/)
  const readings = [joined(lines), lines].map((rows) => rows.filter((row) => row.trim() !== "").slice(0, 50))
  const scored = delimiters.flatMap((delimiter) =>
    readings.map((rows) => {
      const counts = rows.map((row) => count(row, delimiter))
      const first = counts[0] ?? 0
      return { delimiter, share: first === 0 ? 0 : counts.filter((n) => n === first).length / counts.length, first }
    })
  )
  const best = scored.sort((a, b) => b.share - a.share || b.first - a.first)[0]
  return best === undefined || best.share < 0.5 ? undefined : best.delimiter
}

/** Writes each record with its header and its line, as it is read: all in memory would take ten times the file. */
const written = (text: string, delimiter: string, quote: string | false): MarkdownWriter => {
  const writer = new MarkdownWriter()
  const table = new RowWriter(writer)
  let before = { empty_lines: 0, lines: 0 }
  parse(text, {
    delimiter,
    quote,
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    on_record: (record: ReadonlyArray<string>, { empty_lines, lines }) => {
      const first = before.lines + 1 + empty_lines - before.empty_lines
      let line = first
      const cells = record.map((cell) => cell.replace(/\r\n|\n|\r/g, (end) => lineMark(++line) + end))
      table.add({ cells, place: { line: first } })
      before = { empty_lines, lines }
      return null
    }
  })
  table.end()
  return writer
}

const isUnclosed = (error: unknown): boolean => (error as { code?: unknown }).code === "CSV_QUOTE_NOT_CLOSED"

/** If the quotes do not pair, as in many files with tabs, they are read as ordinary characters. */
const read = (text: string, delimiter: string): MarkdownWriter => {
  try {
    return written(text, delimiter, '"')
  } catch (error) {
    if (isUnclosed(error)) return written(text, delimiter, false)
    throw error
  }
}

/** The delimiter as Excel has it named, in a line above the header. */
const named = /^\ufeff?sep=([^\r\n"])(?=[\r\n])/i

/** A table of text. */
export const csv = (text: string): Extracted => {
  try {
    const delimiter = named.exec(text)?.[1] ?? delimiterOf(text) ?? ","
    const { marks, text: table } = read(text.replace(named, ""), delimiter)
    return { text: table, metadata: {}, marks }
  } catch (error) {
    if (error instanceof NotExtracted) throw error
    throw new NotExtracted(`not a table: ${(error as Error).message}`)
  }
}
