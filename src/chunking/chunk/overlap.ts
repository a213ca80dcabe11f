import { type Measure, widthPerToken } from "./measure.ts"
import { continues } from "./pack.ts"
import { eachSentence } from "../sentences.ts"
import { isSpace, skipSpace, skipWord } from "../../entries/space.ts"
import { cut, fits, hasTightJoint, type Unit } from "./unit.ts"

/**
 * Where the passage of `units[from]` to `units[to - 1]` begins if it repeats the end of the previous one: as many whole
 * sentences (or lines) as the overlap and its own size allow. It only repeats text if it continues the same prose. If
 * the cut split a sentence, the repeated part may start within it, at a word.
 */
export const overlapStart = (
  m: Measure,
  units: ReadonlyArray<Unit>,
  from: number,
  to: number,
  previous: { readonly start: number }
): number => {
  const own = units[from]?.start ?? 0
  const end = units[to - 1]?.end ?? own
  if (m.overlap <= 0 || !continues(units, from)) return own
  let tokens = 0
  for (let at = from; at < to; at++) tokens += units[at]?.tokens ?? 0
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
