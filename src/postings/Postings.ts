/*
 * The keyword engine: an inverted index of passages, ranked by BM25.
 *
 * It guarantees exact scores with live statistics, under any filter and over several collections at once. Deleted
 * passages are never found. The cost of a write depends only on what is written, not on the size of the index. It takes
 * about 135 bytes per passage of 120 words, and a query takes about 4 ns per posting of its terms: it scores all
 * postings of its terms, without skipping. What queries have loaded stays in one memory of 8 to 64 MB per thread
 * (`Arena`).
 *
 * Passages are stored in segments (`build`, with a kernel of its own in `Segmenter`): a head with their ids and lengths, and blocks of terms with their postings
 * (`block`, `posting`), which queries unpack (`unpacked`). Segments never change except for their tombstones. Merges turn many into few (`tiers`, `merge`,
 * `mergeStep`), a few milliseconds at a time, and any process may continue what another began. The store of the bytes
 * implements `SegmentStore`. Terms are made in `terms`, for passages and queries alike.
 */
import * as Effect from "effect/Effect"
import { damaged } from "../model/Damaged.ts"
import type { NearTerm } from "../model/Stored.ts"
import { queryLanguage } from "../terms/detect.ts"
import { isNames } from "../terms/codeNames.ts"
import type { Language } from "../terms/languages.ts"
import { isLoneCharacter } from "../terms/scan.ts"
import { joinedTerms, termsVersion, weighted } from "../terms/terms.ts"
import { Arena } from "./Arena.ts"
import { type Segment, type SegmentStore, State, livingIn, postingsFormat } from "./SegmentStore.ts"
import { type KeywordRow, buildSegment } from "./build.ts"
import { languagesOf, listOf, passagesIn } from "./languages.ts"
import { learned } from "../terms/stemmers.ts"
import { loadPostings, loadSegments } from "./load.ts"
import { mergeStep } from "./mergeStep.ts"
import { type Matching, type SearchOptions, type Wanted, score } from "./score.ts"
import { crowd } from "./tiers.ts"
import { bury } from "./tombstones.ts"

/** Passages per new segment. */
export const segmentRows = 8192

/** Stores a segment of passages, given in order of their ids. */
export const addSegment = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  collection: number,
  rows: ReadonlyArray<KeywordRow>,
  state: State
) {
  const languages = languagesOf(rows)
  yield* learned(languages.keys())
  const { blocks, ...head } = buildSegment(rows)
  const id = yield* store.add({
    collection_id: collection,
    state,
    passages: rows.length,
    terms: head.lengths.reduce((sum, length) => sum + length, 0),
    first_id: rows[0]!.id,
    last_id: rows.at(-1)!.id,
    blocks: blocks.length,
    format: postingsFormat,
    terms_version: termsVersion,
    languages: listOf(languages)
  })
  yield* store.putHead(id, head)
  yield* store.addBlocks(id, 0, blocks)
})

/** Adds passages, in order of their ids, which are greater than all stored ids. */
export const insert = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  collection: number,
  rows: ReadonlyArray<KeywordRow>
) {
  const segments = yield* store.live(collection)
  let before = segments.at(-1)?.last_id ?? 0
  for (let from = 0; from < rows.length; from += segmentRows) {
    const slice = rows.slice(from, from + segmentRows)
    for (const { id } of slice) {
      if (id <= before) return yield* Effect.dieMessage(`Passage ${id} comes after ${before}`)
      before = id
    }
    yield* addSegment(store, collection, slice, State.live)
  }
  // A process that only makes small writes and ends leaves the merging to nobody else.
  if (segments.length > crowd) yield* mergeStep(store)
})

/** Removes passages by their ids. */
export const remove = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  collection: number,
  ids: ReadonlyArray<number>
) {
  if (ids.length === 0) return
  const sorted = ids.toSorted((a, b) => a - b)
  const touched = (yield* store.holding(collection)).filter(
    ({ first_id, last_id }) => last_id >= sorted[0]! && first_id <= sorted.at(-1)!
  )
  yield* Arena.using(
    Effect.fnUntraced(function* (arena) {
      const loaded = yield* loadSegments(store, arena, touched)
      for (const [index, { ids: known, lengthsAt }] of loaded.entries()) {
        const ordinals = sorted.map((id) => known.ordinalOf(id)).filter((ordinal) => ordinal >= 0)
        if (ordinals.length === 0) continue
        yield* bury(store, touched[index]!.id, ordinals, (ordinal) => arena.words[lengthsAt / 4 + ordinal]!)
      }
    })
  )
})

/** The live segments of collections, in the order of their passages. */
export const segmentsIn = Effect.fnUntraced(function* <E>(store: SegmentStore<E>, collections: ReadonlyArray<number>) {
  const segments: Array<Segment> = []
  for (const collection of collections) segments.push(...(yield* store.live(collection)))
  return segments
})

/** The language to look a query up in, chosen among those of segments, and loaded. */
export const queryLanguageIn = Effect.fnUntraced(function* (segments: ReadonlyArray<Segment>, query: string) {
  const language = queryLanguage(query, passagesIn(segments.map(({ languages }) => languages)))
  yield* learned([language])
  return language
})

/** The terms to look up for a query in a language, and for words of it that match nothing. */
export const wantedTerms = (
  query: string,
  language: Language,
  near: ReadonlyArray<NearTerm> = []
): ReadonlyArray<Wanted> => {
  // Elsewhere a part may count by its own language's stem.
  const names = language !== "en" || isNames(query) ? [] : joinedTerms(query)
  const wanted = [...weighted(query, language)].map(([term, count]): Wanted => ({
    term,
    count,
    names: names.filter((name) => name.includes(term)),
    isPrefix: isLoneCharacter(term)
  }))
  for (const { term, weight } of near) {
    if (!wanted.some((want) => want.term === term)) {
      wanted.push({ term, count: weight, isPrefix: false, isNear: true })
    }
  }
  return wanted
}

/** The terms of a query, and what each of the first `most` adds to the scores of passages that `search` returned. */
export const termScores = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  collections: ReadonlyArray<number>,
  query: string,
  passages: ReadonlyArray<number>,
  options: Pick<BestOptions, "isCancelled" | "mask"> & {
    readonly near: ReadonlyArray<NearTerm> | undefined
    readonly most: number
  }
) {
  const segments = yield* segmentsIn(store, collections)
  const wanted = wantedTerms(query, yield* queryLanguageIn(segments, query), options.near)
  if (wanted.length === 0) return { terms: [], total: 0 }
  // What a part of a name counts depends on the others.
  const { counts } = yield* best(store, segments, wanted, { ...options, depth: 1, also: [] })
  const alone = wanted.slice(0, options.most).map((want, at): Wanted => ({ ...want, count: counts[at]!, names: [] }))
  const terms = yield* Effect.forEach(alone, (want) =>
    Effect.map(best(store, segments, [want], { ...options, depth: 1, also: passages }), ({ found }) => ({
      ...want,
      scores: new Map(found.map(({ id, score }) => [id, score]))
    }))
  )
  return { terms, total: wanted.length }
})

interface BestOptions extends SearchOptions {
  /** The expected number of passages, compared with the postings. */
  readonly passages?: number
  /** Called every few milliseconds; true if the caller is gone. */
  readonly isCancelled: () => boolean
}

const scored = Effect.fnUntraced(function* <E>(
  arena: Arena,
  store: SegmentStore<E>,
  segments: ReadonlyArray<Segment>,
  wanted: ReadonlyArray<Wanted>,
  options: BestOptions
) {
  const loaded = yield* loadSegments(store, arena, segments)
  yield* loadPostings(store, arena, segments, loaded, wanted)
  return score(arena, segments, loaded, wanted, options, options.isCancelled) ?? (yield* Effect.interrupt)
})

/** The best passages of segments by BM25, best first, then by id; interrupted if the caller is gone. */
const best = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  segments: ReadonlyArray<Segment>,
  wanted: ReadonlyArray<Wanted>,
  options: BestOptions
) {
  const alive = livingIn(segments)
  if (options.passages !== undefined && alive !== options.passages) {
    damaged(
      segments.length === 0
        ? "it has no postings for a keyword search"
        : `its postings cover ${alive} passages instead of ${options.passages}`
    )
  }
  return yield* Arena.using((arena) => scored(arena, store, segments, wanted, options))
})

/**
 * The best passages by BM25 (Robertson & Zaragoza 2009; k1 1.2, b 0.75) with occurrences weighted by field, best first,
 * with all that tie with the last up to a bound; then the other `also` passages that match. Any term makes a passage
 * match; function words count only if the query has nothing else. Several collections share one set of statistics.
 */
export const search = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  collections: ReadonlyArray<number>,
  query: string,
  options: BestOptions & {
    /** Further terms to look up, for words that match nothing. */
    readonly near?: ReadonlyArray<NearTerm> | undefined
  }
) {
  const segments = yield* segmentsIn(store, collections)
  const language = yield* queryLanguageIn(segments, query)
  const wanted = wantedTerms(query, language, options.near)
  const none: Matching = { found: [], known: 1, rarity: new Map(), counts: [] }
  return { ...(wanted.length === 0 ? none : yield* best(store, segments, wanted, options)), language }
})
