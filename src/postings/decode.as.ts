// Unpacks the stored bytes of a term's postings (posting.ts defines their layout), and detects invalid ones.

import { chunkBits, escape, List, titled, windowBits, within } from "./list.as"

const titleWeight: u32 = 3

/** Where the next byte is read. */
let place: usize = 0

/** Whether a 32-bit varint ends before `end`; its value goes to `read`. */
let read: u32 = 0
function varint(end: usize): bool {
  if (place >= end) return false
  let byte = <u32>load<u8>(place++)
  read = byte & 127
  for (let shift: u32 = 7; byte > 127; shift += 7) {
    if (place >= end) return false
    byte = <u32>load<u8>(place++)
    if (shift === 28 && byte > 15) return false
    read |= (byte & 127) << shift
  }
  return true
}

/** Begins the windows after `last` up to `next` with the posting at `index`. */
function begin(list: List, last: u32, next: u32, index: u32): void {
  for (let w = last + 1; w <= next; w++) {
    const chunk = <usize>list.chunks + ((<usize>(w >>> chunkBits)) << 2)
    if ((w & ((1 << chunkBits) - 1)) === 0) store<u32>(chunk, index)
    store<u16>(<usize>list.windows + ((<usize>w) << 1), <u16>(index - load<u32>(chunk)))
  }
}

/**
 * Unpacks the bytes of `count` postings into the places of a list, for a segment of `passages` in `windows`; false if
 * they are invalid, or name an ordinal of `passages` or more. Sets the number of large frequencies.
 */
export function unpack(from: usize, end: usize, list: List, count: u32, passages: u32, windows: u32): bool {
  place = from
  let next: u32 = 0
  let index: u32 = 0
  let window: u32 = 0
  let escapes = <usize>list.escapes
  store<u32>(list.chunks, 0)
  store<u16>(list.windows, 0)
  while (place < end) {
    if (index === count || !varint(end)) return false
    const rich = (read & 1) !== 0
    const skipped = read >>> 1
    if (skipped >= passages - next) return false
    const ordinal = next + skipped
    next = ordinal + 1
    let f: u32 = 1
    let mark: u32 = 0
    if (rich) {
      if (!varint(end)) return false
      const packed = read
      let title = (packed >>> 2) & 3
      let heading = packed & 3
      if (title === 3) {
        if (!varint(end)) return false
        title += read
      }
      if (heading === 3) {
        if (!varint(end)) return false
        heading += read
      }
      f = (packed >>> 4) + heading + titleWeight * title
      if (title > 0) mark = titled
    }
    if (ordinal >>> windowBits > window) {
      begin(list, window, ordinal >>> windowBits, index)
      window = ordinal >>> windowBits
    }
    if (f >= escape) {
      store<u32>(escapes, index)
      store<u32>(escapes, f, 4)
      escapes += 8
      f = escape
    }
    store<u16>(<usize>list.postings + ((<usize>index) << 1), <u16>((ordinal & within) | (f << windowBits) | mark))
    index++
  }
  begin(list, window, windows, index)
  list.escaped = (<u32>escapes - list.escapes) >>> 3
  return index === count
}
