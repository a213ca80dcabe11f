import type { Extracted } from "./Extracted.ts"
import { argumentsOf, plain } from "./man/escapes.ts"
import { isInline, spoken } from "./man/mdoc.ts"
import { MarkdownWriter } from "./MarkdownWriter.ts"

const alternating = new Set(["BR", "RB", "BI", "IB", "RI", "IR"])
const paragraphs = new Set(["PP", "P", "LP", "Pp", "HP", "RS", "RE", "sp", "br", "QP", "XP", "AE", "KS", "KE"])
const literal = new Set(["nf", "EX", "Bd", "DS", "Vb", "LD", "ID"])
const filled = new Set(["fi", "EE", "Ed", "DE", "Ve"])
const headings: Readonly<Record<string, number>> = { SH: 2, Sh: 2, NH: 2, SS: 3, Ss: 3, TL: 1 }

/** Manual pages and other roff, with the macros `man`, `mdoc` and, where they are alike, `ms`. */
export const man = (source: string): Extracted => new Manual().read(source)

class Manual {
  private readonly writer = new MarkdownWriter()
  private readonly metadata: Record<string, unknown> = {}
  private title: string | undefined
  private name = ""
  private words: Array<string> = []
  private code: Array<string> | undefined
  /** What the next line of words is: an item's term, or a heading. */
  private awaited: "term" | number | undefined
  private term: string | undefined
  /** A bullet or a number, if an item begins with nothing else. */
  private marker: string | undefined
  /** The depth of nested lists: what RS indents below an item. */
  private depth = 0
  private first = true
  private start = 1

  read(source: string): Extracted {
    const lines = source.split(/\r\n|\n|\r/)
    for (let at = 0; at < lines.length; at++) {
      let line = lines[at]!
      // A line that ends in a backslash continues.
      for (let more = 0; line.endsWith("\\") && !line.endsWith("\\\\") && at + 1 < lines.length && more < 100; more++)
        line = line.slice(0, -1) + lines[++at]!
      if (!/^[.']/.test(line)) this.text(line, at + 1)
      else {
        const body = line.slice(1).trimStart()
        const name = /^[^\s\\"]{0,30}/.exec(body)?.[0] ?? ""
        at = this.request(name, body.slice(name.length).trim(), lines, at)
      }
    }
    this.flush()
    return { text: this.writer.text, title: this.title, metadata: this.metadata, marks: this.writer.marks }
  }

  private text(line: string, number: number): void {
    if (this.code !== undefined) {
      if (this.code.length === 0) this.start = number
      this.code.push(plain(line))
      return
    }
    const words = plain(line)
    if (words.trim() === "") return line.trim() === "" ? this.flush() : undefined
    if (this.awaited === "term") {
      this.term = words.trim()
      this.start = number
      this.awaited = undefined
      return
    }
    if (this.awaited !== undefined) {
      const level = this.awaited
      this.awaited = undefined
      return this.heading(level, words, number)
    }
    if (this.words.length === 0 && this.term === undefined && this.marker === undefined) this.start = number
    this.words.push(words)
  }

  private heading(level: number, words: string, number: number): void {
    this.flush()
    this.writer.at({ line: number })
    if (level === 1) this.title ??= words.trim()
    this.writer.heading(level, words)
    this.first = true
    this.depth = 0
  }

  private flush(): void {
    const text = this.words.join(" ")
    this.words = []
    this.writer.at({ line: this.start })
    const { marker, term } = this
    this.term = this.marker = undefined
    if (term !== undefined) {
      this.writer.item(text === "" ? term : `${term}\n${text}`, this.depth, "-", this.first)
      this.first = false
    } else if (marker !== undefined && text !== "") {
      this.writer.item(text, this.depth, marker, this.first)
      this.first = false
    } else if (text !== "") {
      this.writer.paragraph(text)
      this.first = true
    }
  }

  /** Returns the index of the request's last line. */
  private request(name: string, rest: string, lines: ReadonlyArray<string>, at: number): number {
    const number = at + 1
    if (name === "de" || name === "ig" || name === "de1" || name === "am") return skip(lines, at, /^[.']\s*\.\s*$/)
    if (name === "if" || name === "ie" || name === "el") return skipBlock(lines, at)
    if (name === "TS") return this.table(lines, at)
    if (name === "TH" || name === "Dt") {
      const [page = "", section = ""] = argumentsOf(rest).map(plain)
      if (page !== "") this.title = section === "" ? page : `${page.toLowerCase()}(${section})`
      if (section !== "") this.metadata["section"] = section
    } else if (name in headings) {
      const words =
        name === "NH"
          ? ""
          : name === "Sh" || name === "Ss"
            ? spoken(argumentsOf(rest), this.name)
            : argumentsOf(rest).map(plain).join(" ")
      this.flush()
      if (words === "") this.awaited = headings[name]!
      else this.heading(headings[name]!, words, number)
    } else if (literal.has(name)) {
      this.flush()
      if (name !== "Bd" || /-(?:literal|unfilled)/.test(rest)) this.code = []
    } else if (filled.has(name)) {
      if (this.code !== undefined) {
        this.writer.at({ line: this.start })
        this.writer.code(this.code.join("\n"))
        this.code = undefined
      } else this.flush()
    } else if (name === "TP" || name === "TQ") {
      this.flush()
      this.awaited = "term"
    } else if (name === "IP") {
      this.flush()
      const term = (argumentsOf(rest).map(plain)[0] ?? "").trim()
      const count = /^\(?(\d{1,3})[.)]$/.exec(term)?.[1]
      if (count !== undefined) this.marker = `${count}.`
      else if (/^[•·*o–-]$/.test(term)) this.marker = "-"
      else if (term !== "") this.term = term
      this.start = number
    } else if (name === "It") {
      this.flush()
      this.term = spoken(argumentsOf(rest), this.name)
      this.start = number
    } else if (name === "RS") {
      this.flush()
      if (!this.first) this.depth = Math.min(8, this.depth + 1)
    } else if (name === "RE") {
      this.flush()
      this.depth = Math.max(0, this.depth - 1)
    } else if (paragraphs.has(name)) this.flush()
    else if (name === "Nm" && rest !== "" && this.name === "") {
      this.name = plain(argumentsOf(rest)[0] ?? "")
      this.text(this.name, number)
    } else if (isInline(name)) this.text(spoken([name, ...argumentsOf(rest)], this.name), number)
    else if (alternating.has(name)) this.text(argumentsOf(rest).join(""), number)
    else if (/^(?:B|I|SM|SB|R|CW|UR|MT|SY|OP|BX|UL|AU|AI)$/.test(name)) this.text(argumentsOf(rest).join(" "), number)
    return at
  }

  private table(lines: ReadonlyArray<string>, at: number): number {
    this.flush()
    const end = skip(lines, at, /^[.']\s*TE\b/)
    const inner = lines.slice(at + 1, end)
    const tab = /tab\s*\((.)\)/.exec(inner[0] ?? "")?.[1] ?? "\t"
    const body = inner.findIndex((line) => line.trimEnd().endsWith("."))
    const rows = withBlocks(inner.slice(body + 1), tab)
      .filter((line) => !/^(?:[.'_=]|T[{}])/.test(line) && line.trim() !== "")
      .map((line) => line.split(tab).map((cell) => plain(cell)))
    this.writer.at({ line: at + 1 })
    this.writer.table(rows)
    return end
  }
}

/** Rows on one line each, even if a cell is a block of text from `T{` at a line's end to `T}` at a line's start. */
const withBlocks = (lines: ReadonlyArray<string>, tab: string): ReadonlyArray<string> => {
  const rows: Array<string> = []
  let block: Array<string> | undefined
  let row = ""
  for (const line of lines) {
    const closed = block !== undefined && line.startsWith("T}")
    if (block !== undefined && !closed) {
      if (!/^[.']/.test(line)) block.push(line.replaceAll(tab, " "))
      continue
    }
    row += closed ? block!.join(" ") + line.slice(2) : line
    block = undefined
    if (row.endsWith("T{") && (row.length === 2 || row.at(-3) === tab)) {
      row = row.slice(0, -2)
      block = []
      continue
    }
    rows.push(row)
    row = ""
  }
  return rows
}

const skip = (lines: ReadonlyArray<string>, at: number, end: RegExp): number => {
  let last = at + 1
  while (last < lines.length && !end.test(lines[last]!)) last++
  return Math.min(last, lines.length - 1)
}

/** Skips a conditional block, which is for other devices. */
const skipBlock = (lines: ReadonlyArray<string>, at: number): number => {
  let depth = 0
  for (let last = at; last < lines.length; last++) {
    const line = lines[last]!
    depth += line.split("\\{").length - line.split("\\}").length
    if (depth <= 0) return last
  }
  return lines.length - 1
}
