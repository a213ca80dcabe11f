import { type Extracted, NotExtracted } from "./Extracted.ts"
import { MarkdownWriter } from "./MarkdownWriter.ts"
import { about, partsOf } from "./archive.ts"
import { type Place, placed, unbroken } from "./raised.ts"
import { columnName, type SheetRow, writeSheet } from "./xlsx.ts"
import { all, child, childrenOf, textIn, xml, type XmlElement } from "./xml.ts"

/** Most repetitions of a cell; whole sheets are formatted by repetition. */
const mostRepeats = 500

const skipped = new Set([
  "text:tracked-changes",
  "office:annotation",
  "text:sequence-decls",
  "office:forms",
  "text:table-of-content"
])

/** Where styles of characters place their text. */
type Places = ReadonlyMap<string, Place>

const placesOf = (...parts: ReadonlyArray<XmlElement | undefined>): Places =>
  new Map(
    parts.flatMap((part) =>
      all(part, "style:style").flatMap((style) => {
        const position = child(style, "style:text-properties")?.attributes["style:text-position"] ?? ""
        const place = /^(?:super|[1-9])/.test(position) ? "above" : /^(?:sub|-)/.test(position) ? "below" : undefined
        return place === undefined ? [] : [[style.attributes["style:name"] ?? "", place] as const]
      })
    )
  )

/** A paragraph's text without its notes, which are added to `notes`. */
const inline = (element: XmlElement, notes: Array<string>, places: Places, above = ""): string =>
  element.children.reduce((before: string, part) => {
    const text = (): string => {
      if (typeof part === "string") return unbroken(part).replace(/\s+/g, " ")
      switch (part.name) {
        case "text:s":
          return " ".repeat(Math.min(80, Number(part.attributes["text:c"] ?? 1) || 1))
        case "text:tab":
          return "\t"
        case "text:line-break":
          return "\n"
        case "text:note": {
          const body = child(part, "text:note-body")
          notes.push(paragraphsIn(body, places))
          return `[^${notes.length}]`
        }
        case "svg:title":
        case "svg:desc":
        case "text:p": {
          // What a shape says is on lines of its own.
          const words = inline(part, notes, places).trim()
          return words === "" ? "" : `${/(?:^|\n)$/.test(above + before) ? "" : "\n"}${words}\n`
        }
        case "text:ruby": {
          const words = inline(child(part, "text:ruby-base") ?? part, notes, places)
          const how = textIn(child(part, "text:ruby-text")).trim()
          return how === "" ? words : `${words}(${how})`
        }
        default: {
          if (skipped.has(part.name)) return ""
          const inner = inline(part, notes, places, above + before)
          return placed(inner, places.get(part.attributes["text:style-name"] ?? ""), above + before)
        }
      }
    }
    return before + text()
  }, "")

/** The words of all paragraphs below, without their notes. */
const paragraphsIn = (element: XmlElement | undefined, places: Places): string =>
  all(element, "text:p")
    .map((paragraph) => inline(paragraph, [], places))
    .join(" ")

const tableRows = (table: XmlElement | undefined): ReadonlyArray<XmlElement> =>
  childrenOf(table).flatMap((part) =>
    part.name === "table:table-row"
      ? [part]
      : /^table:table-(?:header-rows|rows|row-group)$/.test(part.name)
        ? tableRows(part)
        : []
  )

const valueOf = (cell: XmlElement, places: Places): string => {
  const { "office:date-value": date, "office:time-value": time } = cell.attributes
  const text = paragraphsIn(cell, places)
  return date ?? (text === "" ? (time ?? "") : text)
}

const cellsOf = (row: XmlElement, places: Places): ReadonlyArray<string> =>
  childrenOf(row)
    .filter(({ name }) => name === "table:table-cell" || name === "table:covered-table-cell")
    .flatMap((cell) => {
      const text = valueOf(cell, places)
      const repeated = Number(cell.attributes["table:number-columns-repeated"] ?? 1) || 1
      return Array.from({ length: Math.min(repeated, text === "" ? mostRepeats : 50) }, () => text)
    })

/** The named styles, and those derived from them. */
const stylesFrom = (content: XmlElement, ...names: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set(
    all(child(content, "office:automatic-styles"), "style:style")
      .filter(({ attributes }) => names.includes(attributes["style:parent-style-name"] ?? ""))
      .map(({ attributes }) => attributes["style:name"] ?? "")
      .concat(names)
  )

/** What a document's styles define for its paragraphs and lists. */
interface Styles {
  readonly code: ReadonlySet<string>
  readonly title: ReadonlySet<string>
  /** Styles and levels of numbered lists, as `L1/2`, with their first number. */
  readonly numbered: ReadonlyMap<string, number>
  readonly places: Places
}

const stylesOf = (content: XmlElement, styles: XmlElement | undefined): Styles => ({
  code: stylesFrom(content, "Preformatted_20_Text", "Source_20_Code", "Source_20_Text"),
  title: stylesFrom(content, "Title"),
  places: placesOf(content, styles),
  numbered: new Map(
    [content, styles].flatMap((part) =>
      all(part, "text:list-style").flatMap((style) =>
        childrenOf(style)
          .filter(
            ({ attributes, name }) =>
              name === "text:list-level-style-number" && (attributes["style:num-format"] ?? "1") !== ""
          )
          .map(
            ({ attributes }) =>
              [
                `${style.attributes["style:name"]}/${attributes["text:level"]}`,
                Number(attributes["text:start-value"] ?? 1) || 1
              ] as const
          )
      )
    )
  )
})

/** The parts of a file, by their names. */
type Parts = (name: string) => XmlElement | undefined

class Reader {
  private code: Array<string> = []
  constructor(
    readonly styles: Styles,
    private readonly part: Parts
  ) {}

  readonly writer = new MarkdownWriter()
  readonly notes: Array<string> = []

  blocks(element: XmlElement | undefined, lists = 0): void {
    for (const part of childrenOf(element)) this.block(part, lists)
  }

  flush(): void {
    this.writer.code(this.code.join("\n"))
    this.code = []
  }

  block(element: XmlElement, lists: number): void {
    if (element.name === "text:p" && this.styles.code.has(element.attributes["text:style-name"] ?? "")) {
      this.code.push(this.words(element))
      return
    }
    this.flush()
    switch (element.name) {
      case "text:h":
        return this.writer.heading(Number(element.attributes["text:outline-level"] ?? 1) || 1, this.words(element))
      case "text:p":
        return this.styles.title.has(element.attributes["text:style-name"] ?? "")
          ? this.writer.heading(1, this.words(element))
          : this.writer.paragraph(this.words(element))
      case "text:list":
        return this.list(element, lists)
      case "table:table":
        return this.writer.table(
          tableRows(element)
            .map((row) => cellsOf(row, this.styles.places))
            .filter((cells) => cells.some((cell) => cell !== ""))
        )
      case "draw:object":
        return this.chart((element.attributes["xlink:href"] ?? "").replace(/^\.\//, ""))
      default:
        if (!skipped.has(element.name)) this.blocks(element, lists)
    }
  }

  private words(paragraph: XmlElement): string {
    return inline(paragraph, this.notes, this.styles.places)
  }

  /** A chart as the table of its data, which its part has beside it. */
  private chart(folder: string): void {
    const [chart] = all(folder === "" ? undefined : this.part(`${folder}/content.xml`), "chart:chart")
    this.writer.paragraph(paragraphsIn(child(chart, "chart:title"), this.styles.places))
    const rows = tableRows(child(chart, "table:table"))
    this.writer.table(rows.map((row) => cellsOf(row, this.styles.places).map((cell) => (cell === "NaN" ? "" : cell))))
  }

  /** The next number on each level, for lists that continue an earlier one. */
  private readonly counts: Array<number> = []

  private list(list: XmlElement, lists: number, outer?: string): void {
    // A nested list has the outer style unless it names one.
    const style = list.attributes["text:style-name"] ?? outer
    const from = this.styles.numbered.get(`${style}/${lists + 1}`)
    const goesOn = list.attributes["text:continue-numbering"] === "true" || "text:continue-list" in list.attributes
    let number = (goesOn ? this.counts[lists] : undefined) ?? from ?? 1
    let first = lists === 0
    for (const item of childrenOf(list)) {
      if (item.name !== "text:list-item" && item.name !== "text:list-header") continue
      number = Number(item.attributes["text:start-value"] ?? number) || number
      let isMarked = false
      for (const part of childrenOf(item)) {
        if (part.name === "text:list") this.list(part, lists + 1, style)
        else if (part.name === "text:p" || part.name === "text:h") {
          this.writer.item(this.words(part), lists, from === undefined ? "-" : `${number}.`, first)
          first = false
          isMarked = true
        } else this.block(part, lists + 1)
      }
      if (isMarked) number++
      this.counts[lists] = number
    }
  }
}

const writeSlides = (reader: Reader, slides: XmlElement): void => {
  for (const [index, page] of childrenOf(slides)
    .filter(({ name }) => name === "draw:page")
    .entries()) {
    reader.writer.at({ locator: { _tag: "Slide", slide: index + 1 } })
    const frames = childrenOf(page).filter(({ name }) => name.startsWith("draw:"))
    const title = frames.find(({ attributes }) => attributes["presentation:class"] === "title")
    reader.writer.heading(2, paragraphsIn(title, reader.styles.places))
    for (const frame of frames) if (frame !== title) reader.blocks(frame)
    for (const note of all(child(page, "presentation:notes"), "draw:frame")) {
      if (note.attributes["presentation:class"] === "notes") reader.blocks(note)
    }
  }
}

/** Repeats a cell that is merged downwards in each of its rows; titles are merged over columns. */
const spanDown = (
  row: XmlElement,
  cells: Array<string>,
  spans: Map<number, { readonly text: string; left: number }>
): void => {
  for (const [at, span] of spans) {
    if (span.left-- <= 0) spans.delete(at)
    else if ((cells[at] ?? "") === "") cells[at] = span.text
  }
  let at = 0
  for (const { attributes, name } of childrenOf(row)) {
    if (name !== "table:table-cell" && name !== "table:covered-table-cell") continue
    const left = Number(attributes["table:number-rows-spanned"] ?? 1) - 1
    const text = cells[at] ?? ""
    if (left > 0 && text !== "" && (attributes["table:number-columns-spanned"] ?? "1") === "1")
      spans.set(at, { text, left })
    at += Number(attributes["table:number-columns-repeated"] ?? 1) || 1
    if (at >= mostRepeats) break
  }
}

const writeSheets = ({ styles: { places }, writer }: Reader, sheets: XmlElement): void => {
  for (const table of childrenOf(sheets).filter(({ name }) => name === "table:table")) {
    let number = 1
    const rows: Array<SheetRow> = []
    const spans = new Map<number, { readonly text: string; left: number }>()
    for (const row of tableRows(table)) {
      const cells = [...cellsOf(row, places)]
      spanDown(row, cells, spans)
      // Sheets have all their columns, most of them repeated without text.
      cells.length = cells.findLastIndex((cell) => cell !== "") + 1
      const column = cells.findIndex((cell) => cell !== "")
      if (column >= 0) rows.push({ cells, first: `${columnName(column)}${number}` })
      number += Number(row.attributes["table:number-rows-repeated"] ?? 1) || 1
    }
    writeSheet(writer, table.attributes["table:name"] ?? "", rows)
  }
}

const packed = (bytes: Uint8Array): Parts => {
  const { part, text } = partsOf(
    bytes,
    /^(?:(?:Object [^/]{1,20}\/)?content|meta|styles)\.xml$|^META-INF\/manifest\.xml$/
  )
  if (text("META-INF/manifest.xml")?.includes("encryption-data") === true)
    throw new NotExtracted("it is encrypted: save it without a password")
  return part
}

/** A flat file is one element, which has what packed ones have in parts; its pictures and charts are left out. */
const flat = (text: string): Parts => {
  const whole = xml(text, ({ name }) => name === "office:binary-data" || name === "draw:object")
  return (name) => (name === "content.xml" || name === "meta.xml" ? whole : undefined)
}

/** A text, presentation or spreadsheet in OpenDocument, packed or flat (one XML text), with changes accepted. */
export const openDocument = (source: string | Uint8Array): Extracted => {
  const part = typeof source === "string" ? flat(source) : packed(source)
  const content = part("content.xml")
  if (content === undefined) throw new NotExtracted("not an OpenDocument file: it has no content")
  const body = child(content, "office:body")
  const reader = new Reader(stylesOf(content, part("styles.xml")), part)
  const slides = child(body, "office:presentation")
  const sheets = child(body, "office:spreadsheet")
  if (slides !== undefined) writeSlides(reader, slides)
  else if (sheets !== undefined) writeSheets(reader, sheets)
  else reader.blocks(body)
  reader.flush()
  reader.notes.forEach((note, index) => reader.writer.paragraph(`[^${index + 1}]: ${note}`))
  const meta = child(part("meta.xml"), "office:meta")
  const said = (name: string) => textIn(child(meta, name)).trim()
  const author = said("meta:initial-creator") || said("dc:creator")
  return { text: reader.writer.text, marks: reader.writer.marks, ...about({ title: said("dc:title"), author }) }
}
