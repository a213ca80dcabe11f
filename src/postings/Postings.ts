/*
 * The keyword engine: an inverted index of passages, ranked by BM25.
 *
 * It promises exact scores with live statistics, under any filter and over several collections at once; that what was
 * deleted is not found; and that a write costs what is written, however much is there. It costs about 135 bytes a
 * passage of 120 words, and a query about 10 ns a posting of its terms: all postings of the terms asked for are scored,
 * there is no skipping. What queries have loaded stays in one memory of 8 to 64 MB a thread (`Arena`).
 *
 * Passages come as segments (`build`): a head with their ids and lengths, and blocks of terms with their postings
 * (`block`, `posting`). Segments never change but for their tombstones; merges make few out of many (`tiers`, `merge`,
 * `mergeStep`), a few milliseconds at a time, and any process may go on with what another began. Whoever keeps the
 * bytes implements `SegmentStore`. Terms are made in `text/terms`, for passages and queries alike.
 */
import * as Effect from "effect/Effect"
import type { NearTerm } from "../model/Stored.ts"
import type { Scored } from "../model/Scored.ts"
import type { Language } from "../text/terms/languages.ts"
import { isLoneCharacter } from "../text/terms/scan.ts"
import { queryLanguage } from "../text/terms/detect.ts"
import { weighted } from "../text/terms.ts"
import { termsVersion } from "../text/terms/version.ts"
import { Arena } from "./Arena.ts"
import { buildSegment, type KeywordRow } from "./build.ts"
import { languagesOf, listOf, passagesIn } from "./languages.ts"
import { loadSegments } from "./load.ts"
import { mergeStep } from "./mergeStep.ts"
import { best } from "./search.ts"
import type { Wanted } from "./score.ts"
import { learned } from "./stemmers.ts"
import { postingsFormat, type SegmentStore, State } from "./SegmentStore.ts"
import { crowd } from "./tiers.ts"
import { bury } from "./tombstones.ts"

/** Passages that become one segment. */
export const segmentRows = 8192

/** Makes a segment of passages, in order of their ids. */
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

/** Adds passages, in order of their ids, which are greater than all before. */
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
  // A process that only ever puts a little and ends leaves the merging to nobody else.
  if (segments.length > crowd) yield* mergeStep(store)
})

/** Takes passages out by their ids. */
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

/** The language to look a query up in, of those that collections are in; ready to make terms in. */
export const queryLanguageIn = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  collections: ReadonlyArray<number>,
  query: string
) {
  const lists = (yield* Effect.forEach(collections, store.languages)).flat()
  const language = queryLanguage(query, passagesIn(lists))
  yield* learned([language])
  return language
})

/** What is looked up for a query in a language, and for words of it that match nothing. */
export const wantedTerms = (
  query: string,
  language: Language,
  near: ReadonlyArray<NearTerm> = []
): ReadonlyArray<Wanted> => {
  const wanted = [...weighted(query, language)].map(([term, count]) => ({
    term,
    count,
    isPrefix: isLoneCharacter(term)
  }))
  for (const { term, weight } of near) {
    if (!wanted.some((want) => want.term === term)) wanted.push({ term, count: weight, isPrefix: false })
  }
  return wanted
}

/** What each term alone adds to the scores of passages that `search` gave, by passage, in the terms' order. */
export const termScores = <E>(
  store: SegmentStore<E>,
  collections: ReadonlyArray<number>,
  wanted: ReadonlyArray<Wanted>,
  passages: ReadonlyArray<number>,
  options: Pick<Parameters<typeof best>[3], "isCancelled" | "mask">
) =>
  Effect.forEach(wanted, (want) =>
    Effect.map(
      best(store, collections, [want], { ...options, depth: 1, also: passages }),
      (scored) => new Map(scored.map(({ id, score }) => [id, score]))
    )
  )

/**
 * The best passages by BM25 (Robertson & Zaragoza 2009; k1 1.2, b 0.75) with occurrences weighted by field, best first,
 * and all that tie with the last up to a bound; then the other `also` passages as far as they match. A passage matches
 * by any term; function words count only in a query of nothing else. Several collections have one common statistic.
 */
export const search = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  collections: ReadonlyArray<number>,
  query: string,
  options: Parameters<typeof best>[3] & {
    /** Terms to be looked up besides, for words that match nothing. */
    readonly near?: ReadonlyArray<NearTerm> | undefined
  }
) {
  const wanted = wantedTerms(query, yield* queryLanguageIn(store, collections, query), options.near)
  if (wanted.length === 0) return [] satisfies ReadonlyArray<Scored>
  return yield* best(store, collections, wanted, options)
})
