import { LineWalker, skipSpace, trimEnd } from "../../entries/scanning.ts"
import { type Block, columns, type MarkdownSink } from "./markdown.ts"

/** A non-blank line, without surrounding white space. */
interface Line {
  readonly text: string
  readonly start: number
  readonly end: number
  /** Columns of white space before it. */
  readonly indent: number
  /** Whether it opens a paragraph: the line above is blank, a heading or the end of a block. */
  readonly first: boolean
}

/** What a line is outside verbatim blocks; undefined: it begins or continues a paragraph. */
type Sign =
  | {
      readonly is: "heading"
      readonly level: number
      readonly title: readonly [start: number, end: number]
      /** What it heads is indented by more than it, and ends with the first line for which this is true. */
      readonly ends?: (line: Line) => boolean
    }
  /** A heading's second or third line: the open lines are its title. */
  | { readonly is: "underline"; readonly level: number; readonly title: readonly [start: number, end: number] }
  | { readonly is: "item" }
  /** The following lines belong together, up to and including the line for which `ends` is true. */
  | {
      readonly is: "verbatim"
      readonly ends: (line: Line) => "with" | "before" | undefined
      readonly kind?: "table" | "label"
    }

/** `above` are the lines of the open paragraph. */
type Markup = (line: Line, above: ReadonlyArray<Line>) => Sign | undefined

/** Most preceding lines that a sign may read: a title with its overline. */
const remembered = 3

/** Reads a text line by line, as far as passages need it: headings, paragraphs, items, and verbatim blocks. */
export const scanMarkup = (text: string, format: "asciidoc" | "rst" | "org" | "paged", sink: MarkdownSink): void => {
  const signOf = format === "rst" ? restructured() : format === "paged" ? paged(text) : { asciidoc, org }[format]
  const walker = new LineWalker(text, 0)
  let kind: Block["kind"] = "paragraph"
  let start = -1
  let end = -1
  let above: Array<Line> = []
  let lines = 0
  let isBelowBlank = false
  let ends: (Sign & { readonly is: "verbatim" })["ends"] | undefined
  /** Headings whose text may end, innermost last. */
  let within: ReadonlyArray<{ readonly level: number; readonly ends: (line: Line) => boolean }> = []

  const close = () => {
    if (start >= 0) sink.block({ kind, start, end, depth: 0 })
    start = -1
    above = []
    lines = 0
    ends = undefined
  }
  const take = (line: Line) => {
    if (start < 0) start = line.start
    end = line.end
    if (++lines <= remembered) above.push(line)
  }
  const begin = (of: Block["kind"], line: Line) => {
    close()
    kind = of
    take(line)
  }

  while (walker.next()) {
    const at = skipSpace(text, walker.start, walker.end)
    if (at === walker.end) {
      isBelowBlank = true
      if (ends === undefined) close()
      continue
    }
    const to = trimEnd(text, at, walker.end)
    const indent = columns(text, walker.start, at)
    const line: Line = {
      text: text.slice(at, Math.min(to, at + 400)),
      start: at,
      end: to,
      indent,
      first: start < 0 || isBelowBlank
    }
    isBelowBlank = false
    if (ends !== undefined) {
      const over = ends(line)
      if (over !== "before") {
        take(line)
        if (over === "with") close()
        continue
      }
      close()
    }
    const found = signOf({ ...line, first: start < 0 }, lines <= remembered ? above : [])
    const left = found?.is === "underline" ? [] : within.filter((each) => each.ends(line))
    if (left.length > 0) {
      close()
      within = within.filter((each) => !left.includes(each))
      if (found?.is !== "heading") sink.leave(Math.min(...left.map(({ level }) => level)))
    }
    if (found === undefined) {
      if (start < 0) begin("paragraph", line)
      else take(line)
    } else if (found.is === "item") begin("item", line)
    else if (found.is === "verbatim") {
      begin(found.kind ?? "code", line)
      ends = found.ends
    } else {
      const from = found.is === "underline" ? start : line.start
      if (found.is === "heading") close()
      start = -1
      close()
      sink.heading({ level: found.level, start: from, end: line.end, title: found.title })
      within = within.filter(({ level }) => level < found.level)
      if (found.is === "heading" && found.ends !== undefined)
        within = [...within, { level: found.level, ends: found.ends }]
    }
  }
  close()
}

/** The character that makes up the whole line, if it is repeated at least this often. */
const repeated = (line: string, least: number): string | undefined => {
  if (line.length < least) return undefined
  for (let i = 1; i < line.length; i++) if (line.charCodeAt(i) !== line.charCodeAt(0)) return undefined
  return line.charAt(0)
}

/** Underlines of titles, by level. */
const underlines = "=-~^+"

/** Delimiters of blocks that are not prose: listings, literals, passed-through text, comments. */
const verbatim = new Set(["-", ".", "+", "/"])

const atx = /^(={1,6}|#{1,6})[ \t]+(?=\S)/
/** Of the following block: `[[id]]`, `[role="x"]`. */
const attributes = /^\[[^\]]*\]{1,2}$/
/** A comment, or what the document declares: `:toc:`. */
const declaration = /^(?:\/\/(?!\/\/)|:!?\w[\w-]{0,60}!?:(?:[ \t]|$))/
const asciidocItem = /^(?:[*.-]{1,5}|\d{1,4}[.)]|<\d{1,3}>)[ \t]+\S/
/** A term of a list, with its meaning after it or on the next lines. */
const term = /\S(?::{2,4}|;;)(?:[ \t]|$)/
/** A fence may have a language after it; the row of signs around a table may be longer than it must. */
const fence = /^(?:`{3,}|[|,:!]={3,}$)/

const sameLine = (open: string) => (line: Line) => (line.text === open ? "with" : undefined)

/** A line that stands before what follows it. */
const label: Sign = { is: "verbatim", kind: "label", ends: () => "before" }

/** The end of a title, which its marks may close too: `== Title ==`. */
const endOfTitle = ({ end, text }: Line, marks: string): number =>
  text.endsWith(` ${marks}`) && text.length > 2 * marks.length + 2
    ? end - text.length + text.slice(0, -marks.length).trimEnd().length
    : end

const underline = (line: Line, above: ReadonlyArray<Line>): Sign | undefined => {
  const [title, more] = above
  const level = 1 + underlines.indexOf(repeated(line.text, 2) ?? " ")
  if (level === 0 || line.indent > 0 || title === undefined || more !== undefined || title.indent > 0) return undefined
  // By AsciiDoc's rule, a line that is three too long or too short is not an underline.
  if (Math.abs([...title.text].length - line.text.length) > 2 || !/[\p{L}\p{N}]/u.test(title.text)) return undefined
  return { is: "underline", level, title: [title.start, title.end] }
}

/** AsciiDoc's titles in both forms, its lists, and its blocks between delimiters. */
const asciidoc: Markup = (line, above) => {
  if (line.indent === 0) {
    const under = underline(line, above)
    if (under !== undefined) return under
    const [marked, marks] = (line.first ? atx.exec(line.text) : null) ?? []
    if (marked !== undefined) {
      return { is: "heading", level: marks!.length, title: [line.start + marked.length, endOfTitle(line, marks!)] }
    }
    if (attributes.test(line.text) || (line.first && declaration.test(line.text))) return label
    const open = repeated(line.text, 4)
    if ((open !== undefined && verbatim.has(open)) || fence.test(line.text)) {
      const end = fence.exec(line.text)?.[0] ?? line.text
      return { is: "verbatim", ends: sameLine(end), ...(end.startsWith("|") ? { kind: "table" } : {}) }
    }
  }
  // Consecutive terms share one meaning.
  if (term.test(line.text))
    return above.length > 0 && above.every(({ text }) => term.test(text)) ? undefined : { is: "item" }
  return asciidocItem.test(line.text) ? { is: "item" } : undefined
}

const heading = /^(\*{1,8})[ \t]+(?=\S)/
const title = /^#\+title:[ \t]*(?=\S)/i
const block = /^#\+begin_(\w{1,40})/i
/** A comment, a target, or what the document or the next block declares: `#+name: x`. */
const orgLabel = /^(?:#(?:[ \t]|$|\+\w{1,40}:)|<<[^<>]{1,200}>>$)/
const orgItem = /^(?:[+-]|\d{1,4}[.)])[ \t]+\S/

/** Org mode's headings, its title, its lists and its blocks. */
const org: Markup = (line) => {
  const [named] = title.exec(line.text) ?? []
  if (named !== undefined) return { is: "heading", level: 1, title: [line.start + named.length, line.end] }
  const [starred, stars] = (line.indent === 0 ? heading.exec(line.text) : null) ?? []
  if (starred !== undefined) {
    return { is: "heading", level: stars!.length + 1, title: [line.start + starred.length, line.end] }
  }
  if (line.first && orgLabel.test(line.text)) return label
  const name = block.exec(line.text)?.[1]?.toLowerCase()
  if (name !== undefined && name !== "quote" && name !== "verse") {
    return {
      is: "verbatim",
      ends: ({ text }) => (text.toLowerCase().startsWith(`#+end_${name}`) ? "with" : undefined)
    }
  }
  if (line.first && line.text.startsWith("|")) {
    return { is: "verbatim", ends: ({ text }) => (text.startsWith("|") ? undefined : "before"), kind: "table" }
  }
  return orgItem.test(line.text) ? { is: "item" } : undefined
}

/** Whether a text is printed in pages, as RFCs and their drafts are: `Author     Category     [Page 1]`. */
export const isPaged = (text: string): boolean => /\S {3,80}\[Page \d{1,3}\][ \t\f]*$/m.test(text.slice(0, 16_384))

const section = /^(?:\d{1,2}|Appendix [A-Z]|[A-Z](?=\.))((?:\.\d{1,3}){0,8})[.:]?[ \t]{1,4}(?=\S)/
/** The parts that have no number (RFC 7322, section 4). */
const unnumbered =
  /^(?:abstract|status of this memo|copyright notice|table of contents|acknowledge?ments?|contributors|(?:(?:normative|informative) )?references|(?:full )?copyright statement|intellectual property|(?:authors?|editors?)['\u2019]?s?['\u2019]? address(?:es)?)$/i
/** Of a line of the contents, or of one that names a page. */
const spaced = /\.\.\.|\. \. | {3}/

/** After a line of a paragraph or a list at the margin. */
const goesOn = /^[ \t]{0,80}(?:\r\n?|\n)\S/

/** The sections of a text in pages: their titles begin at the margin, and no line at the margin follows at once. */
const paged =
  (text: string): Markup =>
  (line) => {
    if (line.indent > 0 || !line.first || goesOn.test(text.slice(line.end, line.end + 83))) return undefined
    const [number, deeper = ""] = section.exec(line.text) ?? []
    if (number === undefined ? !unnumbered.test(line.text) : spaced.test(line.text.slice(number.length)))
      return undefined
    return { is: "heading", level: deeper.replace(/^\.0$/, "").split(".").length, title: [line.start, line.end] }
  }

/** The frame of a grid table. */
export const gridRule = /^\+[-+]{3,}$/
/** The row of marks above, within and below a simple table. */
export const simpleRule = /^=+(?: +=+)+$/
/** A table written as a list of lists, or as comma-separated values. */
export const listTable = /^\.\. (?:list|csv)-table::/

const columnsOf = (rule: string): ReadonlyArray<readonly [start: number, end: number]> =>
  Array.from(rule.matchAll(/=+/g), ({ 0: { length }, index }) => [index, index + length] as const)

/** A line's cells at the columns of a rule; undefined if a word crosses the space between two columns. */
export const cellsBelow = (rule: string, line: string): ReadonlyArray<string> | undefined => {
  const columns = columnsOf(rule)
  const isApart = columns.slice(1).every(([start], at) => line.slice(columns[at]![1], start).trim() === "")
  return isApart ? columns.map(([start], at) => line.slice(start, columns[at + 1]?.[0]).trim()) : undefined
}

/** The table ends with its third rule, with a rule before an empty line, or with a line that is no row. */
const simple = ({ indent, text: rule }: Line): Sign => {
  let rules = 0
  let wasRule = false
  return {
    is: "verbatim",
    kind: "table",
    ends: (line) => {
      if (line.first && wasRule) return "before"
      wasRule = simpleRule.test(line.text)
      if (wasRule) return ++rules === 2 ? "with" : undefined
      const isAscii = /^[ -~\t]*$/.test(line.text)
      return isAscii && cellsBelow(rule, " ".repeat(Math.max(0, line.indent - indent)) + line.text) === undefined
        ? "before"
        : undefined
    }
  }
}

/** reStructuredText's tables, in all forms. */
const tableSign = (line: Line): Sign | undefined => {
  if (listTable.test(line.text)) {
    return { is: "verbatim", kind: "table", ends: ({ indent }) => (indent > line.indent ? undefined : "before") }
  }
  if (!line.first) return undefined
  if (gridRule.test(line.text)) {
    const isFramed = (next: Line) => !next.first && /^[+|]/.test(next.text)
    return { is: "verbatim", kind: "table", ends: (next) => (isFramed(next) ? undefined : "before") }
  }
  return simpleRule.test(line.text) ? simple(line) : undefined
}

const marks = /^[!-/:-@[-`{-~]/
const restructuredItem = /^(?:[*+-]|\(?(?:\d{1,4}|#|[a-z])[.)])[ \t]+\S/i
/** A directive whose content is not prose. */
const listing = /^\.\. (?:code|code-block|sourcecode|literalinclude|parsed-literal|math|raw|prompt|toctree)::/
/** A directive that defines an option, a function or a setting. */
const definition = /^\.\. [\w:.-]{1,60}:: *\S/

/**
 * A directive of Sphinx that describes an object, which is a heading in the pages that Sphinx makes. Docutils has a `class`
 * of its own, for style sheets.
 */
const described =
  /^\.\. (?:(?:py|c|cpp|js|php|rb|rst|std):)?(?:function|class(?!:: *[a-z]+(?:-[a-z]+)+ *$)|(?:class|static|abstract)?method|attribute|attr|property|data|const|global|exception|decorator(?:method)?|interface|trait|macro|type|struct|enum|enumerator|member|var|option|cmdoption|envvar|confval|setting|describe|templatetag|templatefilter|fieldlookup|django-admin(?:-option)?):: *(?=\S)/
/** A target elsewhere, which may be in any place. */
const link = /^\.\. _.*[^:]$/
/** Lines that stand before what follows them, or tell nothing: targets, index entries, comments. */
const between = /^\.\.(?: _| (?:index|highlight|currentmodule|py:currentmodule)::| (?![[|_]|[\w:.+-]{1,60} ?::)|$)/

const deeper = (indent: number) => (line: Line) => (line.indent > indent ? undefined : "before")

/** The row of marks under, and possibly over, a title. */
const row = (line: Line | undefined): string | undefined => {
  const mark = line === undefined ? undefined : repeated(line.text, 2)
  return mark !== undefined && marks.test(mark) ? mark : undefined
}

/** reStructuredText's titles, with levels in the order of first occurrence, its lists and its literal blocks. */
const restructured = (): Markup => {
  const levels: Array<string> = []
  const levelOf = (style: string): number => {
    if (!levels.includes(style)) levels.push(style)
    return Math.min(6, levels.indexOf(style) + 1)
  }
  const underline = (line: Line, above: ReadonlyArray<Line>): Sign | undefined => {
    const mark = row(line)
    if (mark === undefined || line.indent > 0) return undefined
    const over = above.length === 2 && row(above[0]) === mark && row(above[1]) === undefined
    const title = over ? above[1] : above.length === 1 && row(above[0]) === undefined ? above[0] : undefined
    if (title === undefined || (!over && title.indent > 0)) return undefined
    if (line.text.length < Math.min(4, [...title.text].length)) return undefined
    return { is: "underline", level: levelOf(over ? mark + mark : mark), title: [title.start, title.end] }
  }
  return (line, above) => {
    const under = underline(line, above)
    if (under !== undefined) return under
    const table = tableSign(line)
    if (table !== undefined) return table
    if (line.first && between.test(line.text) && !link.test(line.text)) {
      return { ...label, ends: (next) => (next.first || next.indent <= line.indent ? "before" : undefined) }
    }
    if (listing.test(line.text)) return { is: "verbatim", ends: deeper(line.indent) }
    if (line.first && line.text.startsWith(">>> ")) {
      return { is: "verbatim", ends: (next) => (next.indent < line.indent ? "before" : undefined) }
    }
    const [directive] = described.exec(line.text) ?? []
    if (directive !== undefined) {
      return {
        is: "heading",
        level: 7 + Math.min(40, line.indent),
        title: [line.start + directive.length, line.end],
        ends: (next) => next.indent <= line.indent && !between.test(next.text)
      }
    }
    if (definition.test(line.text) || restructuredItem.test(line.text)) return { is: "item" }
    return undefined
  }
}
