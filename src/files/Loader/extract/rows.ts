import type { Locator } from "../../../model/Locator.ts"
import type { Extracted } from "./Extracted.ts"
import { MarkdownWriter } from "./MarkdownWriter.ts"

export interface Row {
  readonly cells: ReadonlyArray<string>
  readonly place: { readonly line?: number; readonly locator?: Locator }
}

/** Most cells of a row; more are a mistake or a matrix. */
const widest = 500

/** Characters of a column name that each row repeats; more would swamp the values. */
const longestLabel = 60

const isNumber = (text: string): boolean => /^[\s\d.,:%€$£+-]*$/.test(text)

/** The first row, if its cells are distinct and not numbers: they name the columns. */
const headerOf = (table: ReadonlyArray<Row>): ReadonlyArray<string> | undefined => {
  const first = table[0]?.cells
  if (first === undefined || table.length < 2) return undefined
  const filled = first.filter((cell) => cell.trim() !== "")
  const sound = filled.length >= first.length / 2 && filled.every((cell) => !isNumber(cell) && cell.length <= 200)
  return sound && new Set(filled).size === filled.length ? first : undefined
}

/** Writes a table of records, each row with its column names, so that a passage explains its values. */
export const writeRows = (writer: MarkdownWriter, table: ReadonlyArray<Row>): void => {
  const header = headerOf(table)
  const label = (at: number) => (header?.[at] ?? "").replace(/\s+/g, " ").trim().slice(0, longestLabel)
  let first = true
  for (const { cells, place } of header === undefined ? table : table.slice(1)) {
    const said = cells.slice(0, widest).flatMap((cell, at) => {
      const value = cell.replace(/\s+/g, " ").trim()
      if (value === "") return []
      return [label(at) === "" ? value : `${label(at)}: ${value}`]
    })
    writer.at(place)
    writer.item(said.join("; "), 0, "-", first)
    first = false
  }
}

/** A file that is one table. */
export const rows = (table: ReadonlyArray<Row>, title?: string): Extracted => {
  const writer = new MarkdownWriter()
  writeRows(writer, table)
  return { text: writer.text, title, metadata: {}, marks: writer.marks }
}
