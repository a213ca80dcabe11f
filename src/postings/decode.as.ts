// Unpacks the stored bytes of a term's postings (bytes.ts defines their layout), and detects invalid ones.

import { chunkBits, escape, List, titled, windowBits, within } from "./list.as"

const titleWeight: u32 = 3

/** Where the byte after a varint is, or 0 if the varint is longer than 32 bits or exceeds the end. */
export let place: usize = 0

/** The varint of several bytes that begins with `first` and continues at `at`; sets the place. */
function longer(first: u32, at: usize, end: usize): u32 {
  let value = first & 127
  for (let shift: u32 = 7; at < end; shift += 7) {
    const byte = <u32>load<u8>(at++)
    if (shift === 28 && byte > 15) break
    value |= (byte & 127) << shift
    if (byte < 128) {
      place = at
      return value
    }
  }
  place = 0
  return 0
}

/** A class, since parsers of TypeScript accept decorators only there. */
export class Varint {
  /** The varint at `at`; sets the place. */
  @inline
  static read(at: usize, end: usize): u32 {
    place = 0
    if (at >= end) return 0
    const byte = <u32>load<u8>(at)
    if (byte > 127) return longer(byte, at + 1, end)
    place = at + 1
    return byte
  }
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
export function unpack(from: usize, end: usize, to: usize, count: u32, passages: u32, windows: u32): bool {
  const list = changetype<List>(to)
  let at = from
  let next: u32 = 0
  let index: u32 = 0
  let window: u32 = 0
  let escapes = <usize>list.escapes
  store<u32>(list.chunks, 0)
  store<u16>(list.windows, 0)
  while (at < end) {
    if (index === count) return false
    // Most are one byte; reading a varint into a local is faster than into a global.
    let head = <u32>load<u8>(at++)
    if (head > 127) {
      head = longer(head, at, end)
      if (place === 0) return false
      at = place
    }
    const skipped = head >>> 1
    if (skipped >= passages - next) return false
    const ordinal = next + skipped
    next = ordinal + 1
    let f: u32 = 1
    let mark: u32 = 0
    if (head & 1) {
      if (at >= end) return false
      let packed = <u32>load<u8>(at++)
      if (packed > 127) {
        packed = longer(packed, at, end)
        if (place === 0) return false
        at = place
      }
      let title = (packed >>> 2) & 3
      let heading = packed & 3
      if (title > 0) mark = titled
      if (title === 3) {
        title += Varint.read(at, end)
        if (place === 0) return false
        at = place
      }
      if (heading === 3) {
        heading += Varint.read(at, end)
        if (place === 0) return false
        at = place
      }
      f = (packed >>> 4) + heading + titleWeight * title
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
