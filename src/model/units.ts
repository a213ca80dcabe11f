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

/** Compares by code point, which is also the order of UTF-8. */
export const byCodePoint = (a: string, b: string): number => {
  if (a === b) return 0
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return rankOf(a.charCodeAt(at)) - rankOf(b.charCodeAt(at))
}

/** Surrogates sort after every other code unit; the end of a text sorts first. */
const rankOf = (unit: number): number =>
  Number.isNaN(unit) ? -1 : unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit
