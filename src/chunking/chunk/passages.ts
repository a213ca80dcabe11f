import type { Passage } from "../../model/Passage.ts"
import { lineCounter } from "../../entries/lines.ts"
import type { Measure } from "./measure.ts"
import { overlapStart } from "./overlap.ts"
import { pack } from "./pack.ts"
import { isSpace } from "../../entries/space.ts"
import { fits, hasTightJoint, type Unit } from "./unit.ts"

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
        const first = units[from]
        const last = units[to - 1]
        if (first === undefined || last === undefined) break
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
  const first = units[from]
  const last = units[to - 1]
  if (first === undefined || last === undefined || to - from === 1 || !hasTightJoint(units, from, to)) return [to]
  if (fits(m, m.count(first.start, last.end), first.start, last.end)) return [to]
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
