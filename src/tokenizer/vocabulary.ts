import { deserialize, serialize } from "node:v8"
import { UnsupportedTokenizer } from "./TokenizerJson.ts"
import { hashSeed, hashSlot, hashStep } from "./model.ts"

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

/** Tokens by their bytes: an open-addressing table whose keys are ranges of one array. */
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

/** An entry of an object of tokens and ids, or of a list of tokens and scores, up to the next one. */
const entries = {
  ids: /(")([^"\\]*(?:\\.[^"\\]*)*)"\s*:\s*([^\s,}]+)\s*([,}])\s*/y,
  scores: /(\[\s*")([^"\\]*(?:\\.[^"\\]*)*)"\s*,\s*([^\s,\]]+)\s*\]\s*([,\]])\s*/y
}

const largestId = 2 ** 31 - 1
const isId = (number: number): boolean => Number.isInteger(number) && number >= 0 && number <= largestId

/** Puts a token in place of its JSON; returns where it ends, undefined if that is none. */
const unescape = (bytes: Buffer, start: number, end: number): number | undefined => {
  try {
    return start + bytes.write(JSON.parse(`"${bytes.toString("utf8", start, end)}"`) as string, start)
  } catch {
    return undefined
  }
}

/**
 * The vocabulary `{"token": id, …}` or `[["token", score], …]` at a place of a file, and where it ends; `json` has a
 * character for each of the bytes. Throws UnsupportedTokenizer.
 */
const readAt = (bytes: Buffer, json: string, place: number): readonly [Contents, number] => {
  const kind = json[place] === "[" ? "scores" : "ids"
  const entry = entries[kind]
  const table = new TokenTable(bytes)
  const scores: Array<number> = []
  const wordless = new Set<number>()
  const longest = new Uint16Array(0x10000).fill(1)
  let size = 0
  let at = place + 1
  while (/\s/.test(json.charAt(at))) at++
  if (/[\]}]/.test(json.charAt(at))) return [{ kind, size, scores, table, wordless, longest }, at + 1]
  for (let sign = ","; sign === ",";) {
    entry.lastIndex = at
    const found = entry.exec(json)
    const number = Number(found?.[3])
    const start = at + (found?.[1]!.length ?? 0)
    const token = found?.[2] ?? ""
    const plainEnd = start + token.length
    const end = token.includes("\\") ? unescape(bytes, start, plainEnd) : plainEnd
    if (end === undefined || !(kind === "ids" ? isId(number) : Number.isFinite(number))) {
      const there = bytes.toString("utf8", at, at + 32)
      throw new UnsupportedTokenizer({
        reason:
          `model.vocab is damaged at byte ${at} of ${bytes.length}: expected a token and its ` +
          `${kind === "ids" ? "id" : "score"}, found ${there === "" ? "the end" : JSON.stringify(there)}`
      })
    }
    let hash = hashSeed
    for (let i = start; i < end; i++) hash = hashStep(hash, bytes[i]!)
    const id = kind === "ids" ? number : scores.push(number) - 1
    table.add(start, end, hash, id)
    if (!hasLetterOrDigit(bytes, start, end)) wordless.add(id)
    if (id >= size) size = id + 1
    const pair = (bytes[start]! << 8) | bytes[start + 1]!
    if (end - start > longest[pair]!) longest[pair] = end - start
    at = entry.lastIndex
    sign = found![4]!
  }
  return [{ kind, size, scores, table, wordless, longest }, at]
}

/** A tokenizer.json has one vocabulary, or one more in another part. */
const mostVocabularies = 100

/** Where the model's vocabulary begins in a tokenizer.json; undefined: it has none. */
const placeOf = (json: string): number | undefined => {
  let seen = 0
  for (const { 0: key, index } of json.matchAll(/"vocab"\s*:\s*(?=[[{])/g)) {
    if (++seen > mostVocabularies) return undefined
    const place = index + key.length
    try {
      const { model } = JSON.parse(`${json.slice(0, place)}null}}`) as { readonly model?: { readonly vocab?: unknown } }
      if (model?.vocab === null) return place
    } catch {
      // It is the vocabulary of something else.
    }
  }
  return undefined
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
const taken = (file: Uint8Array): Taken => {
  const utf8 = new TextDecoder()
  const bytes = Buffer.from(file)
  const json = bytes.toString("latin1")
  const place = placeOf(json)
  if (place === undefined) return { rest: utf8.decode(file), contents: undefined }
  const [contents, end] = readAt(bytes, json, place)
  return { rest: `${utf8.decode(file.subarray(0, place))}null${utf8.decode(file.subarray(end))}`, contents }
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
