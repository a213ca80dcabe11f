// Scores a segment's passages by the postings of a query's terms, window by window, so that sums stay in the cache.
// unpacked.ts defines the layout of postings.

import { find, nextSimilar } from "./block.as"
import { unpack } from "./decode.as"
import { at, countLiving, enter, escape, has, large, List, window, windowBits, within } from "./list.as"

export { countLiving, find, nextSimilar, unpack }

const least: f64 = 5e-324

@unmanaged
class Entry {
  ordinal: u32
  unused: u32
  score: f64
}

// The best scores so far, over all segments of a query: a heap with the least on top.
let heap: usize = 0
let heapSize: u32 = 0
let depth: u32 = 0
let threshold: f64 = least
// The norm of BM25, and the sums of a window, all 0 between two windows.
let base: f64 = 0
let slope: f64 = 0
let sums: usize = 0

/** Starts a query for the best `k`, with space for that many scores at `heapAt`, and for a window's at `sumsAt`. */
export function begin(heapAt: usize, k: u32, ofNorm: f64, perTerm: f64, sumsAt: usize): void {
  heap = heapAt
  heapSize = 0
  depth = k
  threshold = least
  base = ofNorm
  slope = perTerm
  sums = sumsAt
}

/** The lowest score that may still be among the best. */
export function bound(): f64 {
  return threshold
}

function push(score: f64): void {
  let i: u32
  if (heapSize < depth) {
    i = heapSize++
    while (i > 0) {
      const parent = (i - 1) >>> 1
      const above = load<f64>(heap + ((<usize>parent) << 3))
      if (above <= score) break
      store<f64>(heap + ((<usize>i) << 3), above)
      i = parent
    }
  } else {
    i = 0
    for (;;) {
      let child: u32 = 2 * i + 1
      if (child >= heapSize) break
      let below = load<f64>(heap + ((<usize>child) << 3))
      if (child + 1 < heapSize) {
        const right = load<f64>(heap + ((<usize>(child + 1)) << 3))
        if (right < below) {
          below = right
          child++
        }
      }
      if (below >= score) break
      store<f64>(heap + ((<usize>i) << 3), below)
      i = child
    }
  }
  store<f64>(heap + ((<usize>i) << 3), score)
  if (heapSize === depth) threshold = load<f64>(heap)
}

/** The weighted frequency of a list's posting. */
function frequency(list: List, index: u32, posting: u32): u32 {
  const f = (posting >>> windowBits) & escape
  return f === escape ? large(list, index) : f
}

/** Adds a term's contributions to the sums of the current window, whose passages' lengths are at `lengths`. */
function accumulate(list: List, lengths: usize): void {
  // In locals, since a store might change what is in memory.
  const postings = <usize>list.postings
  const own = sums
  const weight = list.weight
  const b0 = base
  const s0 = slope
  const end = list.end
  for (let i = list.first; i < end; i++) {
    const posting = <u32>load<u16>(postings + ((<usize>i) << 1))
    const f = <f64>frequency(list, i, posting)
    const ordinal = <usize>(posting & within)
    const length = <f64>load<u32>(lengths + (ordinal << 2))
    const sum = own + (ordinal << 3)
    store<f64>(sum, load<f64>(sum) + (weight * f) / (f + b0 + s0 * length))
  }
}

/** Drops candidates that have fallen below the bound, and ties with it beyond the room. */
function compact(out: usize, found: u32, room: u32): u32 {
  let above: u32 = 0
  for (let i: u32 = 0; i < found; i++) {
    if (changetype<Entry>(out + ((<usize>i) << 4)).score > threshold) above++
  }
  let ties: u32 = room > above ? room - above : 0
  let kept: u32 = 0
  for (let i: u32 = 0; i < found; i++) {
    const entry = changetype<Entry>(out + ((<usize>i) << 4))
    if (entry.score < threshold) continue
    if (entry.score === threshold) {
      if (ties === 0) continue
      ties--
    }
    if (kept !== i) memory.copy(out + ((<usize>kept) << 4), out + ((<usize>i) << 4), 16)
    kept++
  }
  return kept
}

/**
 * Goes through the ordinals from `from`, a multiple of the window, up to `until`. Writes passages that may be among the
 * best to `out` (ordinal, score) and returns their number. `room` is how many may be kept between windows; `out` must fit
 * one window more. `dead` and `allowed` are bitmaps by ordinal, 0 if there is none. The scores of the ordinals at `also`
 * (ascending) go to `alsoScores`, 0 if nothing matches.
 */
export function rank(
  lists: usize,
  listCount: u32,
  lengths: usize,
  dead: usize,
  allowed: usize,
  also: usize,
  alsoScores: usize,
  alsoCount: u32,
  out: usize,
  room: u32,
  from: u32,
  until: u32
): u32 {
  let found: u32 = 0
  let alsoAt: u32 = 0
  const size = <u32>offsetof<List>()
  for (let start = from; start < until; start += window) {
    let any = false
    for (let l: u32 = 0; l < listCount; l++) {
      const list = changetype<List>(lists + l * size)
      enter(list, start >>> windowBits)
      if (list.first === list.end) continue
      accumulate(list, lengths + ((<usize>start) << 2))
      any = true
    }
    for (; alsoAt < alsoCount; alsoAt++) {
      const ordinal = load<u32>(also + ((<usize>alsoAt) << 2)) - start
      if (ordinal >= window) break
      store<f64>(alsoScores + ((<usize>alsoAt) << 3), load<f64>(sums + ((<usize>ordinal) << 3)))
    }
    if (!any) continue
    for (let i: u32 = 0; i < window; i += 4) {
      const four = sums + ((<usize>i) << 3)
      const enough = f64x2.splat(threshold)
      const first = f64x2.ge(v128.load(four), enough)
      const second = f64x2.ge(v128.load(four, 16), enough)
      if (!v128.any_true(v128.or(first, second))) continue
      let reached = i64x2.bitmask(first) | (i64x2.bitmask(second) << 2)
      for (; reached !== 0; reached &= reached - 1) {
        const place = i + <u32>ctz(reached)
        const ordinal = start + place
        const score = load<f64>(sums + ((<usize>place) << 3))
        if (score < threshold) continue
        if (dead !== 0 && has(dead, ordinal)) continue
        if (allowed !== 0 && !has(allowed, ordinal)) continue
        const entry = changetype<Entry>(out + ((<usize>found) << 4))
        entry.ordinal = ordinal
        entry.score = score
        found++
        if (heapSize < depth || score > threshold) push(score)
      }
    }
    memory.fill(sums, 0, (<usize>window) << 3)
    if (found > room) found = compact(out, found, room)
  }
  return found
}
