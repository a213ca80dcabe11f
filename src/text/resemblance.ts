/** A text prepared for comparison: the hashes of its words, in order. */
export interface Sketch {
  readonly words: Uint32Array
  /** A hash of the words with a digit, independent of their order. */
  readonly numbers: number
  /** A hash of all words in order. */
  readonly whole: number
}

/** Consecutive words that are compared as one unit. */
const shingleWords = 3

/** Texts with fewer words are only alike if they are equal. */
const fewWords = 12

/** If the texts share at least this part of all their shingles, they count as nearly equal. */
const alike = 0.7

/** One in this many shingles is used to find similar texts, which must share at least this many of them. */
const sampling = 4
const sampledShare = 0.4

const seed = 0x811c9dc5
const prime = 0x01000193

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

/** Chinese, Japanese and Korean, and everything beyond the basic plane, is compared character by character. */
const standsAlone = (code: number): boolean => code >= 0x2e80 && code < 0xff00 && !(code >= 0x3000 && code <= 0x303f)

/** Word separators, as far as comparing needs them: all of ASCII except letters and digits, and other punctuation. */
const parts = (code: number): boolean =>
  code < 0x80
    ? !(isDigit(code) || (code >= 0x61 && code <= 0x7a))
    : code < 0xc0 || (code >= 0x2000 && code <= 0x206f) || (code >= 0x3000 && code <= 0x303f) || code >= 0xff00

/** The words of texts, without what is between them, as if they were one text. */
export const sketch = (texts: ReadonlyArray<string>): Sketch => {
  const words: Array<number> = []
  let numbers = 0
  let whole = seed
  const close = (hash: number, hasDigit: boolean) => {
    words.push(hash)
    whole = Math.imul(whole ^ hash, prime) >>> 0
    if (hasDigit) numbers = (numbers + hash) >>> 0
  }
  for (const text of texts) {
    const small = text.toLowerCase()
    let hash = seed
    let [length, hasDigit] = [0, false]
    for (let at = 0; at <= small.length; at++) {
      const code = at < small.length ? small.charCodeAt(at) : 0x20
      const alone = standsAlone(code)
      if (length > 0 && (alone || parts(code))) {
        close(hash, hasDigit)
        hash = seed
        length = 0
        hasDigit = false
      }
      if (alone) close(Math.imul(seed ^ code, prime) >>> 0, false)
      else if (!parts(code)) {
        hash = Math.imul(hash ^ code, prime) >>> 0
        length++
        hasDigit ||= isDigit(code)
      }
    }
  }
  return { words: Uint32Array.from(words), numbers, whole }
}

const shinglesOf = ({ words }: Sketch): ReadonlySet<number> => {
  const found = new Set<number>()
  for (let at = 0; at + shingleWords <= words.length; at++) {
    let hash = seed
    for (let next = at; next < at + shingleWords; next++) hash = Math.imul(hash ^ words[next]!, prime) >>> 0
    found.add(hash ^ (hash >>> 15))
  }
  return found
}

interface Known {
  readonly sketch: Sketch
  readonly shingles: ReadonlySet<number>
}

/**
 * Finds texts that repeat a previous one: the same words, or the same numbers and nearly the same words, by Jaccard's
 * coefficient of Broder's shingles. A text is only compared with those that share many sampled shingles with it.
 */
export class Seen {
  private readonly known: Array<Known> = []
  private readonly same = new Map<number, number>()
  private readonly sampled = new Map<number, Array<number>>()

  /** The index of the first previous text that says the same; undefined: there is none, and this text is added. */
  place(sketch: Sketch): number | undefined {
    const same = this.same.get(sketch.whole)
    if (same !== undefined && this.known[same]!.sketch.words.length === sketch.words.length) return same
    const next: Known = { sketch, shingles: shinglesOf(sketch) }
    const sample =
      sketch.words.length < fewWords ? [] : [...next.shingles].filter((shingle) => shingle % sampling === 0)
    const shared = new Map<number, number>()
    for (const shingle of sample) {
      for (const at of this.sampled.get(shingle) ?? []) shared.set(at, (shared.get(at) ?? 0) + 1)
    }
    const found = [...shared]
      .filter(([at, count]) => count >= sample.length * sampledShare && isAlike(this.known[at]!, next))
      .map(([at]) => at)
    if (found.length > 0) return Math.min(...found)
    const at = this.known.push(next) - 1
    this.same.set(sketch.whole, at)
    for (const shingle of sample) this.sampled.set(shingle, [...(this.sampled.get(shingle) ?? []), at])
    return undefined
  }
}

const isAlike = (a: Known, b: Known): boolean => {
  if (a.sketch.numbers !== b.sketch.numbers) return false
  const [some, others] = a.shingles.size < b.shingles.size ? [a.shingles, b.shingles] : [b.shingles, a.shingles]
  let common = 0
  for (const shingle of some) if (others.has(shingle)) common++
  return common >= alike * (some.size + others.size - common)
}
