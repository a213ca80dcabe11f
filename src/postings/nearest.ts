import type { NearTerm } from "../model/Stored.ts"
import { distance } from "../terms/distance.ts"
import { allowance, type Spelled, termsNearby } from "../terms/spelling.ts"

/** Most terms per word. */
const mostTerms = 2

/** The weight of a term by its number of edits, relative to a word of the query. */
const weights = [0.7, 0.7, 0.4]

/** The assumed count of a first term whose block is too large to read: it is frequent. */
export const often = 1e6

interface Near {
  readonly edits: number
  readonly shown: string | undefined
  count: number
}

/** Places for hashes of terms. */
const hashes = 2 ** 14

const mixed = (hash: number, byte: number): number => (Math.imul(hash, 31) + byte) >>> 0

const isSmallLetter = (byte: number): boolean => byte >= 97 && byte <= 122

/** A sign or digit. */
const isPlain = (byte: number): boolean => byte < 65 || (byte > 90 && byte < 128 && !isSmallLetter(byte))

const bitOf = (letter: number): number => 1 << (letter - 97)

/** The number of set bits. */
const bits = (word: number): number => {
  let count = 0
  for (let left = word; left !== 0; left &= left - 1) count++
  return count
}

/** Collects the terms similar to a word. */
export class Nearest {
  private readonly terms = new Map<string, Near>()
  private readonly edited: ReadonlyMap<string, string>
  private readonly limit: number
  private readonly first: string
  private readonly shortest: number
  private readonly longest: number
  /** The letters of the word, as bits; undefined if it has others than a to z. */
  private readonly letters: number | undefined
  /** Not 0 for the hashes of edited terms. */
  private readonly hashes = new Uint8Array(hashes)

  constructor(private readonly word: Spelled) {
    this.edited = termsNearby(word.folded)
    this.limit = allowance(word.term.length)
    this.first = word.term[0]!
    const lengths = [...this.edited.keys(), word.term].map((term) => term.length)
    this.shortest = Math.min(Math.min(...lengths), word.term.length - this.limit)
    // A letter has up to three bytes.
    this.longest = 3 * Math.max(Math.max(...lengths), word.term.length + this.limit)
    const bytes = Buffer.from(word.term)
    if (bytes.every(isSmallLetter)) this.letters = bytes.reduce((bits, byte) => bits | bitOf(byte), 0)
    for (const term of this.edited.keys()) this.hashes[Buffer.from(term).reduce(mixed, 0) % hashes] = 1
  }

  /** False if a term, in bytes, is certainly not similar; cheaper than `see`. */
  mayBe(term: Uint8Array, length: number): boolean {
    if (length < this.shortest || length > this.longest) return false
    let hash = 0
    let letters = 0
    for (let i = 0; i < length; i++) {
      const byte = term[i]!
      if (!isSmallLetter(byte)) return byte > 127 || !isPlain(byte)
      hash = mixed(hash, byte)
      letters |= bitOf(byte)
    }
    if (this.letters === undefined || this.hashes[hash % hashes] !== 0) return true
    // Each edit adds at most one letter and removes at most one.
    return bits(letters & ~this.letters) <= this.limit && bits(this.letters & ~letters) <= this.limit
  }

  see(term: string, count: number): void {
    const known = this.terms.get(term)
    if (known !== undefined) {
      known.count = known.count >= often ? count : known.count + count
      return
    }
    const shown = this.edited.get(term)
    if (shown !== undefined) this.terms.set(term, { edits: 1, shown, count })
    else if (term.length >= 5 && term[0] === this.first && /^\p{L}+$/u.test(term)) {
      const edits = distance(this.word.term, term, this.limit)
      if (edits <= this.limit) this.terms.set(term, { edits, shown: undefined, count })
    }
  }

  /** The terms with the fewest edits, and of these the most frequent. */
  best(): ReadonlyArray<NearTerm> {
    const sorted = [...this.terms].sort(([, a], [, b]) => a.edits - b.edits || b.count - a.count)
    const least = sorted[0]?.[1].edits
    return sorted
      .filter(([, { edits }]) => edits === least)
      .slice(0, mostTerms)
      .map(([term, { edits, shown }]) => ({ word: this.word.word, term, shown, weight: weights[edits]! }))
  }
}
