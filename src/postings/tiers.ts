import { maxPassages } from "./SegmentStore.ts"

/** This many adjacent segments of a tier become one of the next. */
const fanOut = 8
const mostInputs = 16
/** A segment is in the first tier whose bound exceeds its number of living passages. */
const bounds = [512, 4096, 32_768, 262_144, maxPassages]
/** A segment is rewritten when a larger part of it is deleted. */
const mostDead = 1 / 8

/** With this many segments in a collection, merging does not keep up: then writers must merge. */
export const crowd = 8 * bounds.length + 24

interface Sized {
  readonly passages: number
  readonly dead: number
}

/** The longest stretch, of at least two, that fits into one segment; the earliest of equals. */
const fitting = <A extends Sized>(run: ReadonlyArray<A>): ReadonlyArray<A> => {
  let best: ReadonlyArray<A> = []
  for (let start = 0; start + best.length < run.length; start++) {
    let sum = 0
    let end = start
    for (; end < run.length && end - start < mostInputs; end++) {
      sum += living(run[end]!)
      if (sum > maxPassages) break
    }
    if (end - start > best.length) best = run.slice(start, end)
  }
  return best.length < 2 ? [] : best
}

const living = ({ dead, passages }: Sized): number => passages - dead

/** The segments to merge next if few segments and no deleted passages are to remain. */
export const planWhole = <A extends Sized>(
  segments: ReadonlyArray<A>,
  isTaken: (segment: A) => boolean
): ReadonlyArray<A> => {
  const free = segments.filter((segment) => !isTaken(segment))
  const chosen = fitting(free)
  if (chosen.length > 0 || free.length < segments.length) return chosen
  return free.filter(({ dead }) => dead > 0).slice(0, 1)
}

/** The segments to merge next if no deleted passages are to remain. */
export const planClean = <A extends Sized>(
  segments: ReadonlyArray<A>,
  isTaken: (segment: A) => boolean
): ReadonlyArray<A> => {
  const due = plan(segments, isTaken)
  return due.length > 0 ? due : segments.filter((segment) => !isTaken(segment) && segment.dead > 0).slice(0, 1)
}

/**
 * The next segments to merge, of a collection's in order; small ones first, always adjacent, so that ids keep their
 * order. Empty: none. Leaves at most seven adjacent segments of a tier, and few deleted passages.
 */
export const plan = <A extends Sized>(
  segments: ReadonlyArray<A>,
  isTaken: (segment: A) => boolean
): ReadonlyArray<A> => {
  for (const bound of bounds) {
    let run: Array<A> = []
    for (const segment of [...segments, undefined]) {
      if (segment !== undefined && !isTaken(segment) && living(segment) < bound) run.push(segment)
      else {
        const chosen = run.length < fanOut ? [] : fitting(run)
        if (chosen.length > 0) return chosen
        run = []
      }
    }
  }
  return segments.filter((segment) => !isTaken(segment) && segment.dead > segment.passages * mostDead).slice(0, 1)
}
