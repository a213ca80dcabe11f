import { lazily } from "../model/lazily.ts"

/** A text prepared for comparison: the hashes of its words, in order. */
export interface Sketch {
  readonly words: Uint32Array
  /** The hashes of the words with a digit. */
  readonly numbers: ReadonlySet<number>
  /** A hash of all words in order. */
  readonly whole: number
  /** The shingles by which similar texts are found, each once; none of a text with few words. */
  readonly sample: Int32Array
}

/** Consecutive words that are compared as one unit. */
const shingleWords = 3

/** Texts with fewer words are only alike if they are equal. */
const fewWords = 12

/** If the texts share at least this part of all their shingles, they count as nearly equal. */
const alike = 0.5
/** A text of which a previous one has this part of the shingles says nothing new. */
const contained = 0.85

/** One in this many shingles is used to find similar texts, which must share at least this many of them. */
const sampling = 4
const sampledShare = 0.4

const seed = 0x811c9dc5
const prime = 0x01000193

/** Chinese, Japanese and Korean, and everything beyond the basic plane, is compared character by character. */
const standsAlone = (code: number): boolean => code >= 0x2e80 && code < 0xff00 && !(code >= 0x3000 && code <= 0x303f)

const [between, letter, digit] = [0, 1, 2]

/** Word separators, as far as comparing needs them: all of ASCII except letters and digits, and other punctuation. */
const ascii = Uint8Array.from({ length: 0x80 }, (_, code) =>
  code >= 0x30 && code <= 0x39 ? digit : code >= 0x61 && code <= 0x7a ? letter : between
)
const beyondAscii = (code: number): number =>
  code < 0xc0 || (code >= 0x2000 && code <= 0x206f) || (code >= 0x3000 && code <= 0x303f) || code >= 0xff00
    ? between
    : letter

/** Where words are collected; it grows to the longest text. */
let room = new Uint32Array(0x1000)

/** Calls `use` with the hash of each shingle of words, in order and with repeats. */
const forShingles = (words: Uint32Array, use: (shingle: number) => void): void => {
  for (let at = 0; at + shingleWords <= words.length; at++) {
    let hash = seed
    for (let next = at; next < at + shingleWords; next++) hash = Math.imul(hash ^ (words[next] as number), prime)
    use(hash ^ (hash >>> 15))
  }
}

const sampleOf = (words: Uint32Array): Int32Array => {
  const found: Array<number> = []
  if (words.length >= fewWords) {
    forShingles(words, (shingle) => {
      if (shingle % sampling === 0) found.push(shingle)
    })
  }
  const sorted = Int32Array.from(found).sort()
  return sorted.filter((shingle, at) => at === 0 || shingle !== sorted[at - 1])
}

/** The words of texts, without what is between them, as if they were one text. */
export const sketch = (texts: ReadonlyArray<string>): Sketch => {
  const lowered = texts.map((text) => text.toLowerCase())
  const characters = lowered.reduce((sum, { length }) => sum + length, 0)
  if (room.length < characters) room = new Uint32Array(characters)
  const words = room
  let count = 0
  const numbers = new Set<number>()
  let whole = seed
  for (const small of lowered) {
    let hash = seed
    let [length, hasDigit] = [0, false]
    for (let at = 0; at <= small.length; at++) {
      const code = at < small.length ? small.charCodeAt(at) : 0x20
      const kind = code < 0x80 ? (ascii[code] as number) : beyondAscii(code)
      const alone = kind === letter && standsAlone(code)
      if (kind !== between && !alone) {
        hash = Math.imul(hash ^ code, prime)
        length++
        if (kind === digit) hasDigit = true
        continue
      }
      if (length > 0) {
        words[count++] = hash
        whole = Math.imul(whole ^ hash, prime)
        if (hasDigit) numbers.add(hash)
        hash = seed
        length = 0
        hasDigit = false
      }
      if (alone) {
        const character = Math.imul(seed ^ code, prime)
        words[count++] = character
        whole = Math.imul(whole ^ character, prime)
      }
    }
  }
  const own = words.slice(0, count)
  return { words: own, numbers, whole: whole >>> 0, sample: sampleOf(own) }
}

/** A text seen, and all its shingles once something is compared with it. */
class Known {
  constructor(readonly sketch: Sketch) {}

  readonly shingles = lazily(() => {
    const found = new Set<number>()
    forShingles(this.sketch.words, (shingle) => found.add(shingle))
    return found
  })
}

/** How many numbers two lists have in common, both rising. */
const sharedBy = (some: Int32Array, others: Int32Array): number => {
  let count = 0
  for (let i = 0, j = 0; i < some.length && j < others.length;) {
    const [one, other] = [some[i]!, others[j]!]
    if (one === other) count++
    if (one <= other) i++
    if (other <= one) j++
  }
  return count
}

/** Bits for sampled shingles: with 200 texts, one in eight is set. */
const bits = 2 ** 17

/** Sampled ones are multiples of four. */
const bitOf = (shingle: number): number => (shingle >>> 2) % bits

/**
 * Finds texts that repeat a previous one: the same words, or no other numbers and nearly the same words, by Jaccard's
 * coefficient of Broder's shingles, or hardly a word that the previous one lacks. A text is only compared with those that
 * share many sampled shingles with it.
 */
export class Seen {
  private readonly known: Array<Known> = []
  private readonly same = new Map<number, number>()
  /** Not 0 for what any text has sampled: few texts have enough of that to be compared with each. */
  private readonly sampled = new Uint32Array(bits / 32)

  /** The index of the first previous text that says the same; undefined: there is none, and this text is added. */
  place(sketch: Sketch): number | undefined {
    const same = this.same.get(sketch.whole)
    if (same !== undefined && this.known[same]!.sketch.words.length === sketch.words.length) return same
    const next = new Known(sketch)
    const { sample } = sketch
    const enough = sample.length * sampledShare
    if (enough > 0 && this.mark(sample) >= enough) {
      const first = this.known.findIndex(
        (before) => sharedBy(before.sketch.sample, sample) >= enough && isAlike(before, next)
      )
      if (first !== -1) return first
    }
    this.same.set(sketch.whole, this.known.push(next) - 1)
    return undefined
  }

  /** Marks shingles; returns how many may have been before. */
  private mark(sample: Int32Array): number {
    let before = 0
    for (const shingle of sample) {
      const bit = bitOf(shingle)
      const word = this.sampled[bit >>> 5]!
      if ((word >>> (bit & 31)) & 1) before++
      else this.sampled[bit >>> 5] = word | (1 << (bit & 31))
    }
    return before
  }
}

const hasAll = (all: ReadonlySet<number>, some: ReadonlySet<number>): boolean => {
  for (const one of some) if (!all.has(one)) return false
  return true
}

const isAlike = (before: Known, next: Known): boolean => {
  const isWithin = hasAll(before.sketch.numbers, next.sketch.numbers)
  if (!isWithin && !hasAll(next.sketch.numbers, before.sketch.numbers)) return false
  const [told, own] = [before.shingles(), next.shingles()]
  const [some, others] = told.size < own.size ? [told, own] : [own, told]
  let common = 0
  for (const shingle of some) if (others.has(shingle)) common++
  return common >= alike * (some.size + others.size - common) || (isWithin && common >= contained * own.size)
}
