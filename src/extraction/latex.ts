import type { Extracted } from "./Extracted.ts"
import { lineMark, MarkdownWriter, oneLine } from "./MarkdownWriter.ts"
import {
  accented,
  addresses,
  characterOf,
  formulas,
  levels,
  lists,
  raw,
  readable,
  silentArguments,
  tables,
  unhighlighted,
  unread
} from "./latex/words.ts"

const rules =
  /\\(?:hline|toprule|midrule|bottomrule|endhead|endfirsthead|endfoot|cline\{[^{}]{0,40}\}|cmidrule\{[^{}]{0,40}\})/g

/** The column specification. */
const columns = /^(?:[ \t\n]*\[[^\]]{0,20}\])?(?:[ \t\n]*\{(?:[^{}]|\{[^{}]{0,200}\}){0,500}\}){1,2}/

/** The letter of an accent, which may be `\\i` or `\\j`. A sign such as `\\=` before a blank is none, but a stop of tabbing. */
const letterBeyondBlanks = /^\s{0,20}(?:(\\)(?=[ij](?![A-Za-z])))?([^\\]?)/
const letterAtOnce = /^(?:(\\)(?=[ij](?![A-Za-z])))?([^\\\s]?)/

const mostRows = 10_000

/** The rows of a table's body, unchanged. */
const tableRows = (body: string): ReadonlyArray<string> =>
  body
    .replace(columns, "")
    .replace(rules, "")
    .split(/\\\\(?:\[[^\]]{0,20}\])?/)

const breaksIn = (text: string): number => text.split("\n").length - 1

/** Longest argument of a command, and longest environment that is read as a whole, in characters. */
const longest = { argument: 20_000, environment: 1_000_000 }

/** Deepest nesting of arguments that is read. */
const deepest = 12

/** After this many groups or environments without an end, no more ends are searched for. */
const mostLost = 20

/** LaTeX as text: headings, lists, tables, code, and formulas as written; its own macros are not expanded. */
export const latex = (source: string): Extracted => {
  const begin = source.indexOf("\\begin{document}")
  const writer = new MarkdownWriter()
  const preamble = new Scanner(source.slice(0, Math.max(0, begin)), new MarkdownWriter(), 1, 0)
  preamble.run()
  const end = source.indexOf("\\end{document}", begin)
  const from = begin < 0 ? 0 : begin + 16
  const line = source.slice(0, from).split("\n").length
  const scanner = new Scanner(source.slice(from, end < 0 ? undefined : end), writer, line, 0)
  scanner.run()
  const said = { ...preamble.said, ...scanner.said }
  return {
    text: writer.text,
    title: said.title,
    metadata: said.author === undefined ? {} : { author: said.author },
    marks: writer.marks
  }
}

class Scanner {
  readonly said: { title?: string; author?: string } = {}
  private at = 0
  private text = ""
  private start: number
  private line: number
  private readonly open: Array<{ readonly isNumbered: boolean; count: number }> = []
  private item: { readonly marker: string; readonly isFirst: boolean } | undefined
  private notes: Array<string> = []
  private lost = 0
  constructor(
    private readonly source: string,
    private readonly writer: MarkdownWriter,
    line: number,
    private readonly depth: number
  ) {
    this.line = this.start = line
  }

  run(): void {
    const { source } = this
    while (this.at < source.length) {
      const char = source[this.at]!
      if (char === "\\") this.command()
      else if (char === "%") this.comment()
      else if (char === "\n") this.newline()
      else if (char === "$") this.formula()
      else {
        this.at++
        // Arguments of a macro that is not expanded are words apart.
        if (/^\}\{[^}]/.test(source.slice(this.at - 1, this.at + 2))) this.say(" ")
        if (char === "{" || char === "}") continue
        this.say(char === "~" ? " " : char)
      }
    }
    this.flush()
  }

  private say(words: string): void {
    if (this.text === "") {
      if (words.trim() === "") return
      this.start = this.line
    }
    this.text += words
  }

  private comment(): void {
    const end = this.source.indexOf("\n", this.at)
    this.at = end < 0 ? this.source.length : end
    // The line end belongs to the comment, unless a paragraph ends there.
    if (end >= 0 && !/^\n[ \t]*\n/.test(this.source.slice(end, end + 200))) this.skip(end + 1)
  }

  private newline(): void {
    const blank = /^\n[ \t]*(?=\n)/.exec(this.source.slice(this.at, this.at + 200))
    this.skip(this.at + (blank?.[0].length ?? 1))
    if (blank === null) this.text += this.text === "" ? "" : `${lineMark(this.line)} `
    else this.flush()
  }

  /** Moves to a later place, counting lines. */
  private skip(to: number): void {
    for (let at = this.source.indexOf("\n", this.at); at >= 0 && at < to; at = this.source.indexOf("\n", at + 1))
      this.line++
    this.at = to
  }

  /** Words from here on, with the lines on which they go on. */
  private marked(words: string): string {
    let { line } = this
    return words.replace(/\s+/g, (run) => {
      const breaks = breaksIn(run)
      line += breaks
      return breaks === 0 ? " " : `${lineMark(line)} `
    })
  }

  private flush(): void {
    const words = readable(this.text)
    this.text = ""
    const { item } = this
    if (words.trim() !== "") {
      this.writer.at({ line: this.start })
      if (item === undefined) this.writer.paragraph(words)
      else this.writer.item(words, Math.max(0, this.open.length - 1), item.marker, item.isFirst)
    }
    this.item = undefined
    const notes = this.notes
    this.notes = []
    for (const note of notes) this.writer.paragraph(note)
  }

  private formula(): void {
    const sign = this.source.startsWith("$$", this.at) ? "$$" : "$"
    const end = this.lost > mostLost ? -1 : this.source.indexOf(sign, this.at + sign.length)
    if (end < 0 || end - this.at > longest.argument) {
      this.lost++
      this.at += sign.length
      return
    }
    this.say(this.marked(this.source.slice(this.at, end + sign.length)))
    this.skip(end + sign.length)
  }

  /** The content of the braces here; undefined without any. */
  private argument(open = "{", close = "}"): string | undefined {
    const { source } = this
    let at = this.at
    while (source[at] === " " || (source[at] === "\n" && source[at + 1] !== "\n")) at++
    if (source[at] !== open || this.lost > mostLost) return undefined
    let depth = 0
    for (let end = at; end < source.length && end - at < longest.argument; end++) {
      if (source[end] === "\\") end++
      else if (source[end] === "{" || source[end] === open) depth++
      else if ((source[end] === "}" || source[end] === close) && --depth === 0) {
        this.skip(end + 1)
        return source.slice(at + 1, end)
      }
    }
    this.lost++
    return undefined
  }

  private inner(text: string): string {
    if (this.depth >= deepest) return text
    const writer = new MarkdownWriter()
    new Scanner(text, writer, this.line, this.depth + 1).run()
    return writer.text.replace(/\s+/g, " ")
  }

  private command(): void {
    const found = /^\\(?:([a-zA-Z@]{1,60})(\*?)|([^]))/.exec(this.source.slice(this.at, this.at + 64))
    if (found === null) return void this.at++
    const [whole, word, , sign] = found
    if (sign !== undefined) return this.sign(sign)
    this.at += whole.length
    const name = word!
    if (name === "begin" || name === "end") return this.environment(name, this.argument() ?? "")
    if (name === "verb" || name === "lstinline") return this.verbatim()
    if (Object.hasOwn(levels, name)) {
      this.argument("[", "]")
      const title = this.argument() ?? ""
      this.flush()
      this.writer.at({ line: this.line })
      return this.writer.heading(levels[name]!, readable(this.inner(title)))
    }
    if (name === "title" || name === "author") {
      const people = (this.argument() ?? "").split(/\\and(?![a-zA-Z])/)
      const value = people.map((each) => readable(this.inner(each)).trim()).join(", ")
      if (value !== "") this.said[name] = value
      return
    }
    if (addresses.has(name)) {
      // What would begin a comment, a space or a macro elsewhere is part of it.
      const address = this.argument()
      if (address !== undefined) this.say(address.replace(/\s+|\\(?=[^a-zA-Z])/g, ""))
      return
    }
    if (name === "item") return this.begin()
    if (name === "footnote" || name === "caption") {
      this.argument("[", "]")
      return void this.notes.push(readable(this.inner(this.argument() ?? "")))
    }
    if (name === "texorpdfstring") {
      // The second is the same for a list of bookmarks.
      const shown = this.argument() ?? ""
      this.argument()
      return this.say(this.inner(shown).trim())
    }
    const silent = silentArguments(name)
    if (silent !== undefined) {
      for (let i = 0; i < 2; i++) this.argument("[", "]")
      for (let i = 0; i < silent; i++) {
        this.argument()
        this.argument("[", "]")
      }
      return
    }
    if (name === "def" || name === "let") return this.definition()
    if (name === "par") return this.flush()
    const character = characterOf(name)
    if (character !== undefined) {
      this.say(character)
      if (this.source.startsWith("{}", this.at)) this.at += 2
      else if (this.source[this.at] === " ") this.at++
      return
    }
    if (name.length === 1 && accented(name, "a") !== undefined) return this.accent(name)
    // The text of an unknown command is in its braces.
    if (this.source[this.at] === "[") this.argument("[", "]")
    if (this.source[this.at] === " ") this.at++
  }

  /** A macro definition, from its name to its replacement. */
  private definition(): void {
    const given = this.source.slice(this.at, this.at + 300)
    const name = /^ {0,9}\\[a-zA-Z@]{1,60}/.exec(given)?.[0]
    if (name === undefined) return
    const rest = given.slice(name.length)
    const stands = /^ {0,9}=? {0,9}\\[a-zA-Z@]{1,60}/.exec(rest) ?? /^[^{}\\\n]{0,80}(?=\{)/.exec(rest)
    this.skip(this.at + name.length + (stands?.[0].length ?? 0))
    if (this.source[this.at] === "{") this.argument()
  }

  private sign(sign: string): void {
    this.at += 2
    if (sign === "(" || sign === "[") {
      const close = sign === "(" ? "\\)" : "\\]"
      const end = this.lost > mostLost ? -1 : this.source.indexOf(close, this.at)
      if (end < 0) return void this.lost++
      this.say(` $${oneLine(this.marked(this.source.slice(this.at, end)))}$ `)
      this.skip(end + 2)
    } else if (sign === "\\") {
      this.argument("[", "]")
      this.say("\n")
    } else if (sign === "\n") this.newline()
    else if (accented(sign, "a") !== undefined) this.accent(sign)
    else if (!/[-/@!]/.test(sign)) this.say(/[,;: ]/.test(sign) ? " " : sign)
  }

  private accent(sign: string): void {
    let bare = this.argument()?.replace(/^\\/, "")
    if (bare === undefined) {
      const found = (/[a-z]/i.test(sign) ? letterBeyondBlanks : letterAtOnce).exec(
        this.source.slice(this.at, this.at + 24)
      )!
      this.skip(this.at + found[0].length)
      bare = found[2]!
      // A blank ends the name of a letter.
      if (found[1] !== undefined && this.source[this.at] === " ") this.at++
    }
    // Without a letter, the sign itself is meant.
    this.say(bare === "" ? (/[~^]/.test(sign) ? sign : "") : (accented(sign, bare) ?? bare))
  }

  private verbatim(): void {
    const mark = this.source[this.at] ?? ""
    const end = this.source.indexOf(mark, this.at + 1)
    if (end < 0 || end - this.at > 500) return
    this.say(`\`${this.source.slice(this.at + 1, end)}\``)
    this.skip(end + 1)
  }

  private begin(): void {
    this.flush()
    const list = this.open.at(-1)
    const label = this.argument("[", "]")
    const count = list === undefined ? 1 : ++list.count
    this.item = { marker: list?.isNumbered === true ? `${count}.` : "-", isFirst: count === 1 && this.open.length <= 1 }
    if (label !== undefined) this.say(`${this.inner(label)}: `)
  }

  private environment(kind: "begin" | "end", name: string): void {
    this.flush()
    if (lists.has(name)) {
      if (kind === "end") this.open.pop()
      else if (this.open.length < 100) this.open.push({ isNumbered: /enum/.test(name), count: 0 })
      return
    }
    if (kind === "end") return
    if (name === "abstract") {
      this.writer.at({ line: this.line })
      return this.writer.heading(2, "Abstract")
    }
    const isWhole = raw.has(name) || unread.has(name) || formulas.has(name) || tables.has(name)
    if (!isWhole) return void this.argument("[", "]")
    const end = this.lost > mostLost ? -1 : this.source.indexOf(`\\end{${name}}`, this.at)
    if (end < 0 || end - this.at > longest.environment) return void this.lost++
    const body = this.source.slice(this.at, end)
    this.skip(end + name.length + 6)
    const read = (code: string) => (name === "Highlighting" ? unhighlighted(code) : code)
    const write = (code: string, language?: string) => {
      const first = this.line - breaksIn(code)
      this.writer.code(code, language, (line) => first + line)
    }
    if (raw.has(name)) write(read(body).replace(/^(?:[ \t]*[[{][^\]}\n]{0,500}[\]}])*[ \t]*\n/, ""))
    else if (formulas.has(name)) write(body.replaceAll(/\\label\{[^{}]{0,200}\}/g, ""), "latex")
    else if (tables.has(name)) this.table(body)
  }

  private table(body: string): void {
    const rows = tableRows(body)
    let line = this.line - breaksIn(rows.join(""))
    const read = rows.slice(0, mostRows).flatMap((row) => {
      const start = line + breaksIn(row.slice(0, row.search(/\S|$/)))
      line += breaksIn(row)
      const cells = row.split(/(?<!\\)&/).map((cell) => readable(this.inner(cell)).trim())
      return cells.some((cell) => cell !== "") ? [{ cells, line: start }] : []
    })
    this.writer.table(
      read.map(({ cells }) => cells),
      (row) => this.writer.at({ line: read[row]!.line })
    )
  }
}
