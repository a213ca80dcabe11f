import { type Mask, type Scored, byScoreAndId } from "../model/Passage.ts"
import type { Arena, Loaded } from "./Arena.ts"
import { type Segment, livingIn } from "./SegmentStore.ts"
import { type Needle, needleKey } from "./load.ts"
import type { Runs } from "./runs.ts"
import { isDead } from "./tombstones.ts"
import { describe, listBytes, window, windowsOf } from "./unpacked.ts"

/** Up to 32 bits from an index; those beyond the bitmap are 0. */
const bitsAt = (bits: Uint32Array, place: number): number => {
  const word = Math.floor(place / 32)
  const shift = place % 32
  const low = word < bits.length ? (bits[word] as number) : 0
  if (shift === 0) return low
  const high = word + 1 < bits.length ? (bits[word + 1] as number) : 0
  return (low >>> shift) | (high << (32 - shift))
}

/** Writes to `out`, as bits, which ordinals are in a set of ids; false if none are. */
export const allowed = ({ bits }: Pick<Mask, "bits">, ids: Runs, out: Uint32Array): boolean => {
  out.fill(0)
  let any = 0
  for (let run = 0; run < ids.starts.length; run++) {
    const id = ids.starts[run] as number
    const ordinal = ids.ordinals[run] as number
    const length = ids.lengthOf(run)
    for (let done = 0; done < length; done += 32) {
      const left = length - done
      const taken = bitsAt(bits, id + done) & (left < 32 ? (1 << left) - 1 : -1)
      if (taken === 0) continue
      any = 1
      const word = (ordinal + done) >>> 5
      const shift = (ordinal + done) & 31
      out[word] = (out[word] as number) | (taken << shift)
      if (shift > 0 && word + 1 < out.length) out[word + 1] = (out[word + 1] as number) | (taken >>> (32 - shift))
    }
  }
  return any === 1
}

/** Saturation of a term's frequency, and the influence of a passage's length: the usual values. */
export const k1 = 1.2
export const b = 0.75

/** The weight of a term in more than half of the passages: close to zero, but they still match. */
const leastIdf = 1e-6

/** The weight of a term that occurs in `matching` of `total` passages (Robertson & Zaragoza 2009, 3.1). */
export const idf = (total: number, matching: number): number => {
  const weight = Math.log((total - matching + 0.5) / (matching + 0.5))
  return weight > 0 ? weight : leastIdf
}

/**
 * BM25 with lengths normalised by the average over all passages: a term adds `gain · idf · f / (f + base + slope · length)`
 * to the score of a passage of `length` terms where it occurs `f` times, each occurrence counted by its field's weight.
 */
interface Norm {
  readonly gain: number
  readonly base: number
  readonly slope: number
}

/** The norm for `passages` with `terms` in total. */
export const norm = (passages: number, terms: number): Norm => ({
  gain: k1 + 1,
  base: k1 * (1 - b),
  slope: terms === 0 ? 0 : (k1 * b * passages) / terms
})

/** A term of the query, and how often it occurs there; a fraction if it only stands in for another word. */
export interface Wanted extends Needle {
  readonly count: number
  /** The names that it belongs to, each by its terms, the whole name's first. */
  readonly names?: ReadonlyArray<ReadonlyArray<string>>
  /** It stands in for a word of the query that matches nothing. */
  readonly isNear?: boolean
}

/**
 * How much each term counts, of which so many passages have terms of such rarity. The parts of a name that occurs nowhere
 * as a whole weigh together like the rarest of them, each by the square of its rarity.
 */
export const counted = (
  wanted: ReadonlyArray<Wanted>,
  matching: ReadonlyArray<number>,
  rarity: ReadonlyArray<number>
): ReadonlyArray<number> => {
  const counts = wanted.map(({ count }) => count)
  for (const name of new Set(wanted.flatMap(({ names = [] }) => names))) {
    const own = [...wanted.keys()].filter((at) => wanted[at]!.names?.includes(name) && matching[at]! > 0)
    if (own.length === 0 || own.some((at) => wanted[at]!.term === name[0])) continue
    const most = Math.max(...own.map((at) => rarity[at]!))
    const sum = own.reduce((all, at) => all + rarity[at]! ** 3, 0)
    for (const at of own) counts[at] = Math.max(0, counts[at]! + (most * rarity[at]! ** 2) / sum - 1 / name.length)
  }
  return counts
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

/** The best passages, and what is known of the query's terms. */
export interface Matching {
  readonly found: ReadonlyArray<Scored>
  /** Which share of their weight those have that occur at all, 0 to 1. */
  readonly known: number
  /** The inverse document frequency of each. */
  readonly rarity: ReadonlyMap<string, number>
  /** How much each counts. */
  readonly counts: ReadonlyArray<number>
}

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
): Matching | undefined => {
  const passages = livingIn(segments)
  const { base, gain, slope } = norm(
    passages,
    total(segments, ({ dead_terms, terms }) => terms - dead_terms)
  )
  if (passages === 0 || depth === 0)
    return { found: [], known: 1, rarity: new Map(), counts: wanted.map(({ count }) => count) }
  const sum = { all: 0, known: 0 }
  const rarity = new Map<string, number>()
  const matching = wanted.map((want) =>
    total(segments, (segment, index) => living(arena, segment, loaded[index]!, want))
  )
  const rarities = matching.map((count) => idf(passages, count))
  const counts = counted(wanted, matching, rarities)
  const weights = wanted.map((want, at) => {
    const rare = rarities[at]!
    const weight = counts[at]! * gain * rare
    if (want.isNear !== true) {
      rarity.set(want.term, rare)
      sum.all += weight
      if (matching[at]! > 0) sum.known += weight
    }
    return weight
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
  const ordinalsIn = ({ deadAt, ids }: Loaded) => {
    const dead = deadAt === 0 ? undefined : bytes.subarray(deadAt)
    const found: Array<{ readonly id: number; readonly ordinal: number }> = []
    for (const id of asked) {
      const ordinal = ids.ordinalOf(id)
      if (ordinal >= 0 && (dead === undefined || !isDead(dead, ordinal))) found.push({ id, ordinal })
    }
    return found
  }

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
    let scored = 0
    for (let from = 0; from < ids.count; from += stretch) {
      if (isCancelled()) return undefined
      let within = 0
      for (; scored + within < here.length && here[scored + within]!.ordinal < from + stretch; within++) {
        words[alsoAt / 4 + within] = here[scored + within]!.ordinal
      }
      const found = kernel.rank(
        lists,
        count,
        lengthsAt,
        deadAt,
        mask === undefined ? 0 : allowedAt,
        alsoAt,
        alsoScores,
        within,
        out,
        room,
        from,
        Math.min(from + stretch, ids.count)
      )
      const bound = kernel.bound()
      for (let entry = 0; entry < found; entry++) {
        const at = out + entryBytes * entry
        const score = doubles[at / 8 + 1]!
        if (score >= bound) candidates.push({ id: ids.idOf(words[at / 4]!), score })
      }
      if (candidates.length > next) {
        candidates = above(bound)
        next = 2 * candidates.length + window
      }
      for (let place = 0; place < within; place++) {
        const score = doubles[alsoScores / 8 + place]!
        if (score > 0) others.push({ id: here[scored + place]!.id, score })
      }
      scored += within
    }
  }
  const ranked = above(kernel.bound()).sort(byScoreAndId)
  const known = new Set(others.length === 0 ? [] : ranked.map(({ id }) => id))
  return {
    found: others.length === 0 ? ranked : [...ranked, ...others.filter(({ id }) => !known.has(id))],
    known: sum.all === 0 ? 1 : sum.known / sum.all,
    rarity,
    counts
  }
}
