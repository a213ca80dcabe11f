import { type Line, type Markup, repeated, type Sign } from "./markup.ts"

/** Underlines of titles, by their level. */
const underlines = "=-~^+"

/** What stands between two equal lines and is no prose: listings, literals, passed-through text, comments. */
const verbatim = new Set(["-", ".", "+", "/"])

const atx = /^(={1,6}|#{1,6})[ \t]+(?=\S)/
const item = /^(?:[*.-]{1,5}|\d{1,4}[.)]|<\d{1,3}>)[ \t]+\S/
/** A term of a list, with what it means after it or on the next lines. */
const term = /\S(?::{2,4}|;;)(?:[ \t]|$)/
const fence = /^(?:`{3,}|\|===|,===|:===|!===)/

const sameLine = (open: string) => (line: Line) => (line.text === open ? "with" : undefined)

const underline = (line: Line, above: ReadonlyArray<Line>): Sign | undefined => {
  const [title, more] = above
  const level = 1 + underlines.indexOf(repeated(line.text, 2) ?? " ")
  if (level === 0 || line.indent > 0 || title === undefined || more !== undefined || title.indent > 0) return undefined
  // As AsciiDoc has it, a line too long or too short by three is no underline.
  if (Math.abs([...title.text].length - line.text.length) > 2 || !/[\p{L}\p{N}]/u.test(title.text)) return undefined
  return { is: "underline", level, title: [title.start, title.end] }
}

/** AsciiDoc's titles in both forms, its lists, and its blocks between delimiters. */
export const asciidoc: Markup = {
  sign: (line, above) => {
    if (line.indent === 0) {
      const under = underline(line, above)
      if (under !== undefined) return under
      const [marked, marks] = (line.first ? atx.exec(line.text) : null) ?? []
      if (marked !== undefined) {
        const title = [line.start + marked.length, line.end] as const
        return { is: "heading", level: marks!.length, title }
      }
      const open = repeated(line.text, 4)
      if ((open !== undefined && verbatim.has(open)) || fence.test(line.text)) {
        const end = fence.exec(line.text)?.[0] ?? line.text
        return { is: "verbatim", ends: sameLine(end), table: end === "|===" }
      }
    }
    // Terms above one another have one meaning.
    if (term.test(line.text))
      return above.length > 0 && above.every(({ text }) => term.test(text)) ? undefined : { is: "item" }
    return item.test(line.text) ? { is: "item" } : undefined
  }
}
