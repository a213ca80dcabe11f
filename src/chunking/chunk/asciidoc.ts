import { type Line, type Markup, repeated, type Sign } from "./markup.ts"

/** Underlines of titles, by level. */
const underlines = "=-~^+"

/** Delimiters of blocks that are not prose: listings, literals, passed-through text, comments. */
const verbatim = new Set(["-", ".", "+", "/"])

const atx = /^(={1,6}|#{1,6})[ \t]+(?=\S)/
/** An anchor or attributes of the following block: `[[id]]`, `[role="x"]`. */
const attributes = /^\[[^\]]*\]{1,2}$/
const item = /^(?:[*.-]{1,5}|\d{1,4}[.)]|<\d{1,3}>)[ \t]+\S/
/** A term of a list, with its meaning after it or on the next lines. */
const term = /\S(?::{2,4}|;;)(?:[ \t]|$)/
const fence = /^(?:`{3,}|\|===|,===|:===|!===)/

const sameLine = (open: string) => (line: Line) => (line.text === open ? "with" : undefined)

/** The lines of a paragraph without its leading anchors and attributes. */
const bare = (above: ReadonlyArray<Line>): ReadonlyArray<Line> => {
  const from = above.findIndex(({ text }) => !attributes.test(text))
  return from < 0 ? [] : above.slice(from)
}

/** The end of a title, which its marks may close too: `== Title ==`. */
const endOfTitle = ({ end, text }: Line, marks: string): number =>
  text.endsWith(` ${marks}`) && text.length > 2 * marks.length + 2
    ? end - text.length + text.slice(0, -marks.length).trimEnd().length
    : end

const underline = (line: Line, above: ReadonlyArray<Line>): Sign | undefined => {
  const [title, more] = bare(above)
  const level = 1 + underlines.indexOf(repeated(line.text, 2) ?? " ")
  if (level === 0 || line.indent > 0 || title === undefined || more !== undefined || title.indent > 0) return undefined
  // By AsciiDoc's rule, a line that is three too long or too short is not an underline.
  if (Math.abs([...title.text].length - line.text.length) > 2 || !/[\p{L}\p{N}]/u.test(title.text)) return undefined
  return { is: "underline", level, title: [title.start, title.end] }
}

/** AsciiDoc's titles in both forms, its lists, and its blocks between delimiters. */
export const asciidoc: Markup = {
  sign: (line, above) => {
    if (line.indent === 0) {
      const under = underline(line, above)
      if (under !== undefined) return under
      const opens = line.first || (above.length > 0 && bare(above).length === 0)
      const [marked, marks] = (opens ? atx.exec(line.text) : null) ?? []
      if (marked !== undefined) {
        const title = [line.start + marked.length, endOfTitle(line, marks!)] as const
        return { is: line.first ? "heading" : "underline", level: marks!.length, title }
      }
      const open = repeated(line.text, 4)
      if ((open !== undefined && verbatim.has(open)) || fence.test(line.text)) {
        const end = fence.exec(line.text)?.[0] ?? line.text
        return { is: "verbatim", ends: sameLine(end), table: end === "|===" }
      }
    }
    // Consecutive terms share one meaning.
    if (term.test(line.text))
      return above.length > 0 && above.every(({ text }) => term.test(text)) ? undefined : { is: "item" }
    return item.test(line.text) ? { is: "item" } : undefined
  }
}
