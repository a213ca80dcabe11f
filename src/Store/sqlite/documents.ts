import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { DocumentId } from "../../model/Document.ts"
import type { Filter } from "../../model/Filter.ts"
import type { Deleted } from "../../model/Stored.ts"
import * as collections from "./collections.ts"
import * as files from "./files.ts"
import { documentsWhere } from "./filter.ts"
import { globbed } from "./globbing.ts"
import * as graph from "./graph/edges.ts"
import * as keyword from "./keyword.ts"
import * as reindex from "./reindex.ts"
import { inList, list } from "./rows.ts"
import * as vectors from "./vectors.ts"

/**
 * Deletes documents from every table, given their row ids; passages and metadata are deleted by their foreign keys. The
 * records of their files are then in doubt, unless a run knows better.
 */
export const remove = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  ids: ReadonlyArray<number>,
  isKnown: { readonly since?: number | undefined; readonly paths?: ReadonlySet<string> } = {}
) {
  if (ids.length === 0) return { documents: 0, passages: 0 } satisfies Deleted
  const rows = yield* sql.unsafe<{ readonly id: number }>(`SELECT id FROM passages WHERE document_id ${inList}`, [
    list(ids)
  ])
  const passages = rows.map((row) => row.id)
  yield* keyword.remove(sql, collection, passages)
  yield* vectors.remove(sql, collection, passages)
  yield* reindex.forget(sql, collection, passages)
  yield* graph.remove(sql, collection, passages)
  const origins = yield* sql.unsafe<{ readonly origin: string }>(
    `SELECT DISTINCT origin FROM documents WHERE origin IS NOT NULL AND id ${inList}`,
    [list(ids)]
  )
  yield* sql.unsafe(`DELETE FROM documents WHERE id ${inList}`, [list(ids)])
  const doubtful = origins.flatMap(({ origin }) => (isKnown.paths?.has(origin) === true ? [] : [origin]))
  yield* files.doubt(sql, collection, doubtful, isKnown.since)
  const deleted: Deleted = { documents: ids.length, passages: passages.length }
  yield* collections.count(sql, collection, { documents: -deleted.documents, passages: -deleted.passages })
  return deleted
})

/** The later of two runs; either may be NULL. */
const latest = "coalesce(max(seen_run, ?), ?, seen_run)"

export const touch = (
  sql: SqlClient.SqlClient,
  collection: number,
  documents: ReadonlyArray<{ readonly docId: DocumentId; readonly line?: number | undefined }>,
  seenBy: number | undefined
): Effect.Effect<unknown, SqlError> =>
  sql.unsafe(
    // The doc_ids first, each by one subquery: with a join, SQLite would read the whole collection for each of them.
    `UPDATE documents SET seen_run = ${latest}, line = coalesce(t.value ->> 1, line)
     FROM json_each(?) AS t
     WHERE documents.id = (SELECT id FROM documents WHERE collection_id = ? AND doc_id = t.value ->> 0)`,
    [
      seenBy ?? null,
      seenBy ?? null,
      JSON.stringify(documents.map(({ docId, line }) => [docId, line ?? null])),
      collection
    ]
  )

/** Deletes at most `limit` of the documents that match a filter. */
export const removeMatching = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  filter: Filter,
  limit: number
) {
  const { params, sql: where } = documentsWhere(collection, filter, yield* globbed(sql, collection, filter))
  const rows = yield* sql.unsafe<{ readonly id: number }>(`SELECT d.id FROM documents AS d WHERE ${where} LIMIT ?`, [
    ...params,
    limit
  ])
  return yield* remove(
    sql,
    collection,
    rows.map((row) => row.id)
  )
})

/** Deletes the documents whose `doc_id` or `source` is exactly the value. */
export const removeWhere = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  column: "doc_id" | "source",
  value: string
) {
  const rows = yield* sql.unsafe<{ readonly id: number }>(
    `SELECT id FROM documents WHERE collection_id = ? AND ${column} = ?`,
    [collection, value]
  )
  return yield* remove(
    sql,
    collection,
    rows.map((row) => row.id)
  )
})
