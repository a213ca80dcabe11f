import * as Effect from "effect/Effect"
import { byCodePoint } from "../model/units.ts"
import type { Place, Snapshot } from "./Snapshot.ts"
import { type Scored, byScore, falling } from "../model/Passage.ts"

interface Candidate extends Scored {
  /** Decides between equal scores, before the position does. */
  readonly second?: number
}

/**
 * Passages that share their score with a neighbour, from a list by falling scores, for runs that begin before `until`.
 */
export const tied = (sorted: ReadonlyArray<Candidate>, until: number): ReadonlyArray<number> => {
  const ids: Array<number> = []
  for (let from = 0; from < Math.min(until, sorted.length);) {
    let to = from + 1
    while (to < sorted.length && isTie(sorted[to]!, sorted[from]!)) to++
    if (to - from > 1) for (let i = from; i < to; i++) ids.push(sorted[i]!.id)
    from = to
  }
  return ids
}

const isTie = (a: Candidate, b: Candidate): boolean => a.score === b.score && a.second === b.second

/**
 * The order of passages with equal scores: by doc_id, then collection and ordinal. A store may have to choose between
 * equals too, and uses that order. A passage's position is only read when needed.
 */
export class TieOrder<E> {
  private readonly places = new Map<number, Place>()

  constructor(private readonly snapshot: Pick<Snapshot<E>, "places">) {}

  /** Reads the positions of passages; false: all were known. */
  learn(ids: ReadonlyArray<number>): Effect.Effect<boolean, E> {
    const unknown = [...new Set(ids)].filter((id) => !this.places.has(id))
    if (unknown.length === 0) return Effect.succeed(false)
    return Effect.map(this.snapshot.places(unknown), (places) => {
      for (const [id, place] of places) this.places.set(id, place)
      return true
    })
  }

  /** By id while a position is unknown. */
  readonly compare = (a: number, b: number): number => {
    const [x, y] = [this.places.get(a), this.places.get(b)]
    if (x === undefined || y === undefined) return a - b
    return byCodePoint(x.doc_id, y.doc_id) || byCodePoint(x.collection, y.collection) || x.ordinal - y.ordinal
  }

  readonly best = (a: Candidate, b: Candidate): number =>
    byScore(a, b) || falling(a.second ?? 0, b.second ?? 0) || this.compare(a.id, b.id)
}
