import { eachSentence } from "../chunking/sentences.ts"
import { capitalised } from "./sentences.ts"

/** A sentence, a table's row with its column names, steps, a list with the sentence before it, or a term's explanation. */
export interface Statement {
  readonly kind: "sentence" | "row" | "steps" | "list" | "definition"
  readonly text: string
  /** Its start in the passage. */
  readonly at: number
  /** The heading above it in the passage; empty if there is none. */
  readonly heading: string
  /** Whether it is the first in the passage or under its heading, and so says what that is about. */
  readonly isFirst: boolean
  /** The term in code of its list's item, if it does not say it itself. */
  readonly term?: string | undefined
}

/** Shorter texts that are not sentences are scraps; longer ones are more than a quote. */
const bounds = { min: 20, max: 600 }

/** Points to a sentence before it. */
export const pointsBack =
  /^(?:this|these|those|that|such|it|its|they|them|their|he|she|but|however|otherwise|then|thus|therefore|hence|instead|so|and|or|also|in (?:this|that|which|such) |as a result|for (?:this|that) |note that (?:this|that|these|it|they) )\b/i
/** Ends a sentence that announces code or a list. */
const announces = /[:\uff1a]$/
/** The longest sentence that is quoted with the one before it. */
export const longestPair = 400

interface Line {
  /** Without the marks of a quotation. */
  readonly text: string
  readonly at: number
  /** Whether it begins a block, whatever the line before is. */
  readonly isNew: boolean
  /** Whether it is code that only its indentation marks: reStructuredText's. */
  readonly isLiteral: boolean
}

const heading = /^(?:#{1,6}|={1,6})\s+(\S.*)$/
const fence = /^\s*(?:```|~~~|-{4,}\s*$|\.{4,}\s*$)/
/** The line between a table's column names and its rows. */
const isDelimiter = (line: string): boolean => line.includes("---") && /^[|:\s-]+$/.test(line)
const item = /^\s*(?:[-*+•]|(\d{1,3})[.)]|\.)\s+\S/

/** The term in code that a list's item explains: "- `x`: …". */
const itemTerm = /^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\*\*)?(`[^`]{1,60}`)(?:\*\*)?:/

/** The term of a description list: AsciiDoc's `term::`, with the rest of the line. */
const termOf = (line: string): { readonly term: string; readonly rest: string } | undefined => {
  const text = line.trim()
  for (const mark of ["::", ";;"]) {
    const at = text.endsWith(mark) ? text.length - mark.length : text.indexOf(`${mark} `)
    if (at < 1 || at > 120) continue
    return {
      term: plain(
        text
          .slice(0, at)
          .replace(/^\[\[[^\]]{0,100}\]\]/, "")
          .replace(/:{1,3}$/, "")
      ),
      rest: text.slice(at + mark.length).trim()
    }
  }
  return undefined
}

const plain = (text: string): string => text.replace(/\s+/g, " ").trim()

/** AsciiDoc's cross references, `<<id,text>>`, as their texts. */
const withoutReferences = (text: string): string =>
  text.replace(/<<([^<>]{1,200})>>/g, (whole, inside: string) => {
    const comma = inside.indexOf(",")
    return comma < 0 ? whole : inside.slice(comma + 1).trim()
  })

const cellsOf = (row: string): ReadonlyArray<string> =>
  row
    .trim()
    .replace(/^\|/, "")
    .replace(/\|$/, "")
    .split("|")
    .map((cell) => plain(cell))

/** A row with its column names: `key: server.port; default: 8484`. */
const rowText = (names: ReadonlyArray<string>, row: string): string =>
  cellsOf(row)
    .map((cell, column) => (cell === "" ? "" : (names[column] ?? "") === "" ? cell : `${names[column]}: ${cell}`))
    .filter((cell) => cell !== "")
    .join("; ")

/** Markdown's marks of a quotation, and the kind of an admonition (`> [!NOTE]`). A prompt of Python's is none. */
const quotation = /^ {0,3}>(?: >)*(?: (?:\[![\w-]{1,30}\][-+]?(?: |\r?$))?|\r?$)/

/** A directive of reStructuredText, whose text may begin in its line. */
const directive = /^\s*\.\. ([a-z][\w:.-]{0,40})::(?:\s|$)/
const code = /^(?:code|code-block|sourcecode|parsed-literal|testcode|prompt|ipython)$/
const remark = /^(?:attention|caution|danger|error|hint|important|note|seealso|tip|todo|warning)$/
const directiveOption = /^\s+:[\w-]{1,40}:/
/** Ends a paragraph below which indented code begins, or AsciiDoc's term, below which prose may be indented. */
const literalMark = /\S::\s*$/
const prose = /^\s*(?:\p{Lo}|\p{Lu}(?:\p{Ll}[\p{L}'’-]{0,30})?,? [\p{L}\d`'"*<-])/u

const indentOf = (line: string): number => line.length - line.trimStart().length

const linesOf = (text: string): ReadonlyArray<Line> => {
  const lines: Array<Line> = []
  let at = 0
  let before = ""
  let isCode = false
  /** Deeper lines are code. */
  let literal = Infinity
  let isOption = false
  const written = text.split("\n")
  for (const [n, line] of written.entries()) {
    const isBlank = line.trim() === ""
    if (!isBlank && indentOf(line) <= literal) literal = Infinity
    const name = isCode || literal < Infinity ? undefined : directive.exec(line)
    isOption = name != null || (isOption && directiveOption.test(line))
    if (isOption || literal < Infinity) {
      const isRemark = name != null && remark.test(name[1]!)
      const said = literal < Infinity && !isOption ? line : isRemark ? line.slice(name[0].length) : ""
      lines.push({ text: said, at, isNew: said !== "", isLiteral: literal < Infinity && !isOption })
      if (name != null && code.test(name[1]!)) literal = indentOf(line)
      at += line.length + 1
      before = ""
      continue
    }
    const below = written[n + 2] ?? ""
    const isBefore = indentOf(below) > indentOf(line) && written[n + 1]?.trim() === ""
    if (!isCode && isBefore && literalMark.test(line) && !prose.test(below)) literal = indentOf(line)
    // Code's own marks are prompts, or what an output has.
    const [marks = ""] = isCode ? [] : (quotation.exec(line) ?? [])
    if (marks === "" && fence.test(line) && (isCode || !isTitle(lines.at(-2)?.text, lines.at(-1)?.text, line)))
      isCode = !isCode
    const said = literal < Infinity ? line.replace(/::(\s*)$/, ": $1") : line
    const isNew = (marks !== "" && before === "") || before.includes("[")
    lines.push({ text: said.slice(marks.length), at, isNew, isLiteral: false })
    at += line.length + 1
    before = marks
  }
  return lines
}

/**
 * What tools of AsciiDoc, Markdown and Org read, and no reader sees: anchors, attributes, directives, comments, images,
 * links' targets, the edges of blocks.
 */
const unseen =
  /^(?:\s*<!--(?:[^-]|-(?!->))*-->|\s*!\[[^\]]{0,500}\]\([^()]{0,500}\)(?:\{[^{}]{0,500}\})?|\s*\[(?!\^)[^\]]{1,200}\]:\s*(?:<[^<>]{1,500}>|\S{1,500})(?:\s+["'(].{0,300})?|\s*\{\{[#%<][^{}]{0,500}\}\}|\s*:[a-z][\w:.-]{0,40}:`[^`]{1,200}`|\s*#\+[a-z_]{1,40}:.*|={4,}|\*{4,}|_{4,}|\[\[[^\]]{0,200}\]\]|\[[^\]]{0,200}\]|:[\w-]{1,100}:.*|:{3,}.*|(?:include|ifdef|ifndef|ifeval|endif)::.*)\s*$/
/** The line below a title of the length of that line. */
const underline = /^(?:={4,}|-{4,}|~{4,}|\^{4,}|\+{4,})\s*$/

/** Whether the line below a single line of text makes it a heading. */
export const isTitle = (above = "", line = "", below = ""): boolean => {
  const text = line.trim()
  const isAlone = above.trim() === "" || unseen.test(above)
  return isAlone && /[^:]$/.test(text) && underline.test(below) && Math.abs(below.trim().length - text.length) <= 2
}

/** The items of a list, each on one line unless it has code. */
const itemsOf = (block: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (block.some((text) => fence.test(text))) return [block.join("\n")]
  const items: Array<string> = []
  for (const text of block) {
    if (items.length === 0 || item.test(text)) items.push(text)
    else items.push(`${items.pop()} ${text.trim()}`)
  }
  return items
}

/** A sentence and the list that it announces, as much of it as is still a quote; empty if that is nothing. */
const introducedBy = (sentence: string, items: ReadonlyArray<string>): string => {
  let text = sentence
  for (const one of items) {
    if (text.length + one.length >= bounds.max) break
    text += `\n${one}`
  }
  return text === sentence ? "" : text
}

type Kind = "blank" | "heading" | "table" | "item" | "fence" | "term" | "text"

/** The kind of block that a line begins or continues. */
const kindOfLine = (line: string): Kind =>
  line.trim() === "" || unseen.test(line)
    ? "blank"
    : fence.test(line)
      ? "fence"
      : heading.test(line)
        ? "heading"
        : /^\s*\|/.test(line)
          ? "table"
          : item.test(line)
            ? "item"
            : termOf(line) !== undefined
              ? "term"
              : "text"

/** A sentence with its final mark may be short: "Bees make honey." */
const isShortSentence = (text: string): boolean =>
  /[.!?\u3002\uff01\uff1f]["')\]*_\u201d\u2019]{0,3}$/.test(text) &&
  (/\S\s+\S+\s+\S/.test(text) || /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]{4}/u.test(text))

/**
 * The statements of a passage, in order; `tableHeader` has the column names if it begins within a table. Scraps, of fewer
 * than `shortest` characters, are left out.
 */
export const statementsOf = (
  written: string,
  tableHeader?: string,
  shortest: number = bounds.min
): ReadonlyArray<Statement> => {
  const fits = (text: string): boolean =>
    text.length <= bounds.max && (text.length >= shortest || isShortSentence(text)) && text !== ""
  const lines = linesOf(written)
  const text = written
    .split("\n")
    .map((line, at) => lines[at]!.text.padStart(line.length))
    .join("\n")
  const capitals = capitalised(text)
  // Rows need no bars around them if a delimiter says that they are rows.
  const isTable = lines.some(({ text }) => isDelimiter(text) && text.includes("|"))
  const kindOf = (line: string): Kind => (isTable && line.includes("|") ? "table" : kindOfLine(line))
  const found: Array<Statement> = []
  /** Where the last sentence begins, also one that is too short. */
  let lastText = -1
  let under = ""
  let isFirst = true
  const add = (kind: Statement["kind"], said: string, at: number): void => {
    if (kind === "row" ? said.length <= bounds.max && said.length > 0 : fits(said)) {
      found.push({ kind, text: said, at, heading: under, isFirst })
      isFirst = false
    }
  }

  const sentences = (from: number, to: number): void => {
    let at = from
    eachSentence(capitals, from, to, (end) => {
      const said = plain(text.slice(at, end).replace(/^\s*(?:[-*+•>]|\d{1,3}[.)])\s+/, ""))
      lastText = at
      // What goes on in a list below is not said yet.
      if (!said.endsWith(",")) add("sentence", said, at)
      at = end
    })
  }

  /** The first line after the block. */
  const endOf = (from: number, goesOn: (line: string) => boolean): number => {
    let to = from + 1
    while (to < lines.length && !lines[to]!.isNew && goesOn(lines[to]!.text)) to++
    return to
  }

  const after = (line: number): number => (line < lines.length ? lines[line]!.at : text.length + 1) - 1

  let at = 0
  let names: ReadonlyArray<string> = tableHeader === undefined ? [] : cellsOf(tableHeader)
  while (at < lines.length) {
    const line = lines[at]!
    const kind = line.isLiteral ? "fence" : kindOf(line.text)
    let to = at + 1
    if (kind === "heading") {
      under = heading.exec(line.text)![1]!
      isFirst = true
    } else if ((kind === "text" || kind === "term") && isTitle(lines[at - 1]?.text, line.text, lines[at + 1]?.text)) {
      under = line.text.trim()
      isFirst = true
      to = at + 2
    } else if (kind === "term") {
      const names = [termOf(line.text)!]
      while (to < lines.length && kindOf(lines[to]!.text) === "term") names.push(termOf(lines[to++]!.text)!)
      const term = names.map(({ term }) => term).join(", ")
      // What follows a term need not be indented, nor follow at once.
      if (names.at(-1)!.rest === "" && lines[to]?.text.trim() === "" && kindOf(lines[to + 1]?.text ?? "") === "text")
        to++
      const begin = to
      // A paragraph, with those that a `+` attaches to it.
      while (to < lines.length && ["text", "item", "blank"].includes(kindOf(lines[to]!.text))) {
        if (kindOf(lines[to]!.text) === "blank" && !/^\s+\S/.test(lines[to + 1]?.text ?? "")) break
        to++
      }
      const said = plain(
        withoutReferences(
          [names.at(-1)!.rest, ...lines.slice(begin, to).map(({ text }) => (text.trim() === "+" ? "" : text))].join(" ")
        )
      )
      let from = 0
      let first = ""
      const rest: Array<string> = []
      eachSentence(capitalised(said), 0, said.length, (end) => {
        const sentence = said.slice(from, end).trim()
        from = end
        // A term's definition comes first, with what only goes on; each other sentence is separate, with the term.
        const goesOn = rest.length === 0 && pointsBack.test(sentence) && first.length + sentence.length <= longestPair
        if (first.length < 120 || goesOn) first = `${first} ${sentence}`.trim()
        else rest.push(sentence)
      })
      isFirst = true
      add("definition", `${term}: ${first}`, line.at)
      for (const sentence of rest) add("definition", `${term}: ${sentence}`, line.at)
    } else if (kind === "fence") {
      if (line.isLiteral) while (lines[to]?.isLiteral === true) to++
      else to = Math.min(lines.length, endOf(at, (text) => !fence.test(text)) + 1)
      // A sentence that introduces code ends with a colon.
      const before = found.at(-1)
      const code = lines.slice(at, to).map(({ text }) => text)
      const shown = code.join("\n").replace(/^\s*\n/, "")
      const whole = before === undefined ? "" : `${before.text}\n${shown.trimEnd()}`
      if (before?.kind === "sentence" && announces.test(before.text) && whole.length <= bounds.max) {
        found[found.length - 1] = { ...before, kind: "steps", text: whole }
      }
    } else if (kind === "table") {
      to = endOf(at, (text) => kindOf(text) === "table")
      const rows = lines.slice(at, to)
      if (rows.length > 1 && isDelimiter(rows[1]!.text)) names = cellsOf(rows[0]!.text)
      const body = rows.findIndex(({ text }) => isDelimiter(text))
      for (const row of rows.slice(body + 1)) add("row", rowText(names, row.text), row.at)
      names = []
    } else if (kind === "item") {
      to = endOf(at, (text) => ["item", "text"].includes(kindOf(text)) || /^\s{2,}\S/.test(text))
      const block = lines.slice(at, to)
      const isNumbered = /^\s*(?:\d|\.)/.test(line.text)
      const items = itemsOf(block.map(({ text }) => text.trimEnd()))
      const before = found.at(-1)
      const isIntroduced = before?.kind === "sentence" && announces.test(before.text) && before.at === lastText
      const introduced = isIntroduced ? introducedBy(before.text, items) : ""
      // What only announces a list is quoted with it.
      if (introduced !== "") found[found.length - 1] = { ...before!, kind: "list", text: introduced }
      if (isNumbered && items.length > 1) add("steps", items.join("\n"), line.at)
      for (let from = 0; from < block.length;) {
        let next = from + 1
        while (next < block.length && !item.test(block[next]!.text)) next++
        const first = found.length
        sentences(block[from]!.at, after(at + next))
        // What follows the first sentence of a term's item is about the term too.
        const term = itemTerm.exec(block[from]!.text)?.[1]
        for (const it of term === undefined ? [] : found.splice(first + 1)) {
          found.push(it.kind === "sentence" && !it.text.includes(term!) ? { ...it, term } : it)
        }
        from = next
      }
    } else if (kind === "text") {
      to = endOf(at, (text) => kindOf(text) === "text")
      sentences(line.at, after(to))
    }
    at = to
  }
  return found
}
