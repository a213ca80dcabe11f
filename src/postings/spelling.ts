import * as Effect from "effect/Effect"
import type { NearTerm } from "../model/Stored.ts"
import { spelledWords } from "../terms/spelling.ts"
import { splits, likeliest } from "../terms/compounds.ts"
import { weighted } from "../terms/terms.ts"
import { Arena } from "./Arena.ts"
import { BlockReader } from "./block.ts"
import { blockOf } from "./head.ts"
import { loadPostings, loadSegments } from "./load.ts"
import { Nearest, often } from "./nearest.ts"
import { queryLanguageIn, segmentsIn } from "./Postings.ts"
import type { SegmentStore } from "./SegmentStore.ts"

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

/**
 * For each word of a query that matches nothing: the terms of its parts, if it is a compound of words in the
 * collections, else the most similarly spelled terms there.
 */
export const nearTerms = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  collections: ReadonlyArray<number>,
  query: string
) {
  const words = spelledWords(query)
  if (words.length === 0) return []
  const segments = yield* segmentsIn(store, collections)
  if (segments.length === 0) return []
  const language = yield* queryLanguageIn(segments, query)
  const known = new Map<string, ReadonlyArray<string>>()
  const termsOf = (word: string): ReadonlyArray<string> => {
    const terms = known.get(word) ?? [...weighted(word, language).keys()]
    known.set(word, terms)
    return terms
  }
  /** The number of passages that have any of a word's terms, and the segments. */
  const counting = (all: ReadonlyArray<string>) =>
    Arena.using(
      Effect.fnUntraced(function* (arena) {
        const loaded = yield* loadSegments(store, arena, segments)
        const needles = [...new Set(all.flatMap(termsOf))].map((term) => ({ term, isPrefix: false }))
        yield* loadPostings(store, arena, segments, loaded, needles)
        const passagesWith = (word: string) =>
          termsOf(word).reduce(
            (most, term) =>
              Math.max(
                most,
                loaded.reduce((sum, { postings }) => sum + postings.get(term)!.count, 0)
              ),
            0
          )
        return { loaded, counts: new Map(all.map((word) => [word, passagesWith(word)])) }
      })
    )
  const { counts, loaded } = yield* counting(words.map(({ word }) => word))
  const unknown = words.filter(({ word }) => counts.get(word) === 0).slice(0, mostWords)
  const found: Array<NearTerm> = []
  for (const word of unknown) {
    const ways = splits(word.word, language)
    const parts = ways.length === 0 ? counts : (yield* counting(ways.flat())).counts
    const compound = likeliest(ways, (part) => parts.get(part)!)
    if (compound !== undefined) {
      for (const part of compound) {
        for (const [term, weight] of weighted(part, language)) {
          found.push({ word: word.word, term, shown: part, weight: partWeight * weight })
        }
      }
      continue
    }
    const refs = loaded
      .flatMap(({ firsts }, at) =>
        nearby(firsts, word.term).map((near) => ({ ...near, segment: segments[at]!.id, at }))
      )
      .sort((a, b) => b.shared - a.shared)
      .slice(0, Math.floor(mostBlocks / unknown.length))
    const nearest = new Nearest(word)
    for (const { at, block } of refs) nearest.see(loaded[at]!.firsts[block]!.toString(), often)
    yield* store.readSmallBlocks(refs, smallBlock, (data) => {
      const reader = new BlockReader(data)
      while (reader.next()) {
        if (nearest.mayBe(reader.term, reader.termLength)) nearest.see(reader.currentTerm.toString(), reader.count)
      }
    })
    found.push(...nearest.best())
  }
  return found
})
