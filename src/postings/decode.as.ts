// Reads the bytes of a term's postings, and detects invalid ones. The layout of
// postings and the weights of fields are defined in posting.ts.

/** No ordinal. */
export const none: u32 = 0xffffffff

const titleWeight: u32 = 3

/** Where the next byte is read, and where the last varint ended. */
let place: usize = 0

/** Moves to a position. */
export function seek(at: usize): void {
  place = at
}

/** The end of the last varint. */
export function ended(): usize {
  return place
}

/** The varint at the place. */
export function varint(): u32 {
  let byte = <u32>load<u8>(place++)
  if (byte < 128) return byte
  let value = byte & 127
  let shift: u32 = 7
  do {
    byte = <u32>load<u8>(place++)
    value |= (byte & 127) << shift
    shift += 7
  } while (byte > 127)
  return value
}

/** The weighted frequency at `place`. */
export function frequency(): u32 {
  const packed = varint()
  let title = (packed >>> 2) & 3
  let heading = packed & 3
  if (title === 3) title += varint()
  if (heading === 3) heading += varint()
  return (packed >>> 4) + heading + titleWeight * title
}

/** Whether a bitmap contains an ordinal. */
export function has(bits: usize, ordinal: u32): bool {
  return ((load<u8>(bits + (ordinal >>> 3)) >>> (ordinal & 7)) & 1) === 1
}

/** Moves past a 32-bit varint; false if it is longer or exceeds `end`. */
function skip(end: usize): bool {
  for (let i = 0; i < 5; i++) {
    if (place >= end) return false
    if (load<u8>(place++) < 128) return true
  }
  return false
}

/** Whether there is a varint; its value goes to `read`. */
let read: u32 = 0
function readUpTo(end: usize): bool {
  const start = place
  if (!skip(end)) return false
  const after = place
  place = start
  read = varint()
  place = after
  return true
}

/**
 * The number of a term's postings; 0 if the bytes are invalid, or contain an ordinal of `passages` or more. With bytes
 * that pass, all other functions here stay within bounds.
 */
export function check(at: usize, end: usize, passages: u32): u32 {
  place = at
  let next: u32 = 0
  let count: u32 = 0
  while (place < end) {
    if (!readUpTo(end)) return 0
    const skipped = read >>> 1
    if (skipped >= passages - next) return 0
    next += skipped + 1
    if (read & 1) {
      if (!readUpTo(end)) return 0
      const packed = read
      if (((packed >>> 2) & 3) === 3 && !skip(end)) return 0
      if ((packed & 3) === 3 && !skip(end)) return 0
    }
    count++
  }
  return count
}

/** How many of a term's postings belong to passages that are not dead. */
export function countLiving(at: usize, end: usize, dead: usize): u32 {
  place = at
  let ordinal: u32 = none
  let living: u32 = 0
  while (place < end) {
    const head = varint()
    ordinal += (head >>> 1) + 1
    if (head & 1) frequency()
    if (!has(dead, ordinal)) living++
  }
  return living
}
