import { LineWalker, skipSpace } from "../../entries/scanning.ts"
import { columns, fenceLength } from "./markdown.ts"
import { cut, type Measure, type Unit } from "./unit.ts"
import { addSpan } from "./prose.ts"

interface Line {
  readonly number: number
  /** First character that is not white space. */
  readonly at: number
  readonly end: number
  readonly indent: number
  readonly afterBlank: boolean
}

/** Adds each non-blank line of the span; `cutBefore` is the cost of ending a passage before it. */
const addLines = (
  m: Measure,
  units: Array<Unit>,
  [from, to]: readonly [from: number, to: number],
  cutBefore: (line: Line) => number
): void => {
  const walker = new LineWalker(m.text, from, to)
  let afterBlank = false
  for (let number = 0; walker.next(); number++) {
    const at = skipSpace(m.text, walker.start, walker.end)
    if (at < walker.end) {
      const line = { number, at, end: walker.end, indent: columns(m.text, walker.start, at), afterBlank }
      const last = units.at(-1)
      if (last !== undefined && last.start >= from) last.cut = cutBefore(line)
      addSpan(m, units, { start: at, end: walker.end, cut: cut.block, flow: 0 })
    }
    afterBlank = at === walker.end
  }
}

/** Adds a table by its rows, of several lines in reStructuredText; the first stays with the lines before `rows`. */
export const addTable = (
  m: Measure,
  units: Array<Unit>,
  [start, end]: readonly [start: number, end: number],
  rows: number
): void => {
  const spans: Array<{ readonly start: number; end: number }> = []
  let heads = 0
  let closed = true
  const line = new LineWalker(m.text, start, end)
  while (line.next()) {
    const at = skipSpace(m.text, line.start, line.end)
    if (at === line.end) continue
    const last = spans.at(-1)
    if (last !== undefined && last.start >= rows && !closed && goesOn(m.text, at, start)) last.end = line.end
    else spans.push({ start: at, end: line.end })
    if (at < rows) heads = spans.length
    closed = m.text.charCodeAt(at) === plus
  }
  for (const [number, span] of spans.entries()) {
    const isLast = number === spans.length - 1
    const after = isLast ? cut.block : number < Math.max(heads, 2) ? cut.heading : cut.line
    addSpan(m, units, { ...span, cut: after, flow: 0 })
  }
}

const plus = 43
const star = 42

/** Whether a line continues the row above: without a star in lists, down to the next frame in frames. */
const goesOn = (text: string, at: number, start: number): boolean =>
  text.startsWith(".. list-table", start) ? text.charCodeAt(at) !== star : text.charCodeAt(start) === plus

/** Adds a block of code by its lines, to be cut preferably at blank lines and at the least nesting. */
export const addCode = (m: Measure, units: Array<Unit>, start: number, end: number): void => {
  const fenced = fenceLength(m.text, start, end, true) > 0
  const outermost = leastIndent(m.text, start, end)
  addLines(m, units, [start, end], ({ afterBlank, at, end, indent, number }) =>
    fenced && (number === 1 || fenceLength(m.text, at, end, false) > 0)
      ? cut.heading
      : lineCut(indent - outermost, afterBlank, closes(m.text, at, end))
  )
}

/** The least indentation of the lines after the first, whose white space is not part of the block. */
const leastIndent = (text: string, start: number, end: number): number => {
  const line = new LineWalker(text, start, end)
  let least = Infinity
  for (line.next(); line.next();) {
    const at = skipSpace(text, line.start, line.end)
    if (at < line.end) least = Math.min(least, columns(text, line.start, at))
  }
  return least
}

/** Deeper nested places to cut are all equal. */
const deepest = 5

/** The cost of cutting before a line of code so many columns deeper than its surroundings, or that belongs above. */
export const lineCut = (columns: number, afterBlank: boolean, together: boolean): number =>
  (together ? cut.clause : afterBlank ? cut.item : cut.sentence / 2) +
  cut.nesting * Math.max(0, Math.min(deepest, columns / 2))

const closing =
  /^(?:[\])}]|\*\/|<\/|(?:end|else|elif|elsif|elseif|except|finally|catch|rescue|ensure|fi|done|esac|where)\b)/i

/** Whether a line of code belongs to the one above it: a closing bracket, an `else`. */
export const closes = (text: string, at: number, end: number): boolean =>
  "])}*<eEcCfFrRdDwW".includes(text.charAt(at)) && closing.test(text.slice(at, Math.min(end, at + 10)))
