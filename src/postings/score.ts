import { idf, norm } from "./bm25.ts"
import type { Mask } from "../model/Mask.ts"
import type { Scored } from "../model/Scored.ts"
import type { Arena } from "./Arena.ts"
import type { Loaded } from "./loaded.ts"
import { type Needle, needleKey } from "./load.ts"
import { allowed } from "./allowed.ts"
import type { Segment } from "./SegmentStore.ts"
import { isDead } from "./tombstones.ts"
import { describe, listBytes, window, windowsOf } from "./unpacked.ts"

/** A term of the query, and how often it occurs there; a fraction if it only stands in for another word. */
export interface Wanted extends Needle {
  readonly count: number
}

export interface SearchOptions {
  /** Passages wanted. */
  readonly depth: number
  /** The passages that may be found; undefined: all. */
  readonly mask: Pick<Mask, "bits"> | undefined
  /** Passages whose scores are wanted at any rank; they are within the mask. */
  readonly also: ReadonlyArray<number>
}

/** Bytes of what the kernel finds. */
const entryBytes = 16

/** Ordinals that the kernel processes between two checks for cancellation: a few milliseconds; a multiple of its windows. */
const stretch = 2 ** 17

/** Postings of a term in a segment that are not deleted. */
const living = (arena: Arena, { dead, version }: Segment, loaded: Loaded, needle: Needle): number => {
  const postings = loaded.postings.get(needleKey(needle))!
  if (dead === 0 || postings.count === 0) return postings.count
  if (postings.version !== version) {
    const [list] = arena.scratch([listBytes])
    describe(arena, list, postings, loaded.ids.count, 0)
    postings.living = arena.kernel.countLiving(list, windowsOf(loaded.ids.count), loaded.deadAt)
    postings.version = version
  }
  return postings.living
}

const total = (segments: ReadonlyArray<Segment>, of: (segment: Segment, index: number) => number): number =>
  segments.reduce((sum, segment, index) => sum + of(segment, index), 0)

/**
 * The best passages of loaded segments, with all that tie with the last, best first, then by id; undefined if
 * cancelled.
 */
export const score = (
  arena: Arena,
  segments: ReadonlyArray<Segment>,
  loaded: ReadonlyArray<Loaded>,
  wanted: ReadonlyArray<Wanted>,
  { also, depth, mask }: SearchOptions,
  isCancelled: () => boolean
): ReadonlyArray<Scored> | undefined => {
  const passages = total(segments, ({ dead, passages }) => passages - dead)
  const { base, gain, slope } = norm(
    passages,
    total(segments, ({ dead_terms, terms }) => terms - dead_terms)
  )
  if (passages === 0 || depth === 0) return []
  const weights = wanted.map((want) => {
    const matching = total(segments, (segment, index) => living(arena, segment, loaded[index]!, want))
    return want.count * gain * idf(passages, matching)
  })
  const most = Math.min(depth, passages)
  const largest = Math.max(...segments.map((segment) => segment.passages))
  // Has space for everything that one stretch finds, so that no tie is lost.
  const room = Math.min(stretch, Math.ceil(largest / window) * window)
  const [lists, heap, sums, out, alsoAt, alsoScores, allowedAt] = arena.scratch([
    listBytes * wanted.length,
    8 * most,
    8 * window,
    entryBytes * (room + window),
    4 * also.length,
    8 * also.length,
    Math.ceil(largest / 32) * 4
  ])
  const { bytes, doubles, kernel, words } = arena
  doubles.fill(0, sums / 8, sums / 8 + window)
  kernel.begin(heap, most, base, slope, sums)

  /** Describes the postings of the query's terms that a segment has; returns their number. */
  const describeAll = ({ ids, postings }: Loaded): number => {
    let count = 0
    for (const [place, want] of wanted.entries()) {
      const found = postings.get(needleKey(want))!
      if (found.count > 0) describe(arena, lists + listBytes * count++, found, ids.count, weights[place]!)
    }
    return count
  }
  const asked = also.toSorted((a, b) => a - b)
  const ordinalsIn = ({ deadAt, ids }: Loaded) =>
    asked
      .map((id) => ({ id, ordinal: ids.ordinalOf(id) }))
      .filter(({ ordinal }) => ordinal >= 0 && (deadAt === 0 || !isDead(bytes.subarray(deadAt), ordinal)))

  let candidates: Array<Scored> = []
  const above = (bound: number) => candidates.filter(({ score }) => score >= bound)
  const others: Array<Scored> = []
  /** The number of candidates at which those below the bound are dropped. */
  let next = window
  for (const segment of loaded) {
    const { deadAt, ids, lengthsAt } = segment
    const count = describeAll(segment)
    if (count === 0) continue
    const bits = words.subarray(allowedAt / 4, allowedAt / 4 + Math.ceil(ids.count / 32))
    if (mask !== undefined && !allowed(mask, ids, bits)) continue
    const here = ordinalsIn(segment)
    for (let from = 0; from < ids.count; from += stretch) {
      if (isCancelled()) return undefined
      const within = here.filter(({ ordinal }) => ordinal >= from && ordinal < from + stretch)
      for (const [place, { ordinal }] of within.entries()) words[alsoAt / 4 + place] = ordinal
      const found = kernel.rank(
        lists,
        count,
        lengthsAt,
        deadAt,
        mask === undefined ? 0 : allowedAt,
        alsoAt,
        alsoScores,
        within.length,
        out,
        room,
        from,
        Math.min(from + stretch, ids.count)
      )
      for (let entry = 0; entry < found; entry++) {
        const at = out + entryBytes * entry
        candidates.push({ id: ids.idOf(words[at / 4]!), score: doubles[at / 8 + 1]! })
      }
      if (candidates.length > next) {
        candidates = above(kernel.bound())
        next = 2 * candidates.length + window
      }
      for (const [place, { id }] of within.entries()) {
        const score = doubles[alsoScores / 8 + place]!
        if (score > 0) others.push({ id, score })
      }
    }
  }
  const ranked = above(kernel.bound()).sort((a, b) => b.score - a.score || a.id - b.id)
  const known = new Set(ranked.map(({ id }) => id))
  return [...ranked, ...others.filter(({ id }) => !known.has(id))]
}
