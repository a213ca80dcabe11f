import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { KeywordRow } from "../../postings/build.ts"
import { holding as heldBy } from "../../postings/holding.ts"
import * as merging from "../../postings/mergeStep.ts"
import * as postings from "../../postings/Postings.ts"
import type { State } from "../../postings/SegmentStore.ts"
import * as spelling from "../../postings/spelling.ts"
import * as verifying from "../../postings/verify.ts"
import { Cancelled } from "./Cancelled.ts"
import { searchedColumns, type SearchedRow, toKeywordRow } from "./searched.ts"
import { segmentsOn } from "./segments.ts"
import { isPresent } from "./sweep.ts"

export type { KeywordRow }

type Search = Parameters<typeof postings.search<SqlError>>

/** The best passages of collections by BM25; see `postings.search`. */
export const search = (
  sql: SqlClient.SqlClient,
  collections: ReadonlyArray<number>,
  query: string,
  options: Omit<Search[3], "isCancelled">
) =>
  Effect.flatMap(Cancelled, (isCancelled) =>
    postings.search(segmentsOn(sql), collections, query, { ...options, isCancelled })
  )

/** What each term of a query adds to the scores of some passages; see `postings.termScores`. */
export const termScores = (
  sql: SqlClient.SqlClient,
  collections: ReadonlyArray<number>,
  query: string,
  passages: ReadonlyArray<number>,
  options: Omit<Parameters<typeof postings.termScores<SqlError>>[4], "isCancelled">
) =>
  Effect.flatMap(Cancelled, (isCancelled) =>
    postings.termScores(segmentsOn(sql), collections, query, passages, { ...options, isCancelled })
  )

/** The passages of a collection that have all given terms; see `holding`. */
export const holding = (
  sql: SqlClient.SqlClient,
  collection: number,
  needles: Parameters<typeof heldBy>[2],
  field: "any" | "title"
) => Effect.flatMap(Cancelled, (isCancelled) => heldBy(segmentsOn(sql), collection, needles, { field, isCancelled }))

export const nearTerms = (sql: SqlClient.SqlClient, collections: ReadonlyArray<number>, query: string) =>
  spelling.nearTerms(segmentsOn(sql), collections, query)

/** Adds passages, in order of their ids, which are greater than all stored ids. */
export const insert = (sql: SqlClient.SqlClient, collection: number, rows: ReadonlyArray<KeywordRow>) =>
  postings.insert(segmentsOn(sql), collection, rows)

export const addSegment = (
  sql: SqlClient.SqlClient,
  collection: number,
  rows: ReadonlyArray<KeywordRow>,
  state: State
) => postings.addSegment(segmentsOn(sql), collection, rows, state)

/** Removes passages by their ids. */
export const remove = (sql: SqlClient.SqlClient, collection: number, ids: ReadonlyArray<number>) =>
  postings.remove(segmentsOn(sql), collection, ids)

/** Leaves a collection's segments to merging, which deletes them in steps. */
export const drop = (sql: SqlClient.SqlClient, collection: number) => segmentsOn(sql).discardAll(collection)

/** Does a little of the due merging, in the caller's transaction, which holds the write lock. */
export const mergeStep = (sql: SqlClient.SqlClient, options?: merging.StepOptions) =>
  merging.mergeStep(segmentsOn(sql), options)

/** The disagreements between a collection's postings and its passages, one sentence each. Run it in one snapshot. */
export const verify = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  read: { readonly pause?: Effect.Effect<void>; readonly through?: (passages: number) => Effect.Effect<void> } = {}
) {
  let count = 0
  const [counted] = yield* sql.unsafe<{ readonly passages: number }>("SELECT passages FROM collections WHERE id = ?", [
    collection
  ])
  return yield* verifying.verify(segmentsOn(sql), collection, {
    passages: counted?.passages,
    pause: read.pause,
    after: (passage, most) =>
      Effect.map(
        sql.unsafe<SearchedRow>(
          `SELECT ${searchedColumns}
           FROM passages AS p CROSS JOIN documents AS d ON d.id = p.document_id
           WHERE d.collection_id = ? AND p.id > ? ORDER BY p.id LIMIT ?`,
          [collection, passage, most]
        ),
        (rows) => rows.map(toKeywordRow)
      ).pipe(Effect.tap((rows) => read.through?.((count += rows.length)) ?? Effect.void))
  })
})

/** The disagreements that `verify` finds in all collections. */
export const verifyAll = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const collections = yield* sql.unsafe<{ readonly id: number }>(
    `SELECT id FROM collections WHERE ${isPresent} ORDER BY id`
  )
  return (yield* Effect.forEach(collections, ({ id }) => verify(sql, id))).flat()
})
