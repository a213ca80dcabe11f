import { isUtf8 } from "node:buffer"
import { asWestern, declaredEncoding } from "../../extraction/decoding.ts"
import type { Encoding } from "../Loader.ts"
import { attempt } from "../../model/attempt.ts"

const undefinedInWestern = new Set([0x81, 0x8d, 0x8f, 0x90, 0x9d])

/** The same bytes, without a copy. */
export const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const decodeWestern = (bytes: Uint8Array): string => asWestern(asBuffer(bytes).toString("latin1"))

const decodeUtf8 = (bytes: Uint8Array): string => {
  const text = asBuffer(bytes).toString("utf8")
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

/** Almost UTF-8 is UTF-8, with U+FFFD for broken sequences; with more broken than valid ones it is windows-1252. */
const utf8OrWestern = (bytes: Uint8Array): Encoding => {
  if (isUtf8(bytes)) return "utf-8"
  let broken = 0
  let sound = 0
  const text = decodeUtf8(bytes)
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === 0xfffd) broken++
    else if (unit >= 0x80) sound++
  }
  return broken > sound ? "windows-1252" : "utf-8"
}

/** Encodings that each text, or line, is decoded by as it is. */
const isUsual = (encoding: Encoding): boolean => encoding === "utf-8" || encoding === "windows-1252"

/** Decodes a whole file, without a byte order mark. */
export const decode = (bytes: Uint8Array, encoding: Encoding): string =>
  !isUsual(encoding)
    ? new TextDecoder(encoding).decode(bytes)
    : startsWith(bytes, 0xef, 0xbb, 0xbf) || utf8OrWestern(bytes) === "utf-8"
      ? decodeUtf8(bytes)
      : decodeWestern(bytes)

/** Decodes a line as UTF-8 or windows-1252, independently of other lines: a file may mix both. */
export const decodeLine = (bytes: Buffer): string =>
  utf8OrWestern(bytes) === "utf-8" ? bytes.toString("utf8") : decodeWestern(bytes)

/** Converts pieces of a file to UTF-8; UTF-8 and windows-1252 pass unchanged. */
export const narrow = (encoding: Encoding): ((piece: Uint8Array) => Uint8Array) => {
  if (isUsual(encoding)) return (piece) => piece
  const decoder = new TextDecoder(encoding)
  return (piece) => Buffer.from(decoder.decode(piece, { stream: true }))
}

/** The library's confidence, of 100, below which an encoding is a guess. */
const leastConfidence = 30

/** The encoding of East Asian, Cyrillic, Greek, Arabic or Hebrew text by its frequent characters, if it has no other bytes. */
export const guess = async (
  head: Uint8Array,
  least: (name: string) => number = () => leastConfidence
): Promise<Encoding | undefined> => {
  // None of these has zero bytes, as UTF-32 has.
  if (head.includes(0)) return undefined
  const { analyse } = await import("chardet")
  for (const { confidence, name } of analyse(head)) {
    if (confidence < least(name)) return undefined
    // Others have a mark, or are made of ASCII.
    if (/^(?:UTF|ISO-2022|ASCII)/i.test(name)) continue
    // It may have bytes that are not in this encoding, or nobody decodes it.
    const text = attempt(() => new TextDecoder(name, { fatal: true }).decode(head, { stream: true }))
    if (text !== undefined && !/[\x80-\x9f\p{Private_Use}]/u.test(text)) return new TextDecoder(name).encoding
  }
  return undefined
}

/** Its characters beyond ASCII, whose second byte may be an ASCII one, with the rest as spaces: code among comments. */
const foreign = (head: Uint8Array): Uint8Array =>
  head.map((byte, at) => (byte >= 0x80 || (head[at - 1] ?? 0) >= 0x80 ? byte : 0x20))

/** Tables of accented letters can look like 45 of 100 East Asian; Ukrainian, like 20 of 100 Russian. */
const leastForeign = (name: string): number => (/^(?:Shift_JIS|Big5|EUC|GB)/.test(name) ? 60 : 20)

/** A guess by the characters beyond ASCII alone, where they look less like accents; without one it is Western European. */
export const guessDoubtful = async (head: Uint8Array): Promise<Encoding> =>
  (await guess(foreign(head), leastForeign)) ?? "windows-1252"

/**
 * A text's encoding by its first bytes: a mark, valid UTF-8, what a page or XML declares, or Western European.
 * `unrecognised`: it may be text, but in none of these; `doubtful`: perhaps it is not Western European.
 */
export const detect = (head: Uint8Array): Encoding | "binary" | "unrecognised" | "doubtful" => {
  if (startsWith(head, 0xff, 0xfe, 0, 0) || startsWith(head, 0, 0, 0xfe, 0xff)) return "unrecognised"
  if (startsWith(head, 0xff, 0xfe)) return isUtf16(head, "utf-16le") ? "utf-16le" : "binary"
  if (startsWith(head, 0xfe, 0xff)) return isUtf16(head, "utf-16be") ? "utf-16be" : "binary"

  const seen = survey(head)
  if (seen.nulEven + seen.nulOdd > 0) {
    const encoding = seen.nulOdd > seen.nulEven ? "utf-16le" : "utf-16be"
    // The zero bytes of one-byte characters are all on the same side.
    const stray = Math.min(seen.nulOdd, seen.nulEven)
    const nuls = seen.nulOdd + seen.nulEven
    // Spaces and line ends alone are one in ten; fewer zero bytes mean a binary file.
    const isWide = stray * 50 <= nuls && nuls * 20 >= head.length
    return isWide && isUtf16(head, encoding) ? encoding : "binary"
  }
  const encoding = utf8OrWestern(head.subarray(0, wholeCharacters(head)))
  if (encoding === "utf-8" && seen.beyond === 0 && isJapanese(head)) return "iso-2022-jp"
  if (encoding === "utf-8") return seen.controls * 100 <= head.length ? encoding : "binary"
  if (seen.controls * 200 > head.length) return "binary"
  const declared = charset(head)
  if (declared !== undefined) return declared
  // Western text is ASCII with accents; if most letters are beyond ASCII, it is Cyrillic, Greek or Chinese.
  const isWestern = seen.undefined * 200 <= head.length && seen.accented <= seen.letters
  if (!isWestern) return seen.controls > 0 ? "binary" : "unrecognised"
  // Accents stand alone among ASCII letters; other scripts have words, or a byte of every character, without any.
  return seen.inWords * 2 > seen.beyond && seen.inWords >= leastInWords ? "doubtful" : encoding
}

const startsWith = (bytes: Uint8Array, ...mark: ReadonlyArray<number>): boolean =>
  bytes.length >= mark.length && mark.every((byte, i) => bytes[i] === byte)

// Bell, backspace, tab, line ends, form feed and escape occur in logs and manuals.
const isControl = (code: number): boolean =>
  code === 0x7f || (code < 0x20 && !((code >= 0x07 && code <= 0x0d) || code === 0x1b))

/** More bytes beyond ASCII, with at most one other between each, than accents in a word. */
const word = 5
/** Fewer bytes of such words show nothing. */
const leastInWords = 12

const survey = (head: Uint8Array) => {
  const seen = { nulEven: 0, nulOdd: 0, controls: 0, undefined: 0, accented: 0, letters: 0, beyond: 0, inWords: 0 }
  /** Bytes beyond ASCII with at most one ASCII character between each. */
  let row = 0
  for (let i = 0; i < head.length; i++) {
    const byte = head[i]!
    if (byte < 0x80 && (head[i - 1] ?? 0) < 0x80) row = 0
    if (byte === 0) {
      if (i % 2 === 0) seen.nulEven++
      else seen.nulOdd++
    } else if (byte >= 0x80) {
      seen.beyond++
      row++
      if (row >= word) seen.inWords += row === word ? word : 1
      if (byte >= 0xc0) seen.accented++
      if (undefinedInWestern.has(byte)) seen.undefined++
    } else if (isControl(byte)) seen.controls++
    else if ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a) seen.letters++
  }
  return seen
}

/** The length of the bytes up to the last whole UTF-8 character, since a head may end within one. */
const wholeCharacters = (head: Uint8Array): number => {
  for (let back = 1; back <= Math.min(3, head.length); back++) {
    const byte = head[head.length - back]!
    if (byte < 0x80) break
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
      return length > back ? head.length - back : head.length
    }
  }
  return head.length
}

const unprintable = /[\0-\x06\x0e-\x1a\x1c-\x1f\x7f\ufffe\uffff\p{Unassigned}\p{Private_Use}]/gu

const isUtf16 = (head: Uint8Array, encoding: "utf-16le" | "utf-16be"): boolean => {
  const text = new TextDecoder(encoding).decode(head, { stream: true })
  // Decoding replaces lone surrogates by U+FFFD, which text does not contain.
  const bad = (text.match(unprintable)?.length ?? 0) + (text.match(/\ufffd/g)?.length ?? 0)
  return bad * 100 <= text.length && !text.includes("\0") && (text.length < 64 || /\s/.test(text))
}

/** Whether ASCII is ISO-2022-JP: it has the sequences that begin Japanese characters, and no others. */
const isJapanese = (head: Uint8Array): boolean => {
  const has = (sequence: string) => asBuffer(head).includes(`\x1b${sequence}`)
  const decoded = () => new TextDecoder("iso-2022-jp", { fatal: true }).decode(head, { stream: true })
  return (has("$B") || has("$@") || has("(I")) && attempt(decoded) !== undefined
}

/** The encoding that a page names in its first bytes, if it is known and the bytes are not UTF-8. */
export const charset = (head: Uint8Array): string | undefined => {
  if (isUtf8(head.subarray(0, Math.max(0, head.length - 3)))) return undefined
  const encoding = declaredEncoding(head)
  return encoding === "utf-8" ? undefined : encoding
}
