import type { Measure } from "./measure.ts"
import { cut, type Unit } from "./unit.ts"

/** The cost of each passage, so that few are made; an empty one costs one more, a half-empty one a quarter more. */
const perPassage = 0.35

/** The most it costs to leave no room for the overlap. */
const noOverlap = 1

/** Whether a passage beginning with `units[at]` continues the prose of the previous one. */
export const continues = (units: ReadonlyArray<Unit>, at: number): boolean => {
  const flow = units[at]?.flow ?? 0
  return flow !== 0 && units[at - 1]?.flow === flow
}

/**
 * Where passages end, as exclusive indices into `units`, so that the total cost of the cuts and the empty room is
 * least: the way Knuth and Plass (1981) break paragraphs into lines. Every passage stays within the measure's size and
 * width, unless a single unit does not. Ties go to the longer later passage. Linear in the number of units, since
 * `append` limits how many a passage has.
 */
export const pack = (units: ReadonlyArray<Unit>, m: Measure): ReadonlyArray<number> => {
  const n = units.length
  if (wholeFits(units, m)) return n === 0 ? [] : [n]
  const costs = new Float64Array(n + 1)
  const from = new Int32Array(n + 1)
  for (let to = 1; to <= n; to++) {
    const last = units[to - 1]
    if (last === undefined) break
    let tokens = 0
    let extra = 0
    let best = Infinity
    for (let at = to - 1; at >= 0; at--) {
      const first = units[at]
      if (first === undefined) break
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
