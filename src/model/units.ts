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
