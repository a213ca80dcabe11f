// Writes a segment's terms in order, with their postings. block.ts and bytes.ts define the layout.
import { extend, list, postingAt, Term, termAt, termText, used } from "./segmentLists.as"

const blockBytes: u32 = 16384
/** Bytes of a posting at most, and of an entry without its postings. */
const mostPosting: u32 = 25
const mostEntry: u32 = 2048

const sorting = list(16384)
const merging = list(16384)
const entry = list(16384)
const block = list(3 * blockBytes)

/** What is sorted: a term's prefix, which decides of most, and its number. */
const sortedBytes: u32 = 16

function numberAt(place: usize): u32 {
  return load<u32>(place, 8)
}

/** Whether a term is before another, by bytes. */
function isBefore(a: usize, b: usize): bool {
  const one = load<u64>(a)
  const another = load<u64>(b)
  if (one !== another) return one < another
  const x = termAt(numberAt(a))
  const y = termAt(numberAt(b))
  const order = memory.compare(termText.at + x.at, termText.at + y.at, min(x.length, y.length))
  return order === 0 ? x.length < y.length : order < 0
}

let sorted: usize = 0
let next: u32 = 0

/** Sorts the segment's terms, and begins its blocks. */
export function sort(): void {
  const terms = used.used >>> 2
  sorting.used = 0
  merging.used = 0
  extend(sorting, terms * sortedBytes)
  extend(merging, terms * sortedBytes)
  for (let index: u32 = 0; index < terms; index++) {
    const number = load<u32>(used.at + (index << 2))
    const place = sorting.at + index * sortedBytes
    store<u64>(place, termAt(number).prefix)
    store<u64>(place, number, 8)
  }
  let from = sorting.at
  let to = merging.at
  for (let width: u32 = 1; width < terms; width *= 2) {
    for (let start: u32 = 0; start < terms; start += 2 * width) {
      const middle = min(start + width, terms)
      const end = min(start + 2 * width, terms)
      let left = start
      let right = middle
      for (let place = start; place < end; place++) {
        const isRight =
          left === middle || (right < end && isBefore(from + right * sortedBytes, from + left * sortedBytes))
        const taken = isRight ? right++ : left++
        v128.store(to + place * sortedBytes, v128.load(from + taken * sortedBytes))
      }
    }
    const before = from
    from = to
    to = before
  }
  sorted = from
  next = 0
}

let out: usize = 0

function varint(value: u32): void {
  let rest = value
  while (rest > 127) {
    store<u8>(out++, <u8>(rest & 127) | 128)
    rest >>>= 7
  }
  store<u8>(out++, <u8>rest)
}

/** Writes a term's postings to `entry`, and returns the last ordinal. */
function write(term: Term): u32 {
  entry.used = 0
  extend(entry, term.count * mostPosting)
  out = entry.at
  let previous: u32 = 0xffffffff
  let number = term.first
  for (let i: u32 = 0; i < term.count; i++) {
    const posting = postingAt(number)
    const skipped = posting.ordinal - previous - 1
    previous = posting.ordinal
    number = posting.next
    const title = posting.title
    const heading = posting.heading
    const text = posting.text
    if (text === 1 && title === 0 && heading === 0) {
      varint(2 * skipped)
      continue
    }
    varint(2 * skipped + 1)
    varint(16 * text + 4 * min(title, 3) + min(heading, 3))
    if (title >= 3) varint(title - 3)
    if (heading >= 3) varint(heading - 3)
  }
  return previous
}

/** Where the last block's first term is, and its bytes. */
let firstTerm: u32 = 0
export function firstAt(): usize {
  return termText.at + termAt(firstTerm).at
}
export function firstBytes(): u32 {
  return termAt(firstTerm).length
}
export function blockAt(): usize {
  return block.at
}

/** Writes the next block, and returns its bytes; 0 after the last. */
export function nextBlock(): u32 {
  block.used = 0
  const terms = used.used >>> 2
  let before: u32 = 0
  while (next < terms) {
    const number = numberAt(sorted + next * sortedBytes)
    const term = termAt(number)
    const ordinal = write(term)
    const bytes = <u32>(out - entry.at)
    const written = block.used
    if (written > 0 && written + bytes > 2 * blockBytes) break
    let shared: u32 = 0
    if (written === 0) firstTerm = number
    else {
      const last = termAt(before)
      const most = min(term.length, last.length)
      while (shared < most && load<u8>(termText.at + term.at + shared) === load<u8>(termText.at + last.at + shared))
        shared++
    }
    extend(block, mostEntry + bytes)
    const start = block.at + written
    out = start
    varint(shared)
    varint(term.length - shared)
    memory.copy(out, termText.at + term.at + shared, term.length - shared)
    out += term.length - shared
    varint(term.count)
    if (term.count > 1) varint(ordinal)
    varint(bytes)
    memory.copy(out, entry.at, bytes)
    out += bytes
    block.used = <u32>(out - block.at)
    before = number
    next++
    if (block.used >= blockBytes) break
  }
  return block.used
}
