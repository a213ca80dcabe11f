import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { KeywordRow } from "../../../postings/build.ts"
import { rising } from "../../../model/Damaged.ts"
import { State } from "../../../postings/SegmentStore.ts"
import { addSegment } from "../keyword.ts"
import { tellLanguages } from "../languages.ts"
import type { Position } from "./position.ts"
import { searchedColumns, type SearchedRow, toKeywordRow } from "../searched.ts"

/** The most that a step takes, unless a single passage is larger. */
const most = { passages: 4096, bytes: 4 * 1024 * 1024 }

interface Row extends SearchedRow {
  readonly document: number
}

/**
 * The passages of a collection after one, in order, with what their terms are made from. Found through their documents,
 * so that other collections' passages between them cost nothing.
 */
export const rowsAfter = (
  sql: SqlClient.SqlClient,
  collection: number,
  after: number,
  until: number,
  limit: number = most.passages
) =>
  Effect.map(
    sql.unsafe<Row>(
      `SELECT ${searchedColumns}, d.id AS document
       FROM documents AS d INDEXED BY documents_passages
       CROSS JOIN passages AS p ON p.id >= max(d.first_passage, ?) AND p.id < d.first_passage + d.passages
       WHERE d.collection_id = ? AND d.first_passage <= ? AND d.first_passage >= coalesce((
         SELECT first_passage FROM documents INDEXED BY documents_passages
         WHERE collection_id = ? AND first_passage <= ? ORDER BY first_passage DESC LIMIT 1), 0)
         AND p.document_id = d.id AND p.id <= ?
       ORDER BY d.first_passage LIMIT ?`,
      [after + 1, collection, until, collection, after + 1, until, limit]
    ),
    (rows) =>
      rising(
        rows.map((row) => ({ ...toKeywordRow(row), document: row.document, isTold: row.language !== null })),
        after,
        "passages"
      )
  )

/** Deletes what another rebuild or a merge has made so far. */
export const begin = (sql: SqlClient.SqlClient, collection: number) =>
  sql.unsafe(
    `UPDATE keyword_segments SET state = ${State.garbage} WHERE collection_id = ? AND state IN (${State.building}, ${State.waiting})`,
    [collection]
  )

export const advance = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { collection_id: collection, through, until }: Position
) {
  const rows = yield* rowsAfter(sql, collection, through, until)
  let bytes = 0
  const some = rows.filter((row, index) => {
    bytes += row.text.length
    return index === 0 || bytes <= most.bytes
  })
  if (some.length === 0) return undefined
  const untold = new Set(some.flatMap(({ document, isTold }) => (isTold ? [] : [document])))
  const told = yield* tellLanguages(sql, [...untold])
  const made = some.map(({ document, isTold, language, ...row }): KeywordRow => ({
    ...row,
    language: isTold ? language : told.get(document)
  }))
  yield* addSegment(sql, collection, made, State.waiting)
  return { through: some.at(-1)!.id, count: some.length }
})

/** In one transaction: deletes the segments from before the rebuild, adds the new ones, and keeps those added since. */
export const finish = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { boundary, collection_id: collection }: Position
) {
  yield* sql.unsafe(
    `UPDATE keyword_segments SET state = ${State.garbage} WHERE collection_id = ? AND state = ${State.live} AND id <= ?`,
    [collection, boundary]
  )
  yield* sql.unsafe(
    `UPDATE keyword_segments SET state = ${State.live} WHERE collection_id = ? AND state = ${State.waiting}`,
    [collection]
  )
})
