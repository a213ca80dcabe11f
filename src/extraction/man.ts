import type { Extracted } from "./Extracted.ts"
import { pairs } from "./raised.ts"
import { lineMark, MarkdownWriter } from "./MarkdownWriter.ts"

/** Roff's named characters but for accented letters and Greek, which are derived. */
const characters = new Map(
  pairs(
    "aq ' dq \" lq “ rq ” oq ‘ cq ’ Bq „ bq ‚ Fo « Fc » fo ‹ fc › em — en – hy - bu • co © rg ® tm ™ ga ` aa ´ ha ^ " +
      "ti ~ rs \\ sl / ba | br │ bv │ or | ul _ la ⟨ ra ⟩ lB [ rB ] lC { rC } sh # at @ Do $ ct ¢ Po £ Ye ¥ eu € Eu € " +
      "Cs ¤ r! ¡ r? ¿ sc § ps ¶ dg † dd ‡ ci ○ sq □ lz ◊ OK ✓ mu × tmu × di ÷ tdi ÷ pl + mi − ** ∗ md ⋅ pc · eq = <= ≤ " +
      ">= ≥ != ≠ == ≡ ~~ ≈ ~= ≈ ap ∼ +- ± -+ ∓ if ∞ sr √ is ∫ sum ∑ product ∏ pd ∂ gr ∇ pt ∝ mo ∈ nm ∉ es ∅ ca ∩ " +
      "cu ∪ sb ⊂ sp ⊃ ib ⊆ ip ⊇ AN ∧ OR ∨ no ¬ tno ¬ fa ∀ te ∃ tf ∴ -> → <- ← <> ↔ ua ↑ da ↓ va ↕ lA ⇐ rA ⇒ hA ⇔ uA ⇑ " +
      "dA ⇓ 12 ½ 14 ¼ 34 ¾ S1 ¹ S2 ² S3 ³ de ° fm ′ sd ″ %0 ‰ mc µ Of ª Om º ss ß AE Æ ae æ OE Œ oe œ IJ ĳ ij ĳ /L Ł " +
      "/l ł /O Ø /o ø -D Ð Sd ð ff ff fi fi fl fl Fi ffi Fl ffl TP Þ Tp þ .i ı ts ς"
  )
)

/** Accents as combining characters: by their sign before a letter, and by the names that follow one in brackets. */
const accents = new Map(
  pairs(
    "` \u0300 ga \u0300 ' \u0301 aa \u0301 aq \u0301 ^ \u0302 a^ \u0302 ha \u0302 ~ \u0303 a~ \u0303 ti \u0303 - \u0304 " +
      'a- \u0304 ab \u0306 . \u0307 a. \u0307 : \u0308 ad \u0308 o \u030a ao \u030a a" \u030b v \u030c ah \u030c ' +
      ", \u0327 ac \u0327 ho \u0328"
  )
)

/** The letters that stand for Greek ones, in the order of Unicode, which has a gap. */
const greek = "ABGDEZYHIKLMNCOPR STUFXQW"

/** A named character; nothing for an unknown one. */
const glyph = (name: string): string => {
  const known = characters.get(name)
  if (known !== undefined) return known
  if (/^u(?:10[0-9A-F]{4}|[0-9A-F]{4,5})(?:_[0-9A-F]{4,5}){0,4}$/.test(name)) {
    const codes = name.slice(1).split("_")
    return String.fromCodePoint(...codes.map((code) => Number.parseInt(code, 16))).normalize("NFC")
  }
  const isPair = name.length === 2
  if (isPair && name.startsWith("*")) {
    const at = greek.indexOf(name[1]!.toUpperCase())
    return at < 0 ? "" : String.fromCodePoint((/[A-Z]/.test(name[1]!) ? 0x391 : 0x3b1) + at)
  }
  const [letter = "", ...names] = isPair ? [name[1]!, name[0]!] : name.split(" ")
  const marks = names.map((each) => accents.get(each))
  if (letter.length !== 1 || marks.length === 0 || marks.includes(undefined)) return ""
  const composed = (letter + marks.join("")).normalize("NFC")
  // Two characters stand for one, or for nothing that is known.
  return isPair && composed.length > 1 ? "" : composed
}

const strings = new Map(pairs("lq “ rq ” R ® Tm ™ Aq ' C+ C++ `` “ '' ” L\" “ R\" ” -- — PI π"))

/** Characters by the one after the backslash. */
const single: Readonly<Record<string, string>> = {
  "-": "-",
  e: "\\",
  "\\": "\\",
  "'": "´",
  "`": "`",
  ".": ".",
  " ": " ",
  "~": " ",
  "0": " ",
  t: "\t"
}

/** A name after an escape: one character, two after `(`, any number in brackets. */
const nameAt = (line: string, at: number): readonly [name: string, next: number] => {
  if (line[at] === "(") return [line.slice(at + 1, at + 3), at + 3]
  if (line[at] !== "[") return [line.slice(at, at + 1), at + 1]
  const end = line.indexOf("]", at)
  return end < 0 ? ["", line.length] : [line.slice(at + 1, end), end + 1]
}

/** A string with an argument in quotes, as pandoc writes highlighted code. */
const withArgument = /\[[^\s\]"]{1,60} {1,9}"((?:[^"\\]|\\.){0,5000})" {0,9}\]/y

/** A line's words, without escapes for fonts, sizes and movements, and with named characters replaced. */
const plain = (line: string): string => {
  let text = ""
  for (let at = 0; at < line.length;) {
    const char = line[at]!
    if (char !== "\\") {
      text += char
      at++
      continue
    }
    const kind = line[at + 1] ?? ""
    if (kind === '"' || kind === "#") break
    if (kind === "(" || kind === "[") {
      const [name, next] = nameAt(line, at + 1)
      text += glyph(name)
      at = next
    } else if (kind === "*") {
      withArgument.lastIndex = at + 2
      const argument = withArgument.exec(line)
      if (argument !== null) {
        at = withArgument.lastIndex
        text += plain(argument[1]!)
        continue
      }
      const [name, next] = nameAt(line, at + 2)
      text += strings.get(name) ?? ""
      at = next
    } else if (/[fmMnFgkYV]/.test(kind)) {
      at = nameAt(line, at + 2)[1]
    } else if (kind === "s") {
      const found = /^(?:\[[+-]?\d{1,3}\]|[+-]?\(?\d{1,2}|'[^']{0,8}')/.exec(line.slice(at + 2, at + 14))
      at += 2 + (found?.[0].length ?? 0)
    } else if (/[hvwlLDboxNSHXZRA]/.test(kind) && /['"\u0007]/.test(line[at + 2] ?? "")) {
      const end = line.indexOf(line[at + 2]!, at + 3)
      at = end < 0 ? line.length : end + 1
    } else {
      text += single[kind] ?? (/[&|^%/,):{}cdruapz]/.test(kind) ? "" : kind)
      at += 2
    }
  }
  return text
}

/** A macro's arguments; quotes group words, and doubled quotes stand for themselves. */
const argumentsOf = (line: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  let at = 0
  while (at < line.length) {
    while (line[at] === " " || line[at] === "\t") at++
    if (at >= line.length || line.startsWith('\\"', at)) break
    let word = ""
    if (line[at] === '"') {
      for (at++; at < line.length; at++) {
        if (line[at] !== '"') word += line[at]
        else if (line[at + 1] === '"') word += line[at++]
        else break
      }
      at++
    } else {
      for (; at < line.length && line[at] !== " " && line[at] !== "\t"; at++) {
        // An escaped space belongs to the word.
        if (line[at] === "\\" && at + 1 < line.length) word += line[at++]
        word += line[at]
      }
    }
    found.push(word)
  }
  return found
}

/** Macros that stand around the rest of their line. */
const around = new Map(pairs('Op [] Bq [] Pq () Aq <> Brq {} Dq “” Qq "" Sq ‘’ Ql ‘’'))

const opening = new Map(pairs('Oo [ Bo [ Po ( Ao < Do “ Qo " So ‘'))
const closing = new Map(pairs('Oc ] Bc ] Pc ) Ac > Dc ” Qc " Sc ’'))

const systems = new Map([
  ...pairs("Bx BSD Fx FreeBSD Nx NetBSD Ox OpenBSD Dx DragonFly Ux UNIX"),
  ["At", "AT&T UNIX"] as const
])

/** Macros of mdoc that form part of a sentence. */
const inline = new Set([
  ..."Fl Nm Xr Ns Fn Fo Fc Ar Cm Pa Ev Dv Va Vt Fa Ft Em Sy Li Ic Er Lk Mt An Sx No Tn Ad Cd Ms Pf Ty Nd Lb In".split(
    " "
  ),
  ..."Rv St Ap Tg".split(" "),
  ...[around, opening, closing, systems].flatMap((macros) => [...macros.keys()])
])

const punctuation = /^[.,:;)\]?!]$/

/** A line of mdoc's macros as words; `name` is the value of `.Nm`. */
const spoken = (words: ReadonlyArray<string>, name: string): string => {
  let text = ""
  let glue = true
  const pending: Array<string> = []
  const add = (word: string) => {
    text += glue || punctuation.test(word) ? word : ` ${word}`
    glue = /^[([]$/.test(word)
  }
  let flag = false
  let from = 0
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    const next = words[at + 1]
    if (!inline.has(word) || (at > 0 && word.length > 3)) {
      const shown = plain(word)
      add(flag && word !== "|" && !punctuation.test(word) ? `-${shown}` : shown)
      continue
    }
    if (flag && at - from === 1) add("-")
    flag = word === "Fl"
    from = at
    const pair = around.get(word)
    if (pair !== undefined) {
      add(pair[0]!)
      glue = true
      pending.push(pair[1]!)
    } else if (opening.has(word)) {
      add(opening.get(word)!)
      glue = true
    } else if (closing.has(word)) {
      glue = true
      add(closing.get(word)!)
    } else if (word === "Ns") glue = true
    else if (word === "Nm" && (next === undefined || inline.has(next) || punctuation.test(next))) add(name)
    else if (word === "Xr" && next !== undefined) {
      const section = words[at + 2]
      const has = section !== undefined && /^\d\w{0,3}$/.test(section)
      add(plain(next) + (has ? `(${section})` : ""))
      at += has ? 2 : 1
    } else if ((word === "Fn" || word === "Fo") && next !== undefined) {
      add(
        `${plain(next)}(${words
          .slice(at + 2)
          .filter((each) => !punctuation.test(each))
          .map(plain)
          .join(", ")})`
      )
      break
    } else if (systems.has(word)) add(systems.get(word)!)
  }
  if (flag && from === words.length - 1) add("-")
  return text + pending.reverse().join("")
}

const alternating = new Set(["BR", "RB", "BI", "IB", "RI", "IR"])
const paragraphs = new Set(["PP", "P", "LP", "Pp", "HP", "RS", "RE", "sp", "br", "QP", "XP", "AE", "KS", "KE"])
const literal = new Set(["nf", "EX", "Bd", "DS", "Vb", "LD", "ID"])
const filled = new Set(["fi", "EE", "Ed", "DE", "Ve"])
const headings = new Map(pairs("SH 2 Sh 2 NH 2 SS 3 Ss 3 TL 1").map(([name, level]) => [name, Number(level)]))

/** Manual pages and other roff, with the macros `man`, `mdoc` and, where they are alike, `ms`. */
export const man = (source: string): Extracted => new Manual().read(source)

class Manual {
  private readonly writer = new MarkdownWriter()
  private readonly metadata: Record<string, unknown> = {}
  private title: string | undefined
  /** A page of man or mdoc, not a document of ms. */
  private isPage = false
  private name = ""
  private words = ""
  private code: Array<{ readonly text: string; readonly line: number }> | undefined
  /** What the next line of words is: an item's term, or a heading. */
  private awaited: "term" | number | undefined
  private term: string | undefined
  /** A bullet or a number, if an item begins with nothing else. */
  private marker: string | undefined
  /** The depth of nested lists: what RS indents below an item. */
  private depth = 0
  /** Lists of mdoc that are open. */
  private lists = 0
  /** Whether paragraphs belong to an item. */
  private inItem = false
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
      this.code.push({ text: plain(line), line: number })
      return
    }
    const words = plain(line).trim()
    if (words === "") return line.trim() === "" ? this.flush() : undefined
    if (this.awaited === "term") {
      this.term = words
      this.start = number
      this.awaited = undefined
      return
    }
    if (this.awaited !== undefined) {
      const level = this.awaited
      this.awaited = undefined
      return this.heading(level, words, number)
    }
    const isFirst = this.words === "" && this.term === undefined && this.marker === undefined
    if (isFirst) this.start = number
    this.words += isFirst ? words : `${lineMark(number)} ${words}`
  }

  private heading(level: number, words: string, number: number): void {
    this.flush()
    this.writer.at({ line: number })
    if (level === 1) this.title ??= words.trim()
    this.writer.heading(level, words)
    this.first = true
    this.depth = this.lists = 0
    this.inItem = false
  }

  private flush(): void {
    const text = this.words
    this.words = ""
    this.writer.at({ line: this.start })
    const { marker, term } = this
    this.term = this.marker = undefined
    if (term !== undefined) {
      this.writer.item(text === "" ? term : `${term}\n${text}`, this.depth, "-", this.first)
      this.first = false
      this.inItem = true
    } else if (marker !== undefined && text !== "") {
      this.writer.item(text, this.depth, marker, this.first)
      this.first = false
      this.inItem = true
    } else if (text !== "") {
      if (this.inItem) this.writer.inItem(text, this.depth)
      else this.writer.paragraph(text)
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
      this.isPage = true
      const [page = "", section = ""] = argumentsOf(rest).map(plain)
      if (page !== "") this.title = section === "" ? page : `${page.toLowerCase()}(${section})`
      if (section !== "") this.metadata["section"] = section
    } else if (headings.has(name)) {
      // Those of ms have a level, and their words on the next line.
      const depth = !this.isPage && /^[SN]H$/.test(name) ? /^\d{1,2}$/.exec(rest)?.[0] : undefined
      const level = depth === undefined ? headings.get(name)! : 1 + Math.max(1, Number(depth))
      const words =
        name === "NH" || depth !== undefined
          ? ""
          : name === "Sh" || name === "Ss"
            ? spoken(argumentsOf(rest), this.name)
            : argumentsOf(rest).map(plain).join(" ")
      this.flush()
      if (words === "") this.awaited = level
      else this.heading(level, words, number)
    } else if (literal.has(name)) {
      this.flush()
      if (name !== "Bd" || /-(?:literal|unfilled)/.test(rest)) this.code = []
    } else if (filled.has(name)) {
      if (this.code !== undefined) {
        const lines = this.code
        this.writer.code(lines.map(({ text }) => text).join("\n"), "", (at) => lines[at]!.line)
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
      if (!this.first || this.inItem) this.depth = Math.min(8, this.depth + 1)
    } else if (name === "RE") {
      this.flush()
      this.depth = Math.max(0, this.depth - 1)
    } else if (name === "Bl") {
      this.flush()
      if (this.lists++ > 0 && this.inItem) this.depth = Math.min(8, this.depth + 1)
    } else if (name === "El") {
      this.flush()
      this.lists = Math.max(0, this.lists - 1)
      this.depth = Math.max(0, this.depth - 1)
      if (this.lists === 0) this.inItem = false
    } else if (paragraphs.has(name)) {
      this.flush()
      if (/^(?:PP|P|LP)$/.test(name) && this.depth === 0) this.inItem = false
    } else if (name === "Nm" && rest !== "" && this.name === "") {
      this.name = plain(argumentsOf(rest)[0] ?? "")
      this.text(this.name, number)
    } else if (inline.has(name)) this.text(spoken([name, ...argumentsOf(rest)], this.name), number)
    else if (alternating.has(name)) this.text(argumentsOf(rest).join(""), number)
    else if (name === "pdfhref" && /^[LW] /.test(rest)) {
      // A link: options with their values, then its words.
      const [, ...words] = argumentsOf(rest)
      while (/^-[A-Z]$/.test(words[0] ?? "")) words.splice(0, 2)
      this.text(words.filter((word) => word !== "--").join(" "), number)
    } else if (/^(?:B|I|SM|SB|R|CW|UR|MT|SY|OP|BX|UL|AU|AI)$/.test(name)) this.text(argumentsOf(rest).join(" "), number)
    return at
  }

  private table(lines: ReadonlyArray<string>, at: number): number {
    this.flush()
    const end = skip(lines, at, /^[.']\s*TE\b/)
    const inner = lines.slice(at + 1, end)
    const tab = /tab\s*\((.)\)/.exec(inner[0] ?? "")?.[1] ?? "\t"
    const body = inner.findIndex((line) => line.trimEnd().endsWith("."))
    const rows = withBlocks(inner.slice(body + 1), tab, at + body + 3).filter(
      ({ text }) => !/^(?:[.'_=]|T[{}])/.test(text) && text.trim() !== ""
    )
    this.writer.table(
      rows.map(({ text }) => text.split(tab).map((cell) => plain(cell))),
      (row) => this.writer.at({ line: rows[row]!.line })
    )
    return end
  }
}

/** Rows on one line each, even if a cell is a block of text from `T{` at a line's end to `T}` at a line's start. */
const withBlocks = (
  lines: ReadonlyArray<string>,
  tab: string,
  first: number
): ReadonlyArray<{ readonly text: string; readonly line: number }> => {
  const rows: Array<{ text: string; line: number }> = []
  let block: Array<string> | undefined
  let row = ""
  let start = first
  for (const [at, line] of lines.entries()) {
    const closed = block !== undefined && line.startsWith("T}")
    if (block !== undefined && !closed) {
      if (!/^[.']/.test(line)) block.push(`${lineMark(first + at)} ${line.replaceAll(tab, " ")}`)
      continue
    }
    if (row === "" && !closed) start = first + at
    row += closed ? block!.join("") + lineMark(first + at) + line.slice(2) : line
    block = undefined
    if (row.endsWith("T{") && (row.length === 2 || row.at(-3) === tab)) {
      row = row.slice(0, -2)
      block = []
      continue
    }
    rows.push({ text: row, line: start })
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
