import { EntryReader } from "./entryReader.ts"
import { hashSeed, hashSlot, hashStep } from "./hash.ts"
import { byte, memberStart } from "./jsonSpan.ts"

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
  private readonly bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
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

const readAt = (json: Uint8Array, place: number): readonly [Vocabulary, number] => {
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
  const vocabulary: Vocabulary = {
    kind: reader.listed ? "scores" : "ids",
    size,
    scores,
    find: (utf8, start, end, hash) => table.find(utf8, start, end, hash),
    idOf: (token) => {
      const utf8 = new TextEncoder().encode(token)
      return table.find(utf8, 0, utf8.length, utf8.reduce(hashStep, hashSeed))
    },
    isWordless: (id) => wordless.has(id),
    longest: (first, second) => longest[(first << 8) | second]!
  }
  return [vocabulary, reader.at]
}

/**
 * The vocabulary of a tokenizer.json, and the rest of its text with null in place of the vocabulary. JSON.parse would
 * make an object of all tokens, which takes longer than the rest of loading a model. Throws UnsupportedTokenizer.
 */
export const takeVocabulary = (
  json: Uint8Array
): { readonly rest: string; readonly vocabulary: Vocabulary | undefined } => {
  const utf8 = new TextDecoder()
  const model = memberStart(json, 0, "model")
  const start = model === -1 ? -1 : memberStart(json, model, "vocab")
  if (start === -1 || (json[start] !== byte.openBrace && json[start] !== byte.openBracket)) {
    return { rest: utf8.decode(json), vocabulary: undefined }
  }
  const [vocabulary, end] = readAt(new Uint8Array(json), start)
  return { rest: `${utf8.decode(json.subarray(0, start))}null${utf8.decode(json.subarray(end))}`, vocabulary }
}
