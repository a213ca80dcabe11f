import * as Effect from "effect/Effect"
import type { NearTerm } from "../model/Stored.ts"
import { lazily } from "../model/lazily.ts"
import { likeliest, splits } from "../terms/compounds.ts"
import type { Language } from "../terms/languages.ts"
import { distance } from "../terms/nearest.ts"
import { type Spelled, allowance, spelledWords, termsNearby } from "../terms/spelling.ts"
import { weighted } from "../terms/terms.ts"
import { Arena } from "./Arena.ts"
import { queryLanguageIn, segmentsIn } from "./Postings.ts"
import type { Segment, SegmentStore } from "./SegmentStore.ts"
import { blockOf, isFound, maxTermBytes } from "./block.ts"
import { loadPostings, loadSegments } from "./load.ts"

/** Most terms per word. */
const mostTerms = 2

/** The weight of a term by its number of edits, relative to a word of the query. */
const weights = [0.7, 0.7, 0.4]

/** The assumed count of a first term whose block is too large to read: it is frequent. */
const often = 1e6

interface Near {
  readonly edits: number
  count: number
}

/** What the kernel knows of a word (`Similar` in block.as.ts): eight numbers, a bitmap of hashes, and a term. */
const hashesAt = 32
const hashes = 2 ** 14
const termAt = hashesAt + hashes / 8
const similarBytes = termAt + maxTermBytes

/** How the kernel adds a byte to a hash. */
const mixed = (hash: number, byte: number): number => (Math.imul(hash, 31) + byte) >>> 0

const bitOf = (letter: number): number => 1 << (letter - 97)

/** Collects the terms similar to a word. */
export class Nearest {
  private readonly terms = new Map<string, Near>()
  private readonly edited: ReadonlySet<string>
  private readonly limit: number
  private readonly first: string

  constructor(private readonly word: Spelled) {
    this.edited = termsNearby(word.folded)
    this.limit = allowance(word.term.length)
    this.first = word.term[0]!
  }

  /** What the kernel must know to pass over most terms that are not similar. */
  readonly similar = lazily(() => {
    const { edited, limit } = this
    const { term } = this.word
    const lengths = [...edited, term].map(({ length }) => length)
    const out = new Uint8Array(similarBytes)
    const [words, bytes] = [new Uint32Array(out.buffer, 0, 4), out.subarray(hashesAt)]
    words[0] = Math.min(...lengths, term.length - limit)
    // A letter has up to three bytes.
    words[1] = 3 * Math.max(...lengths, term.length + limit)
    words[2] = limit
    if (/^[a-z]+$/.test(term)) words[3] = Buffer.from(term).reduce((bits, byte) => bits | bitOf(byte), 0)
    for (const each of edited) {
      const hash = Buffer.from(each).reduce(mixed, 0) % hashes
      bytes[hash >>> 3]! |= 1 << (hash & 7)
    }
    return out
  })

  see(term: string, count: number): void {
    const known = this.terms.get(term)
    if (known !== undefined) {
      known.count = known.count >= often ? count : known.count + count
      return
    }
    if (this.edited.has(term)) this.terms.set(term, { edits: 1, count })
    else if (term.length >= 5 && term[0] === this.first && /^\p{L}+$/u.test(term)) {
      const edits = distance(this.word.term, term, this.limit)
      if (edits <= this.limit) this.terms.set(term, { edits, count })
    }
  }

  /** The terms with the fewest edits; of these those most like the word's own term, then the most frequent. */
  best(): ReadonlyArray<NearTerm> {
    const away = new Map([...this.terms.keys()].map((term) => [term, distance(this.word.term, term, 4)]))
    const sorted = [...this.terms].sort(
      ([x, a], [y, b]) => a.edits - b.edits || away.get(x)! - away.get(y)! || b.count - a.count
    )
    const least = sorted[0]?.[1].edits
    return sorted
      .filter(([, { edits }]) => edits === least)
      .slice(0, mostTerms)
      .map(([term, { edits }]) => ({ word: this.word.word, term, weight: weights[edits]! }))
  }
}

/** Shows a word the terms of a block that may be similar to it. */
export const showBlock = (arena: Arena, nearest: Pick<Nearest, "see" | "similar">, data: Uint8Array): void => {
  const known = nearest.similar()
  const [similar, from] = arena.scratch([similarBytes, data.length])
  arena.bytes.set(known, similar)
  arena.bytes.set(data, from)
  const rest = arena.words.subarray(similar / 4 + 4, similar / 4 + 8)
  rest.set([from, from + data.length])
  while (isFound(arena.kernel.nextSimilar(similar))) {
    const [, , length, count] = rest as unknown as [number, number, number, number]
    nearest.see(Buffer.from(arena.bytes.buffer, similar + termAt, length).toString(), count)
  }
}

/** Most unknown words of a query for which similar terms are looked up. */
const mostWords = 3
/** Most blocks of the dictionary read for a query, which bounds its time at any size. */
const mostBlocks = 96
/** Of a larger block only the first term is used: most of it is a single term's postings. */
const smallBlock = 64 * 1024

const shared = (a: Uint8Array, b: Uint8Array): number => {
  let length = 0
  while (length < a.length && length < b.length && a[length] === b[length]) length++
  return length
}

/** The blocks with terms that have the word's first letter, longest common prefix first. */
const nearby = (firsts: ReadonlyArray<Buffer>, term: string) => {
  // Passages without a term have no blocks.
  if (firsts.length === 0) return []
  const bytes = Buffer.from(term)
  const letter = Buffer.from([...term][0]!)
  const home = Math.max(0, blockOf(firsts, bytes))
  const blocks: Array<{ readonly block: number; readonly shared: number }> = []
  for (let block = home; block >= 0; block--) {
    const common = Math.max(
      shared(firsts[block]!, bytes),
      block === home ? bytes.length : shared(firsts[block + 1]!, bytes)
    )
    if (common < letter.length && block !== home) break
    blocks.push({ block, shared: common })
    if (blocks.length > mostBlocks) break
  }
  for (let block = home + 1; block < firsts.length && blocks.length <= 2 * mostBlocks; block++) {
    const common = shared(firsts[block]!, bytes)
    if (common < letter.length) break
    blocks.push({ block, shared: common })
  }
  return blocks
}

/** The weight of each part of a compound that no passage has as a whole. */
const partWeight = 0.6

/** What some collections are asked about the words of a query. */
interface Vocabulary<E> {
  /** For each term, the number of passages that have it. */
  readonly frequencies: (terms: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<number>, E>
  /** Shows terms spelled like a word, which is one of so many. */
  readonly showNear: (word: Spelled, nearest: Nearest, of: number) => Effect.Effect<void, E>
}

/**
 * For each word of a query that matches nothing: the terms of its parts, if it is a compound of words in the
 * collections, else the most similarly spelled terms there.
 */
export const nearTermsIn = Effect.fnUntraced(function* <E>(
  { frequencies, showNear }: Vocabulary<E>,
  words: ReadonlyArray<Spelled>,
  language: Language
) {
  const known = new Map<string, ReadonlyArray<string>>()
  const termsOf = (word: string): ReadonlyArray<string> => {
    const terms = known.get(word) ?? [...weighted(word, language).keys()]
    known.set(word, terms)
    return terms
  }
  /** The number of passages that have any of a word's terms. */
  const counting = (all: ReadonlyArray<string>) => {
    const terms = [...new Set(all.flatMap(termsOf))]
    return Effect.map(frequencies(terms), (counts) => {
      const of = new Map(terms.map((term, at) => [term, counts[at]!]))
      return new Map(all.map((word) => [word, Math.max(0, ...termsOf(word).map((term) => of.get(term)!))]))
    })
  }
  const counts = yield* counting(words.map(({ word }) => word))
  const unknown = words.filter(({ word }) => counts.get(word) === 0).slice(0, mostWords)
  const found: Array<NearTerm> = []
  for (const word of unknown) {
    const ways = splits(word.word, language)
    const parts = ways.length === 0 ? counts : yield* counting(ways.flat())
    const compound = likeliest(ways, (part) => parts.get(part)!)
    const nearest = new Nearest(word)
    yield* showNear(word, nearest, unknown.length)
    const alike = nearest.best()
    // A word that is one edit away is likelier meant than two parts, each of which may be the stem of another word.
    if (compound !== undefined && alike[0]?.weight !== weights[1]) {
      for (const part of compound) {
        for (const [term, weight] of weighted(part, language)) {
          found.push({ word: word.word, term, weight: partWeight * weight })
        }
      }
      continue
    }
    found.push(...alike)
  }
  return found
})

/** How many passages of segments have each term, and the segments' first terms of each block. */
const frequenciesIn = Effect.fnUntraced(function* <E>(
  arena: Arena,
  store: SegmentStore<E>,
  segments: ReadonlyArray<Segment>,
  terms: ReadonlyArray<string>
) {
  const loaded = yield* loadSegments(store, arena, segments)
  const needles = terms.map((term) => ({ term, isPrefix: false }))
  yield* loadPostings(store, arena, segments, loaded, needles)
  const counts = terms.map((term) => loaded.reduce((sum, { postings }) => sum + postings.get(term)!.count, 0))
  return { counts, firsts: loaded.map((each) => each.firsts) }
})

/** The same of collections whose postings are in segments. */
export const nearTerms = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  collections: ReadonlyArray<number>,
  query: string
) {
  const words = spelledWords(query)
  if (words.length === 0) return []
  const segments = yield* segmentsIn(store, collections)
  if (segments.length === 0) return []
  let firsts: ReadonlyArray<ReadonlyArray<Buffer>> = []
  const frequencies = (terms: ReadonlyArray<string>) =>
    Effect.map(
      Arena.using((arena) => frequenciesIn(arena, store, segments, terms)),
      (found) => {
        firsts = found.firsts
        return found.counts
      }
    )
  const showNear = ({ term }: Spelled, nearest: Nearest, of: number) => {
    const refs = firsts
      .flatMap((blocks, at) => nearby(blocks, term).map((near) => ({ ...near, segment: segments[at]!.id, at })))
      .sort((a, b) => b.shared - a.shared)
      .slice(0, Math.floor(mostBlocks / of))
    for (const { at, block } of refs) nearest.see(firsts[at]![block]!.toString(), often)
    return Arena.using((arena) => store.readSmallBlocks(refs, smallBlock, (data) => showBlock(arena, nearest, data)))
  }
  return yield* nearTermsIn({ frequencies, showNear }, words, yield* queryLanguageIn(segments, query))
})
