// Finds a term in a block of postings, whose layout block.ts defines.

import { place, Varint } from "./decode.as"

/** Greater than the longest term in bytes of UTF-8. */
const maxTermBytes: u32 = 1024

export const absent: u32 = 0
export const found: u32 = 1
export const invalid: u32 = 2

/**
 * Finds the postings of a term of `length` bytes at `needle` in the block between `from` and `end`, and stores where they
 * begin and end, and their number, at `out`. Compares only terms that have as many bytes of the term before as that has of
 * the needle: with more they precede the needle by the same byte, with fewer they follow it.
 */
export function find(from: usize, end: usize, needle: usize, length: u32, out: usize): u32 {
  let at = from
  let termLength: u32 = 0
  let alike: u32 = 0
  while (at < end) {
    const shared = Varint.read(at, end)
    if (place === 0) return invalid
    const more = Varint.read(place, end)
    if (place === 0) return invalid
    at = place
    if (shared > termLength || more > maxTermBytes - shared || more > end - at) return invalid
    termLength = shared + more
    if (shared < alike) return absent
    if (shared === alike) {
      const term = at - shared
      const most = min(termLength, length)
      while (alike < most && load<u8>(term + alike) === load<u8>(needle + alike)) alike++
      if (alike < termLength && (alike === length || load<u8>(term + alike) > load<u8>(needle + alike))) return absent
    }
    const count = Varint.read(at + more, end)
    if (place === 0) return invalid
    // The last ordinal.
    if (count > 1) Varint.read(place, end)
    if (place === 0) return invalid
    const bytes = Varint.read(place, end)
    if (place === 0) return invalid
    at = place
    // A posting takes at least one byte.
    if (count < 1 || count > bytes || bytes > end - at) return invalid
    if (alike === length) {
      store<u32>(out, <u32>(at - from))
      store<u32>(out, <u32>(at - from) + bytes, 4)
      store<u32>(out, count, 8)
      return found
    }
    at += bytes
  }
  return absent
}
