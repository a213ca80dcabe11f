// The arrays of the kernel that makes segments: its terms, and their postings in the current segment.

/** Where the caller writes a term, and the classes of UTF-16 units; below are the kernel's constants. */
export const scratch: usize = 1024
export const classes: usize = 2048
const first: usize = classes + 65536

/** A term in UTF-8, with its postings in the current segment; `prefix` is its first eight bytes. */
@unmanaged
export class Term {
  prefix: u64
  at: u32
  length: u32
  hash: u32
  segment: u32
  first: u32
  last: u32
  count: u32
  unused: u32
}
export const termBytes: u32 = 40

/** `next` of the same term, the passage's ordinal, and the frequencies in title, heading and text. */
@unmanaged
export class Posting {
  next: u32
  ordinal: u32
  title: u32
  heading: u32
  text: u32
}
export const postingBytes: u32 = 20

/** An array that grows: its address, the bytes used and the bytes there are. */
@unmanaged
export class List {
  at: usize
  used: u32
  room: u32
}

let top: usize = first

export function allocate(bytes: usize): usize {
  const at = (top + 15) & ~15
  top = at + bytes
  const pages = <i32>((top + 65535) >> 16) - memory.size()
  // By at least 1 MB, so that growing is rare.
  if (pages > 0 && memory.grow(max(pages, 16)) < 0 && memory.grow(pages) < 0) unreachable()
  return at
}

export function list(room: u32): List {
  const made = changetype<List>(allocate(12))
  made.at = allocate(room)
  made.used = 0
  made.room = room
  return made
}

/** Makes room for more bytes, and returns their place from the list's beginning. */
export function extend(to: List, bytes: u32): u32 {
  const at = to.used
  to.used = at + bytes
  if (to.used > to.room) {
    const room = max(2 * to.room, to.used)
    const moved = allocate(room)
    memory.copy(moved, to.at, at)
    to.at = moved
    to.room = room
  }
  return at
}

/** Where a hash belongs in a table of slots, each 0 or a number and one. */
export function slotOf(hash: u32, slots: List): u32 {
  return (hash ^ (hash >>> 15)) & ((slots.room >>> 2) - 1)
}

export function put(slots: List, hash: u32, number: u32): void {
  const last = (slots.room >>> 2) - 1
  let slot = slotOf(hash, slots)
  while (load<u32>(slots.at + (slot << 2)) !== 0) slot = (slot + 1) & last
  store<u32>(slots.at + (slot << 2), number + 1)
}

/** Doubles a table of slots, which is then empty. */
export function double(slots: List): void {
  slots.room *= 2
  slots.at = allocate(slots.room)
  memory.fill(slots.at, 0, slots.room)
}

export const termList = list(1024 * termBytes)
export const termText = list(16384)
export const postings = list(8192 * postingBytes)
/** The numbers of the terms in the current segment. */
export const used = list(4 * 2048)

export function termAt(number: u32): Term {
  return changetype<Term>(termList.at + number * termBytes)
}

export function postingAt(number: u32): Posting {
  return changetype<Posting>(postings.at + number * postingBytes)
}
