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

const declared =
  /<meta[^>]{0,300}?charset\s{0,10}=\s{0,10}["']?([a-z0-9_:.-]{2,40})|<\?xml[^>]{0,100}?encoding\s{0,5}=\s{0,5}["']([a-z0-9_:.-]{2,40})/i

/** The encoding that a page or XML names in its first bytes, if it is known and one of bytes. */
export const declaredEncoding = (head: Uint8Array): string | undefined => {
  const found = declared.exec(Buffer.from(head.subarray(0, 4096)).toString("latin1"))
  const label = found?.[1] ?? found?.[2]
  if (label === undefined) return undefined
  try {
    const { encoding } = new TextDecoder(label)
    return encoding.startsWith("utf-16") ? undefined : encoding
  } catch {
    return undefined
  }
}

/** The encoding of XML whose first characters, a mark or `<`, have two bytes each. */
const wideEncoding = ([first, second]: Uint8Array): string | undefined =>
  (first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)
    ? "utf-16le"
    : (first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)
      ? "utf-16be"
      : undefined

/** XML in the encoding that its first bytes show, in UTF-8 if it is that, else in the encoding that it declares. */
export const decodeXml = (bytes: Uint8Array): string => {
  const wide = wideEncoding(bytes)
  if (wide !== undefined) return decoderOf(wide)(bytes)
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return decoderOf(declaredEncoding(bytes) ?? "utf-8")(bytes)
  }
}
