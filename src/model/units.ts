/**
 * A function that copies the UTF-16 units of a part of a text into an array, where they are read several times as fast;
 * valid until the next call. For parts of at most `kept` units it keeps the array.
 */
export const copying = (kept: number): ((text: string, start: number, end: number) => Uint16Array) => {
  const own = new Uint16Array(kept)
  const ownBytes = Buffer.from(own.buffer)
  return (text, start, end) => {
    const isKept = end - start <= kept
    const units = isKept ? own : new Uint16Array(end - start)
    const bytes = isKept ? ownBytes : Buffer.from(units.buffer)
    bytes.write(text.slice(start, end), "utf16le")
    return units
  }
}

// Surrogates are below U+E000 as units, but stand for characters above it.
const rank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)

/** Compares by code point, which is also the order of UTF-8. */
export const byCodePoint = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return rank(x) - rank(y)
  }
  return a.length - b.length
}
