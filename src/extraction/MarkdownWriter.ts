import { type Locator, type Mark, mostText, tooMuchText } from "./Extracted.ts"

/** These would be read as markup at the start of a line. */
const marksLine = /^(?:#{1,6}(?=\s|$)|>|(?:[-+*]|\d{1,9}[.)])(?=\s)|```|~~~|\||(?:[-=*_]\s*){3,}$)/

/** Words with each run of white space as one space, also around a line mark. */
export const oneLine = (text: string): string =>
  text
    .replace(/\s+/g, " ")
    .trim()
    .replace(/ (\0L\d{1,10}\0)(?= |$)/g, "$1")
    .replace(/^((?:\0L\d{1,10}\0)+) /, "$1")

/** Words as one line of Markdown that is a paragraph, whatever they begin with. */
const plainLine = (text: string): string => {
  const line = oneLine(text)
  return marksLine.test(unmarked(line)) ? `\\${line}` : line
}

const cellText = (text: string): string => oneLine(text).replaceAll("|", "\\|")

/** The longest run of backticks in a text. */
const longestFence = (text: string): number =>
  (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0)

/** Says within a text on which line of the file it goes on; it stands after a word, before the space. */
export const lineMark = (line: number): string => `\0L${line}\0`

const lineMarks = /\0L(\d{1,10})\0/g

/** Most characters that a table repeats in the rows that a cell spans. */
export const mostRepeated = 500_000

export const unmarked = (text: string): string => text.replaceAll(lineMarks, "")

/** Its lines that have words. */
const wordLines = (text: string, toLine: (line: string) => string): ReadonlyArray<string> =>
  text
    .split("\n")
    .map(toLine)
    .filter((line) => unmarked(line) !== "")

/** Joins blocks to Markdown, with a blank line between them, and records where each comes from. */
export class MarkdownWriter {
  private readonly parts: Array<string> = []
  private length = 0
  private place: Omit<Mark, "start"> = {}
  readonly marks: Array<Mark> = []

  /** Sets the place of what is written next. */
  at(place: { readonly locator?: Locator | undefined; readonly line?: number | undefined }): void {
    this.place = { ...this.place, ...place }
  }

  private mark(): void {
    const last = this.marks.at(-1)
    if (this.place.locator === undefined && this.place.line === undefined) return
    if (last?.locator === this.place.locator && last?.line === this.place.line) return
    this.marks.push({ start: this.length, ...this.place })
  }

  /** Writes a block unchanged but for its line marks, unless it is blank. */
  block(text: string, gap = "\n\n"): void {
    const parts = text.split(lineMarks)
    const plain = unmarked(text)
    if (plain.trim() === "") return
    if (this.length > 0) this.push(gap)
    this.mark()
    const end = this.length + plain.length
    for (const [at, part] of parts.entries()) {
      if (at % 2 === 0) this.push(part)
      else if (this.length < end) {
        this.at({ line: Number(part) })
        this.mark()
      }
    }
  }

  private push(text: string): void {
    this.parts.push(text)
    this.length += text.length
    if (this.length > mostText) throw tooMuchText(mostText)
  }

  heading(level: number, text: string): void {
    const line = oneLine(text)
    if (line !== "") this.block(`${"#".repeat(Math.min(6, Math.max(1, level)))} ${line}`)
  }

  paragraph(text: string): void {
    this.block(wordLines(text, plainLine).join("\n"))
  }

  /** A further paragraph of the item at `depth`. */
  inItem(text: string, depth: number): void {
    const indent = "  ".repeat(Math.min(8, depth) + 1)
    const lines = wordLines(text, oneLine)
    if (lines.length > 0) this.block(indent + lines.join(`\n${indent}`))
  }

  /** Continues the last paragraph, with the current place; `join` joins the ends of two lines. */
  goOn(text: string, join: (text: string, next: string) => string): void {
    const last = this.parts.pop() ?? ""
    const next = oneLine(text)
    const joined = join(last, next)
    this.length -= last.length
    this.push(joined.slice(0, joined.length - next.length))
    this.mark()
    this.push(next)
  }

  item(text: string, depth: number, marker: string, first: boolean): void {
    const lines = wordLines(text, oneLine)
    const indent = "  ".repeat(Math.min(8, depth))
    if (lines.length > 0) this.block(`${indent}${marker} ${lines.join(`\n${indent}  `)}`, first ? "\n\n" : "\n")
  }

  /** `lineOf` says on which line of the file a line of the code is, counted from 0. */
  code(text: string, language = "", lineOf?: (line: number) => number): void {
    const fence = "`".repeat(Math.max(3, longestFence(text) + 1))
    const lines = text.trimEnd().split("\n")
    const first = lines.findIndex((line) => line.trim() !== "")
    if (first < 0) return
    if (lineOf !== undefined) this.at({ line: lineOf(first) })
    const marked = lines.slice(first).map((line, at) => {
      const next = first + at + 1
      return lineOf === undefined || (lines[next] ?? "").trim() === "" ? line : line + lineMark(lineOf(next))
    })
    this.block(`${fence}${language}\n${marked.join("\n")}\n${fence}`)
  }

  /** The first row is the header. `before` can set a place for each row. */
  table(rows: ReadonlyArray<ReadonlyArray<string>>, before: (row: number) => void = () => {}): void {
    const columns = rows.reduce((most, row) => Math.max(most, row.length), 0)
    if (columns === 0) return
    const line = (row: ReadonlyArray<string>) =>
      `| ${Array.from({ length: columns }, (_, i) => cellText(row[i] ?? "")).join(" | ")} |`
    rows.forEach((row, i) => {
      before(i)
      this.block(line(row), i === 0 ? "\n\n" : "\n")
      if (i === 0) this.push(`\n| ${Array.from({ length: columns }, () => "---").join(" | ")} |`)
    })
  }

  get text(): string {
    return this.parts.join("")
  }
}

export interface Row {
  readonly cells: ReadonlyArray<string>
  readonly place: { readonly line?: number; readonly locator?: Locator }
}

/** Most cells of a row; more are a mistake or a matrix. */
const widest = 500

/** Characters of a column name that each row repeats; more would swamp the values. */
const longestLabel = 60

const isNumber = (text: string): boolean => /^[\s\d.,:%€$£+-]*$/.test(text)

const isFilledIn = (cell: string): boolean => cell.trim() !== ""

const isNumeric = (text: string): boolean => isFilledIn(text) && isNumber(text)

const isYear = (text: string): boolean => /^(?:1[89]|20)\d\d$/.test(text.trim())

/** Whether the numbers of the first row are years in equal steps of at most ten, over columns that do not hold years. */
const hasYears = ([first, ...rest]: ReadonlyArray<Row>): boolean => {
  const columns = (first?.cells ?? []).flatMap((cell, at) => (isNumeric(cell) ? [{ cell, at }] : []))
  const steps = columns.slice(1).map(({ cell }, i) => Number(cell) - Number(columns[i]!.cell))
  const inOrder = steps.every((step) => step === steps[0] && step !== 0 && Math.abs(step) <= 10)
  return (
    steps.length > 0 &&
    inOrder &&
    columns.every(({ at, cell }) => {
      const below = rest.map(({ cells }) => cells[at] ?? "").filter(isFilledIn)
      return isYear(cell) && (below.length === 0 || !below.every(isYear))
    })
  )
}

/** The first row, if its cells are distinct and no numbers but years after a text: they name the columns. */
const headerOf = (table: ReadonlyArray<Row>): ReadonlyArray<string> | undefined => {
  const first = table[0]?.cells
  if (first === undefined || table.length < 2) return undefined
  const filled = first.filter(isFilledIn)
  const sound = filled.length >= first.length / 2 && filled.every((cell) => cell.length <= 200)
  if (filled.some(isNumber) && (isNumber(first[0] ?? "") || !hasYears(table))) return undefined
  return sound && new Set(filled).size === filled.length ? first : undefined
}

const filledIn = ({ cells }: Row): number => cells.filter(isFilledIn).length

/** Rows above a table that are no part of it: its title, and what else stands alone in a row. */
const mostTitles = 5

/** How many rows from the first have one cell each, before a row with several. */
const titlesOf = (table: ReadonlyArray<Row>): number => {
  const first = table.findIndex((row) => filledIn(row) > 1)
  return first > 0 && first <= mostTitles && first + 1 < table.length ? first : 0
}

/** The column names of two rows, if the upper one groups the columns below it: merged cells hold their text once. */
const groupedHeaderOf = ([upper, lower, ...rest]: ReadonlyArray<Row>): ReadonlyArray<string> | undefined => {
  if (upper === undefined || lower === undefined || rest.length === 0 || upper.cells.some(isNumeric)) return undefined
  let group = ""
  const cells = Array.from({ length: Math.max(upper.cells.length, lower.cells.length) }, (_, at) => {
    const [above = "", below = ""] = [upper.cells[at]?.trim(), lower.cells[at]?.trim()]
    if (above !== "") group = above
    return below === "" || below === above ? above : `${group} ${below}`.trim()
  })
  return lower.cells.some(isNumeric) ? undefined : headerOf([{ ...lower, cells }, ...rest])
}

/** Rows from which the titles and the column names of a table are told. */
const beginning = 200

/** Writes a table of records, each row with its column names, so that a passage explains its values. */
export class RowWriter {
  private readonly first: Array<Row> = []
  private write: ((row: Row) => void) | undefined
  constructor(private readonly writer: MarkdownWriter) {}

  add(row: Row): void {
    if (this.write !== undefined) return this.write(row)
    this.first.push(row)
    if (this.first.length === beginning) this.end()
  }

  /** Writes what waits; call it after the last row. */
  end(): void {
    if (this.write !== undefined) return
    const { writer } = this
    const titles = titlesOf(this.first)
    for (const { cells, place } of this.first.slice(0, titles)) {
      writer.at(place)
      writer.paragraph(cells.join(" "))
    }
    const table = this.first.slice(titles)
    const second = table[1]?.cells.filter(isFilledIn) ?? []
    const repeats = new Set(second).size < second.length && filledIn(table[0]!) < second.length
    const grouped = repeats || headerOf(table) === undefined ? groupedHeaderOf(table) : undefined
    const header = grouped ?? headerOf(table)
    const label = (at: number) => oneLine(unmarked(header?.[at] ?? "")).slice(0, longestLabel)
    let isFirst = true
    this.write = ({ cells, place }) => {
      const said = cells.slice(0, widest).flatMap((cell, at) => {
        const value = oneLine(cell)
        if (value === "") return []
        return [label(at) === "" ? value : `${label(at)}: ${value}`]
      })
      writer.at(place)
      writer.item(said.join("; "), 0, "-", isFirst)
      isFirst = false
    }
    for (const row of table.slice(header === undefined ? 0 : grouped === undefined ? 1 : 2)) this.write(row)
  }
}
