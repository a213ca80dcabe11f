import type { Locator, Mark } from "../../../model/Locator.ts"

/** These would be read as markup at the start of a line. */
const marksLine = /^(?:#{1,6}(?=\s|$)|>|(?:[-+*]|\d{1,9}[.)])(?=\s)|```|~~~|\||(?:[-=*_]\s*){3,}$)/

/** Words as one line of Markdown that is a paragraph, whatever they begin with. */
export const plainLine = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim()
  return marksLine.test(line) ? `\\${line}` : line
}

const cellText = (text: string): string => text.replace(/\s+/g, " ").trim().replaceAll("|", "\\|")

/** Without blank lines at the start and white space at the end; the first line keeps its indentation. */
const withoutBlankLines = (text: string): string => {
  let start = 0
  for (let at = 0; at < text.length && /\s/.test(text.charAt(at)); at++) if (text[at] === "\n") start = at + 1
  return text.slice(start).trimEnd()
}

/** The longest run of backticks in a text. */
const longestFence = (text: string): number =>
  (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0)

/** Says within a text on which line of the file it goes on; it stands after a word, before the space. */
export const lineMark = (line: number): string => `\0L${line}\0`

const lineMarks = /\0L(\d{1,10})\0/g

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
    const plain = parts.filter((_, at) => at % 2 === 0).join("")
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
  }

  heading(level: number, text: string): void {
    const line = text.replace(/\s+/g, " ").trim()
    if (line !== "") this.block(`${"#".repeat(Math.min(6, Math.max(1, level)))} ${line}`)
  }

  paragraph(text: string): void {
    this.block(
      text
        .split("\n")
        .map(plainLine)
        .filter((line) => line !== "")
        .join("\n")
    )
  }

  /** Continues the last paragraph, with the current place; `join` joins the ends of two lines. */
  goOn(text: string, join: (text: string, next: string) => string): void {
    const last = this.parts.pop() ?? ""
    const next = text.replace(/\s+/g, " ").trim()
    const joined = join(last, next)
    this.length -= last.length
    this.push(joined.slice(0, joined.length - next.length))
    this.mark()
    this.push(next)
  }

  item(text: string, depth: number, marker: string, first: boolean): void {
    const lines = text
      .split("\n")
      .map((line) => line.replace(/\s+/g, " ").trim())
      .filter((line) => line !== "")
    const indent = "  ".repeat(Math.min(8, depth))
    if (lines.length > 0) this.block(`${indent}${marker} ${lines.join(`\n${indent}  `)}`, first ? "\n\n" : "\n")
  }

  code(text: string, language = ""): void {
    const fence = "`".repeat(Math.max(3, longestFence(text) + 1))
    const body = withoutBlankLines(text)
    if (body !== "") this.block(`${fence}${language}\n${body}\n${fence}`)
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
