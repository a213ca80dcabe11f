import { maxPassages } from "./SegmentStore.ts"

/** So many segments of a tier side by side become one of the next. */
const fanOut = 8
const mostInputs = 16
/** Segments with fewer living passages than these are of the tier. */
const bounds = [512, 4096, 32_768, 262_144, maxPassages]
/** A segment is written anew when more than this part of it is deleted. */
const mostDead = 1 / 8

/** Segments of a collection that no merge keeps from growing: then whoever writes has to merge. */
export const crowd = 8 * bounds.length + 24

interface Sized {
  readonly passages: number
  readonly dead: number
}

/** The longest stretch that one segment can hold, of at least two; the earliest of those. */
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

/** The segments to be merged next so that in the end there are as few as can be, and nothing deleted in them. */
export const planWhole = <A extends Sized>(
  segments: ReadonlyArray<A>,
  isTaken: (segment: A) => boolean
): ReadonlyArray<A> => {
  const free = segments.filter((segment) => !isTaken(segment))
  const chosen = fitting(free)
  if (chosen.length > 0 || free.length < segments.length) return chosen
  const worn = free.find(({ dead }) => dead > 0)
  return worn === undefined ? [] : [worn]
}

/** The segments to be merged next so that in the end nothing deleted is in any. */
export const planClean = <A extends Sized>(
  segments: ReadonlyArray<A>,
  isTaken: (segment: A) => boolean
): ReadonlyArray<A> => {
  const due = plan(segments, isTaken)
  return due.length > 0 ? due : segments.filter((segment) => !isTaken(segment) && segment.dead > 0).slice(0, 1)
}

/**
 * The segments to be merged next, of a collection's in order; small ones first, always neighbours, so that ids keep
 * their order. Empty: none. Leaves at most seven of a tier side by side, and little that is deleted.
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
  const worn = segments.find((segment) => !isTaken(segment) && segment.dead > segment.passages * mostDead)
  return worn === undefined ? [] : [worn]
}
