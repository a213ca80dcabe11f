// A term's unpacked postings in a segment. The ordinals are cut into windows, and each posting has two bytes: its
// ordinal within the window, its weighted frequency, and whether the title has the term. unpacked.ts defines where each
// part is.

/** Ordinals per window, as a power of two, and the bits of an ordinal within its window. */
export const windowBits: u32 = 11
export const window: u32 = 1 << windowBits
export const within: u32 = window - 1
/** Windows per chunk, as a power of two: the first postings of windows are counted from that of their chunk. */
export const chunkBits: u32 = 5

/** A weighted frequency of this or more is kept beside the postings, by their indices. */
export const escape: u32 = 15
/** Set if the title has the term. */
export const titled: u32 = 0x8000

/** Where a term's postings are, how much they weigh, and which of them are in the current window. */
@unmanaged
export class List {
  /** The index of each chunk's first posting; the number of postings in the chunk before each window. */
  chunks: u32
  windows: u32
  postings: u32
  /** Indices and frequencies. */
  escapes: u32
  escaped: u32
  first: u32
  end: u32
  weight: f64
}

/** Whether a bitmap contains an ordinal. */
export function has(bits: usize, ordinal: u32): bool {
  return ((load<u8>(bits + (ordinal >>> 3)) >>> (ordinal & 7)) & 1) === 1
}

function startOf(list: List, place: u32): u32 {
  return (
    load<u32>(<usize>list.chunks + ((<usize>(place >>> chunkBits)) << 2)) +
    <u32>load<u16>(<usize>list.windows + ((<usize>place) << 1))
  )
}

/** Goes to a window. */
export function enter(list: List, place: u32): void {
  list.first = startOf(list, place)
  list.end = startOf(list, place + 1)
}

/** The posting at an index. */
export function at(list: List, index: u32): u32 {
  return <u32>load<u16>(<usize>list.postings + ((<usize>index) << 1))
}

/** A frequency that does not fit its posting. */
export function large(list: List, index: u32): u32 {
  let low: u32 = 0
  let high = list.escaped
  while (low < high) {
    const middle = (low + high) >>> 1
    if (load<u32>(<usize>list.escapes + ((<usize>middle) << 3)) < index) low = middle + 1
    else high = middle
  }
  return load<u32>(<usize>list.escapes + ((<usize>low) << 3), 4)
}

/** How many postings of windows belong to passages that are not dead. */
export function countLiving(described: usize, windows: u32, dead: usize): u32 {
  const list = changetype<List>(described)
  let living: u32 = 0
  for (let place: u32 = 0; place < windows; place++) {
    enter(list, place)
    const bits = dead + ((<usize>place) << (windowBits - 3))
    for (let i = list.first; i < list.end; i++) if (!has(bits, at(list, i) & within)) living++
  }
  return living
}
