import { deserialize, serialize } from "node:v8"
import { UnsupportedTokenizer } from "./TokenizerJson.ts"
import { hashSeed, hashSlot, hashStep } from "./model.ts"

/*
 * Finds a value in the UTF-8 of a JSON text without parsing it. Bytes that are not JSON give a wrong offset or none:
 * the caller must check what is there.
 */

const byte = {
  quote: 0x22,
  comma: 0x2c,
  colon: 0x3a,
  openBracket: 0x5b,
  backslash: 0x5c,
  closeBracket: 0x5d,
  openBrace: 0x7b,
  closeBrace: 0x7d
} as const

/** The offset of a string's closing quote; the end if it has none. */
const stringEnd = (json: Uint8Array, open: number): number => {
  let at = open + 1
  for (; at < json.length && json[at] !== byte.quote; at++) if (json[at] === byte.backslash) at++
  return Math.min(at, json.length)
}

const skipSpace = (json: Uint8Array, at: number): number => {
  while (json[at]! <= 0x20) at++
  return at
}

/** The offset after the value that starts at `start`. */
const valueEnd = (json: Uint8Array, start: number): number => {
  let depth = 0
  for (let i = start; i < json.length; i++) {
    const c = json[i]
    if (c === byte.quote) i = stringEnd(json, i)
    else if (c === byte.openBrace || c === byte.openBracket) depth++
    else if (c === byte.closeBrace || c === byte.closeBracket) depth--
    else if (c === byte.comma && depth === 0) return i
    if (depth < 0) return i
  }
  return json.length
}

/** The start of a key's value in the object that starts at or after an offset; -1 if there is none. */
const memberStart = (json: Uint8Array, object: number, key: string): number => {
  const utf8 = new TextDecoder()
  let at = skipSpace(json, object)
  if (json[at] !== byte.openBrace) return -1
  do {
    at = skipSpace(json, at + 1)
    if (json[at] !== byte.quote) return -1
    const end = stringEnd(json, at)
    const colon = skipSpace(json, end + 1)
    if (json[colon] !== byte.colon) return -1
    const value = skipSpace(json, colon + 1)
    if (utf8.decode(json.subarray(at + 1, end)) === key) return value
    at = skipSpace(json, valueEnd(json, value))
  } while (json[at] === byte.comma)
  return -1
}

const largestId = 2 ** 31 - 1

/**
 * Reads the object `{"token": id, …}` or the list `[["token", score], …]` at an offset in UTF-8. One call per entry,
 * because a method that is called often is compiled long before a loop that runs often.
 */
class EntryReader {
  /** The offset after the last entry read. */
  at: number
  /** The entry's token, as a range of the bytes with its hash, and its number. */
  start = 0
  end = 0
  hash = 0
  number = 0
  readonly listed: boolean
  private readonly json: Uint8Array
  private readonly close: number

  /** Escaped tokens are unescaped in place, so the reader must own the bytes. */
  constructor(json: Uint8Array, at: number) {
    this.json = json
    this.listed = json[at] === byte.openBracket
    this.close = this.listed ? byte.closeBracket : byte.closeBrace
    this.at = skipSpace(json, at + 1)
  }

  /** False if there is no further entry. Throws UnsupportedTokenizer if there is anything else. */
  next(): boolean {
    const { json, listed } = this
    const entry = this.at
    if (json[entry] === this.close) {
      this.at++
      return false
    }
    let at = entry
    if (listed) at = json[at] === byte.openBracket ? skipSpace(json, at + 1) : this.fail(entry)
    if (json[at] !== byte.quote) this.fail(entry)
    at = skipSpace(json, this.readToken(at + 1) + 1)
    if (json[at] !== (listed ? byte.comma : byte.colon)) this.fail(entry)
    at = this.readNumber(skipSpace(json, at + 1))
    const { number } = this
    const fits = listed ? Number.isFinite(number) : Number.isInteger(number) && number >= 0 && number <= largestId
    if (!fits) this.fail(entry)
    at = skipSpace(json, at)
    if (listed) at = json[at] === byte.closeBracket ? skipSpace(json, at + 1) : this.fail(entry)
    if (json[at] === byte.comma) at = skipSpace(json, at + 1)
    else if (json[at] !== this.close) this.fail(entry)
    this.at = at
    return true
  }

  /** Returns the offset of the closing quote. */
  private readToken(start: number): number {
    const { json } = this
    let hash = hashSeed
    let at = start
    for (; json[at] !== byte.quote && json[at] !== byte.backslash && at < json.length; at++)
      hash = hashStep(hash, json[at]!)
    this.start = start
    this.end = at
    this.hash = hash
    return json[at] === byte.quote ? at : this.readEscaped(start)
  }

  private readEscaped(start: number): number {
    const close = stringEnd(this.json, start - 1)
    const escaped = new TextDecoder().decode(this.json.subarray(start - 1, close + 1))
    let token: unknown
    try {
      token = JSON.parse(escaped)
    } catch {
      this.fail(start - 1)
    }
    const { written } = new TextEncoder().encodeInto(String(token), this.json.subarray(start, close))
    this.end = start + written
    this.hash = hashSeed
    for (let i = start; i < this.end; i++) this.hash = hashStep(this.hash, this.json[i]!)
    return close
  }

  /** Returns the offset after the number, which is NaN if there is none. */
  private readNumber(start: number): number {
    const { json } = this
    let at = start
    let value = 0
    for (; json[at]! >= 0x30 && json[at]! <= 0x39; at++) value = value * 10 + json[at]! - 0x30
    const digits = at
    while (
      json[at]! > 0x20 &&
      json[at] !== byte.comma &&
      json[at] !== byte.closeBracket &&
      json[at] !== byte.closeBrace
    ) {
      at++
    }
    this.number =
      at === start
        ? NaN
        : at === digits
          ? value
          : Number(String.fromCharCode(...json.subarray(start, Math.min(at, start + 40))))
    return at
  }

  private fail(at: number): never {
    const found = new TextDecoder().decode(this.json.subarray(at, at + 32))
    throw new UnsupportedTokenizer({
      reason:
        `model.vocab is damaged at byte ${at} of ${this.json.length}: ` +
        `expected a token and its ${this.listed ? "score" : "id"}, found ${found === "" ? "the end" : JSON.stringify(found)}`
    })
  }
}

/** The tokens of a model, in UTF-8, and their ids. */
export interface Vocabulary {
  /** `ids`: from an object of tokens and ids. `scores`: from a list of tokens and scores, with ids by position. */
  readonly kind: "ids" | "scores"
  /** One more than the largest id. */
  readonly size: number
  readonly scores: ReadonlyArray<number>
  /** The id of the token in a range of UTF-8 with this hash, -1 if there is none. */
  readonly find: (utf8: Uint8Array, start: number, end: number, hash: number) => number
  readonly idOf: (token: string) => number
  /** Whether the token has neither a letter nor a digit: only punctuation and symbols. */
  readonly isWordless: (id: number) => boolean
  /** The most bytes of a token that starts with these two bytes; 1 if only the first may be one. */
  readonly longest: (first: number, second: number) => number
}

/** Tokens by their bytes: an open-addressing table whose keys are ranges of the file itself. */
class TokenTable {
  size = 0
  private slots = new Int32Array(1 << 17)
  private hashes = new Int32Array(1 << 16)
  private starts = new Int32Array(1 << 16)
  private ends = new Int32Array(1 << 16)
  private ids = new Int32Array(1 << 16)
  constructor(private readonly bytes: Uint8Array) {}

  /** A table of another's fields. */
  static of(fields: TokenTable): TokenTable {
    return Object.assign(new TokenTable(fields.bytes), fields)
  }

  find(utf8: Uint8Array, start: number, end: number, hash: number): number {
    const { bytes, ends, hashes, slots, starts } = this
    const mask = slots.length - 1
    search: for (let slot = hashSlot(hash, mask); slots[slot] !== 0; slot = (slot + 1) & mask) {
      const entry = slots[slot]! - 1
      if (hashes[entry] !== hash) continue
      const key = starts[entry]!
      if (ends[entry]! - key !== end - start) continue
      for (let i = start; i < end; i++) if (bytes[key + i - start] !== utf8[i]) continue search
      return this.ids[entry]!
    }
    return -1
  }

  /** If a token occurs twice, the later one wins, as in JSON: it is inserted before the earlier one. */
  add(start: number, end: number, hash: number, id: number): void {
    if (this.size * 2 === this.slots.length) this.grow()
    const mask = this.slots.length - 1
    let entry = this.size++
    this.hashes[entry] = hash
    this.starts[entry] = start
    this.ends[entry] = end
    this.ids[entry] = id
    for (let slot = hashSlot(hash, mask); ; slot = (slot + 1) & mask) {
      const other = this.slots[slot]! - 1
      if (other !== -1 && this.hashes[other] !== hash) continue
      this.slots[slot] = entry + 1
      if (other === -1) return
      entry = other
    }
  }

  private grow(): void {
    const enlarged = (array: Int32Array) => {
      const larger = new Int32Array(array.length * 2)
      larger.set(array)
      return larger
    }
    this.hashes = enlarged(this.hashes)
    this.starts = enlarged(this.starts)
    this.ends = enlarged(this.ends)
    this.ids = enlarged(this.ids)
    const slots = new Int32Array(this.slots.length * 2)
    const mask = slots.length - 1
    // From the latest on, so that it stays before an earlier one with the same bytes.
    for (let entry = this.size - 1; entry >= 0; entry--) {
      let slot = hashSlot(this.hashes[entry]!, mask)
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = entry + 1
    }
    this.slots = slots
  }
}

const isAsciiLetterOrDigit = (byte: number): boolean =>
  (byte >= 97 && byte <= 122) || (byte >= 48 && byte <= 57) || (byte >= 65 && byte <= 90)

const letterOrDigit = /[\p{L}\p{N}]/u
const utf8Decoder = new TextDecoder()

const hasLetterOrDigit = (utf8: Uint8Array, start: number, end: number): boolean => {
  let ascii = true
  for (let i = start; i < end; i++) {
    if (isAsciiLetterOrDigit(utf8[i]!)) return true
    if (utf8[i]! >= 128) ascii = false
  }
  return !ascii && letterOrDigit.test(utf8Decoder.decode(utf8.subarray(start, end)))
}

/** What a vocabulary is made of: plain data, so that a file can hold it. */
interface Contents extends Pick<Vocabulary, "kind" | "size" | "scores"> {
  readonly table: TokenTable
  readonly wordless: ReadonlySet<number>
  /** The most bytes of a token, by its first two bytes. */
  readonly longest: Uint16Array
}

const readAt = (json: Uint8Array, place: number): readonly [Contents, number] => {
  const reader = new EntryReader(json, place)
  const table = new TokenTable(json)
  const scores: Array<number> = []
  const wordless = new Set<number>()
  const longest = new Uint16Array(0x10000).fill(1)
  let size = 0
  while (reader.next()) {
    const { end, hash, number, start } = reader
    const id = reader.listed ? scores.push(number) - 1 : number
    table.add(start, end, hash, id)
    if (!hasLetterOrDigit(json, start, end)) wordless.add(id)
    if (id >= size) size = id + 1
    const pair = (json[start]! << 8) | json[start + 1]!
    if (end - start > longest[pair]!) longest[pair] = end - start
  }
  return [{ kind: reader.listed ? "scores" : "ids", size, scores, table, wordless, longest }, reader.at]
}

const vocabularyOf = ({ longest, table, wordless, ...rest }: Contents): Vocabulary => ({
  ...rest,
  find: (utf8, start, end, hash) => table.find(utf8, start, end, hash),
  idOf: (token) => {
    const utf8 = new TextEncoder().encode(token)
    return table.find(utf8, 0, utf8.length, utf8.reduce(hashStep, hashSeed))
  },
  isWordless: (id) => wordless.has(id),
  longest: (first, second) => longest[(first << 8) | second]!
})

interface Taken {
  /** The text with null in place of the vocabulary. */
  readonly rest: string
  readonly contents: Contents | undefined
}

/** JSON.parse would make an object of all tokens, which takes longer than the rest of loading a model. */
const taken = (json: Uint8Array): Taken => {
  const utf8 = new TextDecoder()
  const model = memberStart(json, 0, "model")
  const start = model === -1 ? -1 : memberStart(json, model, "vocab")
  if (start === -1 || (json[start] !== byte.openBrace && json[start] !== byte.openBracket)) {
    return { rest: utf8.decode(json), contents: undefined }
  }
  const [contents, end] = readAt(new Uint8Array(json), start)
  return { rest: `${utf8.decode(json.subarray(0, start))}null${utf8.decode(json.subarray(end))}`, contents }
}

/** A tokenizer.json as `takeVocabulary` takes it in a tenth of the time, by the same version of this code. */
export const pack = (json: Uint8Array): Uint8Array => serialize(taken(json))

const unpack = (file: Uint8Array): Taken => {
  try {
    const { contents, rest } = deserialize(file) as Taken & { readonly contents: Contents }
    return { rest, contents: { ...contents, table: TokenTable.of(contents.table) } }
  } catch (error) {
    throw new UnsupportedTokenizer({ reason: `it is damaged: ${(error as Error).message}` })
  }
}

/**
 * The vocabulary of a tokenizer.json, packed or not, and the rest of its text with null in place of the vocabulary. Throws
 * UnsupportedTokenizer.
 */
export const takeVocabulary = (
  file: Uint8Array,
  isPacked: boolean
): { readonly rest: string; readonly vocabulary: Vocabulary | undefined } => {
  const { contents, rest } = isPacked ? unpack(file) : taken(file)
  return { rest, vocabulary: contents === undefined ? undefined : vocabularyOf(contents) }
}
