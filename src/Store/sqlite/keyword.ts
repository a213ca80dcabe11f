import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { NearTerm } from "../../model/Stored.ts"
import { isLoneCharacter } from "../../text/terms/scan.ts"
import { salient, splitQuery } from "../../text/terms.ts"
import { termsVersion } from "../../text/terms/version.ts"
import type { Mask } from "./filter.ts"
import { buildSegment, type KeywordRow } from "../../postings/build.ts"
import { loadSegments } from "../../postings/load.ts"
import { Arena } from "../../postings/Arena.ts"
import { mergeStep } from "../../postings/mergeStep.ts"
import { best } from "../../postings/search.ts"
import { add, addBlocks, bury, holding, live, postingsFormat, putHead, State } from "./segments.ts"
import { nearTerms } from "../../postings/spelling.ts"
import { crowd } from "../../postings/tiers.ts"
import { verify } from "../../postings/verify.ts"
import type { Scored } from "./rank.ts"
import { isPresent } from "./sweep.ts"

export type { KeywordRow }
export { mergeStep, nearTerms, verify }

/** Leaves a collection's segments to merging, which takes them away in steps. */
export const drop = (sql: SqlClient.SqlClient, collection: number): Effect.Effect<unknown, SqlError> =>
  sql.unsafe(`UPDATE keyword_segments SET state = ${State.garbage} WHERE collection_id = ?`, [collection])

/** Passages that become one segment. */
const segmentRows = 8192

/** Makes a segment of passages, in order of their ids. */
export const addSegment = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  rows: ReadonlyArray<KeywordRow>,
  state: typeof State.live | typeof State.waiting
) {
  const { blocks, ...head } = buildSegment(rows)
  const id = yield* add(sql, {
    collection_id: collection,
    state,
    passages: rows.length,
    terms: head.lengths.reduce((sum, length) => sum + length, 0),
    first_id: rows[0]!.id,
    last_id: rows.at(-1)!.id,
    blocks: blocks.length,
    format: postingsFormat,
    terms_version: termsVersion
  })
  yield* putHead(sql, id, head)
  yield* addBlocks(sql, id, 0, blocks)
})

/** Adds passages, in order of their ids, which are greater than all before. */
export const insert = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  rows: ReadonlyArray<KeywordRow>
) {
  const segments = yield* live(sql, collection)
  let before = segments.at(-1)?.last_id ?? 0
  for (let from = 0; from < rows.length; from += segmentRows) {
    const slice = rows.slice(from, from + segmentRows)
    for (const { id } of slice) {
      if (id <= before) return yield* Effect.dieMessage(`Passage ${id} comes after ${before}`)
      before = id
    }
    yield* addSegment(sql, collection, slice, State.live)
  }
  // A process that only ever puts a little and ends leaves the merging to nobody else.
  if (segments.length > crowd) yield* mergeStep(sql)
})

/** Takes passages out by their ids. */
export const remove = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  ids: ReadonlyArray<number>
) {
  if (ids.length === 0) return
  const sorted = ids.toSorted((a, b) => a - b)
  const touched = (yield* holding(sql, collection)).filter(
    ({ first_id, last_id }) => last_id >= sorted[0]! && first_id <= sorted.at(-1)!
  )
  const arena = Arena.current
  const loaded = yield* loadSegments(sql, arena, touched)
  for (const [index, { ids: known, lengthsAt }] of loaded.entries()) {
    const ordinals = sorted.map((id) => known.ordinalOf(id)).filter((ordinal) => ordinal >= 0)
    if (ordinals.length === 0) continue
    yield* bury(sql, touched[index]!.id, ordinals, (ordinal) => arena.words[lengthsAt / 4 + ordinal]!)
  }
})

/**
 * The best passages by BM25 (Robertson & Zaragoza 2009; k1 1.2, b 0.75) with occurrences weighted by field, best first,
 * and all that tie with the last up to a bound; then the other `also` passages as far as they match. A passage matches
 * by any term; function words count only in a query of nothing else. Several collections have one common statistic.
 */
export const search = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collections: ReadonlyArray<number>,
  query: string,
  options: {
    readonly depth: number
    readonly mask: Mask | undefined
    readonly also: ReadonlyArray<number>
    /** Terms to be looked up besides, for words that match nothing. */
    readonly near?: ReadonlyArray<NearTerm> | undefined
    /** How many they have, to hold the postings against. */
    readonly passages?: number
  }
) {
  const wanted = [...salient(splitQuery(query).content)].map(([term, count]) => ({
    term,
    count,
    isPrefix: isLoneCharacter(term)
  }))
  for (const { term, weight } of options.near ?? []) {
    if (!wanted.some((want) => want.term === term)) wanted.push({ term, count: weight, isPrefix: false })
  }
  if (wanted.length === 0) return [] satisfies ReadonlyArray<Scored>
  return yield* best(sql, collections, wanted, options)
})

/** What `verify` finds in all collections. */
export const verifyAll = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const collections = yield* sql.unsafe<{ readonly id: number }>(
    `SELECT id FROM collections WHERE ${isPresent} ORDER BY id`
  )
  return (yield* Effect.forEach(collections, ({ id }) => verify(sql, id))).flat()
})
