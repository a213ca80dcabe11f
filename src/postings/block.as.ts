// Finds terms in a block of postings, whose layout block.ts defines.

import { place, Varint } from "./decode.as"
import { has } from "./list.as"

/** Greater than the longest term in bytes of UTF-8. */
const maxTermBytes: u32 = 1024

const absent: u32 = 0
const found: u32 = 1
const invalid: u32 = 2

// The current entry: the length of its term, how many bytes of it are those of the term before and where the others are,
// the number of its postings, and where they begin and end.
let termLength: u32 = 0
let shared: u32 = 0
let suffix: usize = 0
let count: u32 = 0
let postings: usize = 0
let next: usize = 0

/** Reads the lengths of an entry's term; false if they are invalid. */
function enter(at: usize, end: usize): bool {
  shared = Varint.read(at, end)
  if (place === 0) return false
  const more = Varint.read(place, end)
  if (place === 0) return false
  suffix = place
  if (shared > termLength || more > maxTermBytes - shared || more > end - suffix) return false
  termLength = shared + more
  return true
}

/** Reads what follows an entry's term; false if it is invalid. */
function leave(end: usize): bool {
  count = Varint.read(suffix + termLength - shared, end)
  if (place === 0) return false
  // The last ordinal.
  if (count > 1) Varint.read(place, end)
  if (place === 0) return false
  const bytes = Varint.read(place, end)
  if (place === 0) return false
  postings = place
  next = postings + bytes
  // A posting takes at least one byte.
  return count > 0 && count <= bytes && bytes <= end - postings
}

/**
 * Finds the postings of a term of `length` bytes at `needle` in the block between `from` and `end`, and stores where they
 * begin and end, and their number, at `out`. Compares only terms that have as many bytes of the term before as that has of
 * the needle: with more they precede the needle by the same byte, with fewer they follow it.
 */
export function find(from: usize, end: usize, needle: usize, length: u32, out: usize): u32 {
  let alike: u32 = 0
  termLength = 0
  for (next = from; next < end;) {
    if (!enter(next, end)) return invalid
    if (shared < alike) return absent
    if (shared === alike) {
      const term = suffix - shared
      const most = min(termLength, length)
      while (alike < most && load<u8>(term + alike) === load<u8>(needle + alike)) alike++
      if (alike < termLength && (alike === length || load<u8>(term + alike) > load<u8>(needle + alike))) return absent
    }
    if (!leave(end)) return invalid
    if (alike < length) continue
    store<u32>(out, <u32>(postings - from))
    store<u32>(out, <u32>(next - from), 4)
    store<u32>(out, count, 8)
    return found
  }
  return absent
}

/**
 * What terms must have to be similar to a word: lengths in bytes, the number of edits, and the word's letters as bits, or 0
 * if it has others than a to z; how far a block is read, and the last term's length and count. Behind are a bitmap of the
 * hashes of edited words, and the last term.
 */
@unmanaged
export class Similar {
  shortest: u32
  longest: u32
  edits: u32
  letters: u32
  at: u32
  end: u32
  length: u32
  count: u32
}
const hashes: u32 = 16384
const hashesAt: usize = 32
const termAt: usize = hashesAt + hashes / 8

function isSmallLetter(byte: u32): bool {
  return byte - 97 < 26
}

/** False if a term is certainly not similar. */
function mayBe(similar: Similar, term: usize, length: u32): bool {
  if (length < similar.shortest || length > similar.longest) return false
  let hash: u32 = 0
  let letters: u32 = 0
  for (let i: u32 = 0; i < length; i++) {
    const byte = <u32>load<u8>(term + i)
    // Signs and digits are in no word.
    if (!isSmallLetter(byte)) return byte > 127 || byte - 65 < 26
    hash = hash * 31 + byte
    letters |= 1 << (byte - 97)
  }
  const own = similar.letters
  if (own === 0 || has(changetype<usize>(similar) + hashesAt, hash % hashes)) return true
  // Each edit adds at most one letter and removes at most one.
  return popcnt(letters & ~own) <= similar.edits && popcnt(own & ~letters) <= similar.edits
}

/** Goes to the next term of a block that may be similar to a word. */
export function nextSimilar(to: usize): u32 {
  const similar = changetype<Similar>(to)
  const end = <usize>similar.end
  const term = changetype<usize>(similar) + termAt
  termLength = similar.length
  for (next = similar.at; next < end;) {
    if (!enter(next, end)) return invalid
    memory.copy(term + shared, suffix, termLength - shared)
    if (!leave(end)) return invalid
    if (!mayBe(similar, term, termLength)) continue
    similar.at = <u32>next
    similar.length = termLength
    similar.count = count
    return found
  }
  return absent
}
