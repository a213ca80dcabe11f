const western = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

/** A text that was read as Latin-1 as windows-1252 has it, whose signs are control characters there. */
export const asWestern = (text: string): string =>
  text.replace(/[\x80-\x9f]/g, (char) => western[char.charCodeAt(0) - 0x80]!)

/**
 * A decoder by a label of the Encoding Standard; throws a RangeError at an unknown one. That of Node 20 reads windows-1252
 * as Latin-1.
 */
export const decoderOf = (label: string): ((bytes: Uint8Array) => string) => {
  const decoder = new TextDecoder(label)
  return decoder.encoding === "windows-1252"
    ? (bytes) => asWestern(decoder.decode(bytes))
    : (bytes) => decoder.decode(bytes)
}
