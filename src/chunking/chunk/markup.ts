import { LineWalker } from "../../entries/lines.ts"
import type { Block, Heading, MarkdownSink } from "./markdown.ts"
import { columns } from "./markdownLine.ts"
import { skipSpace, trimEnd } from "../../entries/space.ts"

/** A non-blank line, without surrounding white space. */
export interface Line {
  readonly text: string
  readonly start: number
  readonly end: number
  /** Columns of white space before it. */
  readonly indent: number
  /** Whether it opens a paragraph: the line above is blank, a heading or the end of a block. */
  readonly first: boolean
}

/** What a line is outside verbatim blocks; undefined: it begins or continues a paragraph. */
export type Sign =
  | { readonly is: "heading"; readonly level: number; readonly title: readonly [start: number, end: number] }
  /** A heading's second or third line: the open lines are its title. */
  | { readonly is: "underline"; readonly level: number; readonly title: readonly [start: number, end: number] }
  | { readonly is: "item" }
  /** The following lines belong together, up to and including the line for which `ends` is true. */
  | {
      readonly is: "verbatim"
      readonly ends: (line: Line) => "with" | "before" | undefined
      readonly table?: boolean
    }

export interface Markup {
  /** `above` are the lines of the open paragraph. */
  readonly sign: (line: Line, above: ReadonlyArray<Line>) => Sign | undefined
}

/** Most preceding lines that a sign may read: a title with its overline. */
const remembered = 3

/** Reads a text line by line, as far as passages need it: headings, paragraphs, items, and verbatim blocks. */
export const scanMarkup = (text: string, { sign }: Markup, sink: MarkdownSink): void => {
  const walker = new LineWalker(text, 0)
  let kind: Block["kind"] = "paragraph"
  let start = -1
  let end = -1
  let above: Array<Line> = []
  let lines = 0
  let isBelowBlank = false
  let ends: (Sign & { readonly is: "verbatim" })["ends"] | undefined

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
  const head = (heading: Heading): boolean => {
    start = -1
    close()
    return sink.heading(heading)
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
    const found = sign({ ...line, first: start < 0 }, lines <= remembered ? above : [])
    if (found === undefined) {
      if (start < 0) begin("paragraph", line)
      else take(line)
    } else if (found.is === "item") begin("item", line)
    else if (found.is === "verbatim") {
      begin(found.table === true ? "table" : "code", line)
      ends = found.ends
    } else {
      const from = found.is === "underline" ? start : line.start
      if (found.is === "heading") close()
      if (head({ level: found.level, start: from, end: line.end, title: found.title })) return
    }
  }
  close()
}

/** The character that makes up the whole line, if it is repeated at least this often. */
export const repeated = (line: string, least: number): string | undefined => {
  if (line.length < least) return undefined
  for (let i = 1; i < line.length; i++) if (line.charCodeAt(i) !== line.charCodeAt(0)) return undefined
  return line.charAt(0)
}
