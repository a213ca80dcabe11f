import { type Extracted, NotExtracted } from "./Extracted.ts"
import { MarkdownWriter, type Row, RowWriter } from "./MarkdownWriter.ts"
import { coreOf, partsOf, relations } from "./archive.ts"
import { placed } from "./raised.ts"
import { all, child, childrenOf, textIn, type XmlElement } from "./xml.ts"

const wanted =
  /^(?:xl\/(?:workbook|sharedStrings|styles)\.xml|xl\/_rels\/workbook\.xml\.rels|xl\/worksheets\/[^/]+\.xml|docProps\/core\.xml)$/

const day = 86_400_000

/** Excel's built-in number formats that show a date or a time. */
const builtinDates = new Set([14, 15, 16, 17, 18, 19, 20, 21, 22, 27, 30, 36, 45, 46, 47, 50, 57])

/** Whether a format's code shows a date: it has date letters outside quotes, brackets and escapes. */
export const showsDate = (code: string): boolean => {
  if (/general/i.test(code)) return false
  for (let at = 0; at < code.length; at++) {
    const close = code[at] === '"' ? '"' : code[at] === "[" ? "]" : undefined
    if (code[at] === "\\") at++
    else if (close !== undefined) {
      const end = code.indexOf(close, at + 1)
      if (end < 0) return false
      at = end
    } else if (/[ymdhs]/i.test(code[at]!)) return true
  }
  return false
}

/** Excel's built-in number format of hours beyond a day. */
const builtinDuration = 46

/** What numbers are that each cell style, by index, shows. */
const timeStyles = (styles: XmlElement | undefined): ReadonlyArray<"date" | "duration" | undefined> => {
  const codes = new Map(
    all(child(styles, "numFmts"), "numFmt").map(({ attributes }) => [
      attributes["numFmtId"],
      attributes["formatCode"] ?? ""
    ])
  )
  return childrenOf(child(styles, "cellXfs")).map(({ attributes }) => {
    const id = attributes["numFmtId"] ?? "0"
    const code = codes.get(id) ?? ""
    if (Number(id) === builtinDuration || /\[(?:h{1,9}|m{1,9}|s{1,9})\]/i.test(code)) return "duration"
    return builtinDates.has(Number(id)) || showsDate(code) ? "date" : undefined
  })
}

/** A sheet's date as ISO 8601; a time of day is one of the day from which Excel counts. */
export const isoText = (date: Date): string => {
  const text = date.toISOString()
  if (text.startsWith("1899-12-30")) return text.slice(11, 19)
  return date.getTime() % day === 0 ? text.slice(0, 10) : text.slice(0, 19)
}

/** A serial day number as ISO 8601; days count from 1899-12-30, or from 1904-01-01. */
export const isoDate = (serial: number, from1904: boolean): string => {
  const epoch = from1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, 30)
  const date = new Date(epoch + Math.round(serial * 86_400) * 1000)
  return Number.isNaN(date.getTime()) ? String(serial) : isoText(date)
}

/** Days as hours, minutes and seconds. */
export const durationText = (days: number): string => {
  const seconds = Math.round(Math.abs(days) * 86_400)
  if (!Number.isSafeInteger(seconds)) return String(days)
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return (days < 0 ? "-" : "") + parts.map((part) => String(part).padStart(2, "0")).join(":")
}

/** A fraction as Excel shows it where nothing else is said: with at most 15 digits. Other texts stay, such as long numbers. */
export const numberText = (text: string): string => {
  const isLong = text.length > 15 && /[.E]/i.test(text) && /^-?\d{1,20}(?:\.\d{1,20})?(?:E[-+]?\d{1,3})?$/i.test(text)
  const shown = Number(Number(text).toPrecision(15))
  return isLong && Number.isFinite(shown) ? String(shown) : text
}

/** A column's letters by its index, from 0. */
export const columnName = (column: number): string =>
  (column < 26 ? "" : columnName(Math.floor(column / 26) - 1)) + String.fromCharCode(65 + (column % 26))

/** A column's index by its letters. */
const columnOf = (address: string): number => {
  let column = 0
  for (const char of /^[A-Z]{1,3}/.exec(address)?.[0] ?? "A") column = column * 26 + char.charCodeAt(0) - 64
  return column - 1
}

const stringOf = (item: XmlElement | undefined): string =>
  childrenOf(item).reduce((before, part) => {
    if (part.name === "t") return before + textIn(part)
    if (part.name !== "r") return before
    const align = child(child(part, "rPr"), "vertAlign")?.attributes["val"]
    const place = align === "superscript" ? "above" : align === "subscript" ? "below" : undefined
    return before + placed(textIn(child(part, "t")), place, before)
  }, "")

/** A row of a sheet, with the address of its first cell. */
export interface SheetRow {
  readonly cells: ReadonlyArray<string>
  readonly first: string
}

export const isFilled = ({ cells }: SheetRow): boolean => cells.some((cell) => cell.trim() !== "")

/** A sheet under its name, each row with its header; nothing of a sheet without rows. */
export const writeSheet = (writer: MarkdownWriter, sheet: string, rows: ReadonlyArray<SheetRow>): void => {
  const placeOf = ({ first }: SheetRow): Row["place"] => ({ locator: { _tag: "Sheet", sheet, cell: first } })
  if (rows[0] === undefined) return
  writer.at(placeOf(rows[0]))
  writer.heading(2, sheet)
  const table = new RowWriter(writer)
  for (const row of rows) table.add({ cells: row.cells, place: placeOf(row) })
  table.end()
}

/** An Excel workbook: its sheets, formulas by their last value. */
export const xlsx = (bytes: Uint8Array): Extracted => {
  const { part } = partsOf(bytes, wanted)
  const workbook = part("xl/workbook.xml")
  if (workbook === undefined) throw new NotExtracted("not a workbook: it has no sheets")
  const shared = childrenOf(part("xl/sharedStrings.xml")).map(stringOf)
  const times = timeStyles(part("xl/styles.xml"))
  const from1904 = /^(?:1|true)$/.test(child(workbook, "workbookPr")?.attributes["date1904"] ?? "")
  const targets = relations(part("xl/_rels/workbook.xml.rels"), "xl")
  const writer = new MarkdownWriter()

  const valueOf = (cell: XmlElement): string => {
    const raw = textIn(child(cell, "v"))
    switch (cell.attributes["t"]) {
      case "s":
        return shared[Number(raw)] ?? ""
      case "inlineStr":
        return stringOf(child(cell, "is"))
      case "b":
        return raw === "1" ? "TRUE" : "FALSE"
      case "str":
      case "e":
        return raw
      default: {
        const time = raw === "" ? undefined : times[Number(cell.attributes["s"] ?? 0)]
        if (time === "duration") return durationText(Number(raw))
        return time === "date" ? isoDate(Number(raw), from1904) : numberText(raw)
      }
    }
  }

  for (const sheet of all(child(workbook, "sheets"), "sheet")) {
    const name = sheet.attributes["name"] ?? ""
    const target = targets.get(sheet.attributes["r:id"] ?? "")?.target
    const table: Array<SheetRow & { readonly cells: Array<string> }> = []
    /** Where each row is in the table, by its number. */
    const rows = new Map<number, number>()
    const takeRow = (row: XmlElement): boolean => {
      if (row.name !== "row") return false
      const cells: Array<string> = []
      for (const cell of childrenOf(row)) {
        const at = columnOf(cell.attributes["r"] ?? "")
        if (at < 500) cells[cell.attributes["r"] === undefined ? cells.length : at] = valueOf(cell)
      }
      const first = childrenOf(row)[0]?.attributes["r"] ?? `A${row.attributes["r"] ?? ""}`
      rows.set(Number(row.attributes["r"] ?? table.length + 1), table.length)
      table.push({ cells: Array.from(cells, (cell) => cell ?? ""), first })
      return true
    }
    const isShown = target !== undefined && (sheet.attributes["state"] ?? "visible") === "visible"
    const data = isShown ? part(target, takeRow) : undefined
    const lastRow = [...rows.keys()].at(-1) ?? 0
    for (const { attributes } of all(child(data, "mergeCells"), "mergeCell")) {
      // A cell merged downwards is what each of its rows says; titles are merged over columns.
      const [, column = "", from = "", last, to = ""] =
        /^([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})$/.exec(attributes["ref"] ?? "") ?? []
      const at = columnOf(column)
      const value = table[rows.get(Number(from)) ?? -1]?.cells[at] ?? ""
      if (column !== last || value === "") continue
      for (let row = Number(from) + 1; row <= Math.min(Number(to), lastRow); row++) {
        const cells = table[rows.get(row) ?? -1]?.cells
        if (cells === undefined) continue
        while (cells.length <= at) cells.push("")
        if (cells[at] === "") cells[at] = value
      }
    }
    writeSheet(writer, name, table.filter(isFilled))
  }
  return { text: writer.text, marks: writer.marks, ...coreOf(part("docProps/core.xml")) }
}
