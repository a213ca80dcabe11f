import { isSpace, lineCounter, skipSpace, skipWord } from "../../entries/scanning.ts"
import type { Passage } from "../../model/Passage.ts"
import { eachSentence } from "../sentences.ts"
import { cut, fits, hasTightJoint, type Measure, type Unit, widthPerToken } from "./unit.ts"

/** The cost of each passage, so that few are made; an empty one costs one more, a half-empty one a quarter more. */
const perPassage = 0.35

/** The most it costs to leave no room for the overlap. */
const noOverlap = 1

/** Whether a passage beginning with `units[at]` continues the prose of the previous one. */
const continues = (units: ReadonlyArray<Unit>, at: number): boolean => {
  const flow = units[at]?.flow ?? 0
  return flow !== 0 && units[at - 1]?.flow === flow
}

/**
 * Where passages end, as exclusive indices into `units`, so that the total cost of the cuts and the empty room is
 * least: the way Knuth and Plass (1981) break paragraphs into lines. Every passage stays within the measure's size and
 * width, unless a single unit does not. Ties go to the longer later passage. Linear in the number of units, since
 * `append` limits how many a passage has.
 */
const pack = (units: ReadonlyArray<Unit>, m: Measure): ReadonlyArray<number> => {
  const n = units.length
  if (wholeFits(units, m)) return n === 0 ? [] : [n]
  const costs = new Float64Array(n + 1)
  const from = new Int32Array(n + 1)
  for (let to = 1; to <= n; to++) {
    const last = units[to - 1]!
    let tokens = 0
    let extra = 0
    let best = Infinity
    for (let at = to - 1; at >= 0; at--) {
      const first = units[at]!
      tokens += first.tokens
      extra += first.extra
      const width = last.end - first.start + extra
      if (at < to - 1 && (tokens > m.size || width > m.width)) break
      const room = at > 0 && continues(units, at) ? m.overlap / m.size : 0
      const fill = Math.max(tokens / m.size, width / m.width)
      const cost = (costs[at] ?? 0) + waste(1 - fill, room)
      if (cost <= best) {
        best = cost
        from[to] = at
      }
    }
    costs[to] = best + perPassage + (to < n ? last.cut : cut.block)
  }
  const ends: Array<number> = []
  for (let to = n; to > 0; to = from[to] ?? 0) ends.push(to)
  return ends.reverse()
}

/** `free` is the empty share of a passage, `room` the part of it that the overlap may take. */
const waste = (free: number, room: number): number =>
  free >= room ? (free - room) ** 2 : free >= 0 ? (1 - free / room) * noOverlap : 0

const wholeFits = (units: ReadonlyArray<Unit>, m: Measure): boolean => {
  let tokens = 0
  let extra = 0
  for (const unit of units) {
    tokens += unit.tokens
    extra += unit.extra
    if (tokens > m.size) return false
  }
  return (units.at(-1)?.end ?? 0) - (units[0]?.start ?? 0) + extra <= m.width
}

/**
 * Where the passage of `units[from]` to `units[to - 1]` begins if it repeats the end of the previous one: as many whole
 * sentences (or lines) as the overlap and its own size allow. It only repeats text if it continues the same prose. If
 * the cut split a sentence, the repeated part may start within it, at a word.
 */
const overlapStart = (
  m: Measure,
  units: ReadonlyArray<Unit>,
  from: number,
  to: number,
  previous: { readonly start: number }
): number => {
  const own = units[from]!.start
  const { end } = units[to - 1]!
  if (m.overlap <= 0 || !continues(units, from)) return own
  let tokens = 0
  for (let at = from; at < to; at++) tokens += units[at]!.tokens
  const most = Math.min(m.overlap, m.size - tokens)
  const least = Math.max(previous.start + 1, own - m.overlap * widthPerToken)
  const allows = (start: number, repeated: number) => repeated <= most && start >= least && fits(m, 0, start, end)

  const inSentence = (units[from - 1]?.cut ?? 0) >= cut.clause
  let start = own
  let repeated = 0
  let at = from
  while (at > 0 && continues(units, at)) {
    const unit = units[at - 1]
    if (unit === undefined || !allows(unit.start, repeated + unit.tokens)) break
    repeated += unit.tokens
    at--
    const before = units[at - 1]
    if (before === undefined || before.cut < cut.clause || (inSentence && before.end < unit.start)) start = unit.start
  }
  const tail = units[at - 1]
  const reached = units[at]?.start
  if (start === reached && tail?.several === true && continues(units, at))
    start = sentenceTail(m, tail, start, (at, tokens) => allows(at, repeated + tokens))
  if (start === own || isAdditive(m, units, start, own, at, to)) return start
  return m.count(start, own) <= m.overlap && fits(m, m.count(start, end), start, end) ? start : own
}

/** Whether white space separates all separately counted parts, so that the counts can be added. */
const isAdditive = (m: Measure, units: ReadonlyArray<Unit>, start: number, own: number, from: number, to: number) =>
  isSpace(m.text.charCodeAt(start - 1)) && isSpace(m.text.charCodeAt(own - 1)) && !hasTightJoint(units, from, to)

/** The start of the longest run of sentences at the end of the unit that may be repeated; `start` if none may. */
const sentenceTail = (
  m: Measure,
  unit: Unit,
  start: number,
  allows: (start: number, tokens: number) => boolean
): number => {
  const least = unit.end - m.overlap * widthPerToken
  // Begins within a sentence, whose end is the first that can be told.
  const from = least > unit.start ? skipSpace(m.text, skipWord(m.text, least, unit.end), unit.end) : unit.start
  const starts: Array<number> = from > unit.start ? [] : [from]
  eachSentence(m.text, from, unit.end, (end) => starts.push(end))
  let furthest = start
  let tokens = 0
  let end = unit.end
  for (const at of starts.slice(0, -1).reverse()) {
    tokens += m.count(at, end)
    if (!allows(at, tokens)) break
    furthest = at
    end = at
  }
  return furthest
}

/** Takes units that belong together, in document order, and makes passages of them. */
export interface PassageSink {
  readonly passages: Array<Passage>
  /** `heading` may depend on a passage's position; `tableHeader` is called with the passages' starts in order. */
  readonly add: (
    units: ReadonlyArray<Unit>,
    heading: (start: number, end: number) => ReadonlyArray<string>,
    tableHeader?: (start: number) => string | undefined
  ) => void
}

/** `indented`: keeps the white space before a passage's first line, if the passage begins at a line's start. */
export const passageSink = (m: Measure, indented: boolean): PassageSink => {
  const passages: Array<Passage> = []
  const firstLine = lineCounter(m.text)
  const lastLine = lineCounter(m.text)
  return {
    passages,
    add: (units, heading, tableHeader) => {
      let from = 0
      for (const to of pack(units, m).flatMap((end, i, ends) => splitUnfit(m, units, ends[i - 1] ?? 0, end))) {
        const [first, last] = [units[from]!, units[to - 1]!]
        const previous = passages.at(-1)
        const repeated = from === 0 || previous === undefined ? first.start : overlapStart(m, units, from, to, previous)
        const start = indented
          ? lineStart(m.text, repeated, Math.max(previous?.end ?? 0, last.end - m.width))
          : repeated
        const header = tableHeader?.(start)
        passages.push({
          text: m.text.slice(start, last.end),
          heading: heading(start, last.end),
          start,
          end: last.end,
          startLine: firstLine(start),
          endLine: lastLine(last.end - 1),
          ...(header === undefined ? {} : { tableHeader: header })
        })
        from = to
      }
    }
  }
}

/**
 * Counts are added, which is valid for pieces separated by white space. A passage with a joint elsewhere is counted as
 * a whole; if it is too large, it is split.
 */
const splitUnfit = (m: Measure, units: ReadonlyArray<Unit>, from: number, to: number): ReadonlyArray<number> => {
  if (to - from === 1 || !hasTightJoint(units, from, to)) return [to]
  const { start } = units[from]!
  const { end } = units[to - 1]!
  if (fits(m, m.count(start, end), start, end)) return [to]
  const middle = (from + to) >> 1
  return [...splitUnfit(m, units, from, middle), ...splitUnfit(m, units, middle, to)]
}

const lineStart = (text: string, start: number, least: number): number => {
  let at = start
  while (
    at > least &&
    isSpace(text.charCodeAt(at - 1)) &&
    text.charCodeAt(at - 1) !== 10 &&
    text.charCodeAt(at - 1) !== 13
  )
    at--
  const before = text.charCodeAt(at - 1)
  return at === 0 || before === 10 || before === 13 ? at : start
}
