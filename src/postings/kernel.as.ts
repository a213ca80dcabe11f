// Scores a segment's passages by the postings of a query's terms, window by window, so that sums stay in the cache.
// posting.ts defines the layout of postings.

import { check, countLiving, ended, frequency, has, none, seek, varint } from "./decode.as"

export { check, countLiving }

const window: u32 = 8192
const least: f64 = 5e-324

/** A term's cursor: its position, its end, its current ordinal, whether frequencies follow, and its weight. */
@unmanaged
class Cursor {
  at: u32
  end: u32
  ordinal: u32
  rich: u32
  weight: f64
}

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

/** Moves to the next posting, if there is one. */
function advance(cursor: Cursor): void {
  if (cursor.at >= cursor.end) {
    cursor.ordinal = none
    return
  }
  seek(cursor.at)
  const head = varint()
  cursor.at = <u32>ended()
  cursor.ordinal += (head >>> 1) + 1
  cursor.rich = head & 1
}

/** Starts a query for the best `k`, with space for that many scores at `at`. */
export function begin(at: usize, k: u32): void {
  heap = at
  heapSize = 0
  depth = k
  threshold = least
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

/** Adds a term's contribution to the scores of the window from `start` to `limit`. */
function accumulate(cursor: Cursor, start: u32, limit: u32, lengths: usize, base: f64, slope: f64, sums: usize): void {
  const end = <usize>cursor.end
  const weight = cursor.weight
  let ordinal = cursor.ordinal
  let rich = cursor.rich
  let at: usize = cursor.at
  const origin = sums - ((<usize>start) << 3)
  for (;;) {
    let f = 1.0
    if (rich) {
      seek(at)
      f = <f64>frequency()
      at = ended()
    }
    const length = <f64>load<u32>(lengths + ((<usize>ordinal) << 2))
    const sum = origin + ((<usize>ordinal) << 3)
    store<f64>(sum, load<f64>(sum) + (weight * f) / (f + base + slope * length))
    if (at >= end) {
      ordinal = none
      break
    }
    // Most are one byte; reading a varint into a local is faster than into a global.
    let head = <u32>load<u8>(at++)
    if (head > 127) {
      const second = <u32>load<u8>(at++)
      head = (head & 127) | ((second & 127) << 7)
      let shift: u32 = 14
      for (let byte = second; byte > 127; shift += 7) {
        byte = <u32>load<u8>(at++)
        head |= (byte & 127) << shift
      }
    }
    ordinal += (head >>> 1) + 1
    rich = head & 1
    if (ordinal >= limit) break
  }
  cursor.at = <u32>at
  cursor.ordinal = ordinal
  cursor.rich = rich
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

/** Moves cursors before their first posting (ordinal -1) to it. */
export function open(cursors: usize, count: u32): void {
  const size = <u32>offsetof<Cursor>()
  for (let i: u32 = 0; i < count; i++) advance(changetype<Cursor>(cursors + i * size))
}

/**
 * Continues up to the ordinal `until`, a multiple of the window. Writes passages that may be among the best to `out`
 * (ordinal, score) and returns their number. `room` is how many may be kept between windows; `out` must fit one window
 * more. `dead` and `allowed` are bitmaps by ordinal, 0 if there is none. The scores of the ordinals at `also` (ascending)
 * go to `alsoScores`, 0 if nothing matches. `sums` has a window's scores, all 0.
 */
export function rank(
  cursors: usize,
  cursorCount: u32,
  lengths: usize,
  base: f64,
  slope: f64,
  dead: usize,
  allowed: usize,
  also: usize,
  alsoScores: usize,
  alsoCount: u32,
  sums: usize,
  out: usize,
  room: u32,
  until: u32
): u32 {
  let found: u32 = 0
  let alsoAt: u32 = 0
  const size = <u32>offsetof<Cursor>()
  for (;;) {
    let first = none
    for (let i: u32 = 0; i < cursorCount; i++) first = min(first, changetype<Cursor>(cursors + i * size).ordinal)
    if (first >= until) break
    const start = first & ~(window - 1)
    const limit = start + window
    for (let i: u32 = 0; i < cursorCount; i++) {
      const cursor = changetype<Cursor>(cursors + i * size)
      if (cursor.ordinal < limit) accumulate(cursor, start, limit, lengths, base, slope, sums)
    }
    while (alsoAt < alsoCount) {
      const ordinal = load<u32>(also + ((<usize>alsoAt) << 2))
      if (ordinal >= limit) break
      store<f64>(
        alsoScores + ((<usize>alsoAt) << 3),
        ordinal >= start ? load<f64>(sums + ((<usize>(ordinal - start)) << 3)) : 0
      )
      alsoAt++
    }
    for (let i: u32 = first - start; i < window; i++) {
      if ((i & 3) === 0) {
        // Four at a time while none is good enough.
        const least = f64x2.splat(threshold)
        while (i < window) {
          const at = sums + ((<usize>i) << 3)
          const good = v128.or(f64x2.ge(v128.load(at), least), f64x2.ge(v128.load(at, 16), least))
          if (v128.any_true(good)) break
          i += 4
        }
        if (i >= window) break
      }
      const score = load<f64>(sums + ((<usize>i) << 3))
      if (score < threshold) continue
      const ordinal = start + i
      if (dead !== 0 && has(dead, ordinal)) continue
      if (allowed !== 0 && !has(allowed, ordinal)) continue
      const entry = changetype<Entry>(out + ((<usize>found) << 4))
      entry.ordinal = ordinal
      entry.score = score
      found++
      if (heapSize < depth || score > threshold) push(score)
    }
    memory.fill(sums, 0, (<usize>window) << 3)
    if (found > room) found = compact(out, found, room)
  }
  for (; alsoAt < alsoCount; alsoAt++) store<f64>(alsoScores + ((<usize>alsoAt) << 3), 0)
  return found
}
