import { type Line, type Markup, repeated, type Sign } from "./markup.ts"
import { tableSign } from "./restructuredTables.ts"

const marks = /^[!-/:-@[-`{-~]/
const item = /^(?:[*+-]|\(?(?:\d{1,4}|#|[a-z])[.)])[ \t]+\S/i
/** A directive whose content is not prose. */
const listing = /^\.\. (?:code|code-block|sourcecode|literalinclude|parsed-literal|math|raw|highlight|prompt|toctree)::/
/** A directive that defines an option, a function or a setting. */
const definition = /^\.\. [\w:.-]{1,60}:: *\S/

const deeper = (indent: number) => (line: Line) => (line.indent > indent ? undefined : "before")

/** The row of marks under, and possibly over, a title. */
const row = (line: Line | undefined): string | undefined => {
  const mark = line === undefined ? undefined : repeated(line.text, 2)
  return mark !== undefined && marks.test(mark) ? mark : undefined
}

/** reStructuredText's titles, with levels in the order of first occurrence, its lists and its literal blocks. */
export const restructured = (): Markup => {
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
  return {
    sign: (line, above) => {
      const under = underline(line, above)
      if (under !== undefined) return under
      const table = tableSign(line)
      if (table !== undefined) return table
      if (listing.test(line.text)) return { is: "verbatim", ends: deeper(line.indent) }
      if (line.first && line.text.startsWith(">>> ")) {
        return { is: "verbatim", ends: (next) => (next.indent < line.indent ? "before" : undefined) }
      }
      if (definition.test(line.text) || item.test(line.text)) return { is: "item" }
      return undefined
    }
  }
}
