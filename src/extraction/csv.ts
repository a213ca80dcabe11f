import { parse } from "csv-parse/sync"
import { type Extracted, NotExtracted } from "./Extracted.ts"
import { MarkdownWriter, writeRows } from "./MarkdownWriter.ts"

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

/** The delimiter that splits most of the first lines into the same number of cells. */
const delimiterOf = (text: string): string | undefined => {
  const lines = text
    .slice(0, 65_536)
    .split(/\r\n|\n|\r/)
    .filter((line) => line.trim() !== "")
    .slice(0, 50)
  const scored = delimiters.map((delimiter) => {
    const counts = lines.map((line) => count(line, delimiter))
    const first = counts[0] ?? 0
    return { delimiter, share: first === 0 ? 0 : counts.filter((n) => n === first).length / counts.length, first }
  })
  const best = scored.sort((a, b) => b.share - a.share || b.first - a.first)[0]
  return best === undefined || best.share < 0.5 ? undefined : best.delimiter
}

interface Parsed {
  readonly record: ReadonlyArray<string>
  readonly info: { readonly lines: number }
}

const parsed = (text: string, delimiter: string, quote: string | false): ReadonlyArray<Parsed> =>
  parse(text, {
    delimiter,
    quote,
    info: true,
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true
  }) as never

const isUnclosed = (error: unknown): boolean => (error as { code?: unknown }).code === "CSV_QUOTE_NOT_CLOSED"

/** If the quotes do not pair, as in many files with tabs, they are read as ordinary characters. */
const recordsOf = (text: string, delimiter: string): ReadonlyArray<Parsed> => {
  try {
    return parsed(text, delimiter, '"')
  } catch (error) {
    if (isUnclosed(error)) return parsed(text, delimiter, false)
    throw error
  }
}

/** Each row with its header and its line. */
export const csv = (text: string): Extracted => {
  let records: ReadonlyArray<Parsed>
  try {
    records = recordsOf(text, delimiterOf(text) ?? ",")
  } catch (error) {
    throw new NotExtracted(`not a table: ${(error as Error).message}`)
  }
  let next = 1
  const table = records.map(({ info, record }) => {
    const line = next
    next = info.lines + 1
    return { cells: record, place: { line } }
  })
  const writer = new MarkdownWriter()
  writeRows(writer, table)
  return { text: writer.text, metadata: {}, marks: writer.marks }
}
