import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { idf, norm } from "../../text/bm25.ts"
import type { Scored } from "../sqlite/rank.ts"
import { Arena, type Loaded } from "./Arena.ts"
import { loadPostings, loadSegments, type Needle, needleKey } from "./load.ts"
import { allowed, type Bitmap } from "./mask.ts"
import { live, type Segment } from "./segments.ts"

/** A term of the query, and how often it is said. */
export interface Wanted extends Needle {
  readonly count: number
}

export interface SearchOptions {
  /** Passages wanted. */
  readonly depth: number
  /** The passages that may be found; all, if there is none. */
  readonly mask: Bitmap | undefined
  /** Passages whose scores are wanted wherever they rank; they are within the mask. */
  readonly also: ReadonlyArray<number>
}

/** Passages that come beyond `depth` because they tie with the last; of more ties, those with the least ids. */
const maxTied = 1000

/** Sizes of the kernel's structures. */
const window = 8192
const cursorBytes = 24
const entryBytes = 16

/** Living postings of a term in a segment. */
const living = (arena: Arena, { dead, version }: Segment, loaded: Loaded, needle: Needle): number => {
  const postings = loaded.postings.get(needleKey(needle))!
  if (dead === 0 || postings.count === 0) return postings.count
  if (postings.version !== version) {
    postings.living = arena.kernel.countLiving(postings.at, postings.end, loaded.deadAt)
    postings.version = version
  }
  return postings.living
}

/** The best passages by BM25, best first, then by id. */
export const best = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  wanted: ReadonlyArray<Wanted>,
  options: SearchOptions
) {
  const segments = yield* live(sql, collection)
  const arena = Arena.current
  const loaded = yield* loadSegments(sql, arena, segments)
  yield* loadPostings(sql, arena, segments, loaded, wanted)
  return rank(arena, segments, loaded, wanted, options)
})

const rank = (
  arena: Arena,
  segments: ReadonlyArray<Segment>,
  loaded: ReadonlyArray<Loaded>,
  wanted: ReadonlyArray<Wanted>,
  { also, depth, mask }: SearchOptions
): ReadonlyArray<Scored> => {
  const passages = segments.reduce((sum, { dead, passages }) => sum + passages - dead, 0)
  const terms = segments.reduce((sum, { dead_terms, terms }) => sum + terms - dead_terms, 0)
  if (passages === 0 || depth === 0) return []
  const { base, gain, slope } = norm(passages, terms)
  const weights = wanted.map((want) => {
    const matching = segments.reduce((sum, segment, index) => sum + living(arena, segment, loaded[index]!, want), 0)
    return want.count * gain * idf(passages, matching)
  })
  const asked = also.toSorted((a, b) => a - b)
  const most = Math.min(depth, passages)
  const room = 2 * (most + maxTied)
  const largest = Math.max(...segments.map((segment) => segment.passages))
  const [cursors, heap, sums, out, alsoAt, alsoScores, allowedAt] = arena.scratch([
    cursorBytes * wanted.length,
    8 * most,
    8 * window,
    entryBytes * (room + window),
    4 * asked.length,
    8 * asked.length,
    Math.ceil(largest / 32) * 4
  ])
  const { doubles, kernel, words } = arena
  doubles.fill(0, sums / 8, sums / 8 + window)
  kernel.begin(heap, most)

  const candidates: Array<Scored> = []
  const others: Array<Scored> = []
  for (const { deadAt, ids, lengthsAt, postings } of loaded) {
    let count = 0
    for (const [place, want] of wanted.entries()) {
      const { at, end } = postings.get(needleKey(want))!
      if (at === end) continue
      const cursor = (cursors + cursorBytes * count++) / 4
      words[cursor] = at
      words[cursor + 1] = end
      words[cursor + 2] = 0xffffffff
      words[cursor + 3] = 0
      doubles[cursor / 2 + 2] = weights[place]!
    }
    if (count === 0) continue
    if (
      mask !== undefined &&
      !allowed(mask, ids, words.subarray(allowedAt / 4, allowedAt / 4 + Math.ceil(ids.count / 32)))
    ) {
      continue
    }
    const here = asked.flatMap((id) => {
      const ordinal = ids.ordinalOf(id)
      return ordinal < 0 || (deadAt !== 0 && ((arena.bytes[deadAt + (ordinal >>> 3)]! >>> (ordinal & 7)) & 1) === 1)
        ? []
        : [{ id, ordinal }]
    })
    for (const [place, { ordinal }] of here.entries()) words[alsoAt / 4 + place] = ordinal
    const found = kernel.rank(
      cursors,
      count,
      lengthsAt,
      base,
      slope,
      deadAt,
      mask === undefined ? 0 : allowedAt,
      alsoAt,
      alsoScores,
      here.length,
      sums,
      out,
      room
    )
    for (let entry = 0; entry < found; entry++) {
      const at = out + entryBytes * entry
      candidates.push({ id: ids.idOf(words[at / 4]!), score: doubles[at / 8 + 1]! })
    }
    for (const [place, { id }] of here.entries()) {
      const score = doubles[alsoScores / 8 + place]!
      if (score > 0) others.push({ id, score })
    }
  }
  const bound = kernel.bound()
  const ranked = candidates
    .filter(({ score }) => score >= bound)
    .sort((a, b) => b.score - a.score || a.id - b.id)
    .slice(0, most + maxTied)
  const known = new Set(ranked.map(({ id }) => id))
  return [...ranked, ...others.filter(({ id }) => !known.has(id))]
}
