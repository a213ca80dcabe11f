import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as collections from "./collections.ts"
import * as files from "./files.ts"
import * as graph from "./graph/edges.ts"
import * as reindex from "./reindex.ts"
import { type KnownRow, toKnown } from "../core/document.ts"
import { identified, ranges } from "../core/identity.ts"
import { dialectOf } from "./dialect.ts"
import { inList, list } from "./rows.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { Filter } from "../../model/Filter.ts"
import type { Deleted, DocumentRef, PrunePosition, Pruned } from "../../model/Stored.ts"
import { documentsWhere, globbed } from "./filter.ts"
import * as vectors from "./vectors.ts"
import { segmentsOn } from "./segments.ts"
import * as postings from "../../postings/Postings.ts"

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
  yield* postings.remove(segmentsOn(sql), collection, passages)
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
const latest = "CASE WHEN seen_run >= ? THEN seen_run ELSE coalesce(?, seen_run) END"

export const touch = (
  sql: SqlClient.SqlClient,
  collection: number,
  documents: ReadonlyArray<{ readonly docId: DocumentId; readonly line?: number | undefined }>,
  seenBy: number | undefined
): Effect.Effect<unknown, SqlError> =>
  sql.unsafe(
    // The doc_ids first, each by one subquery: with a join, SQLite would read the whole collection for each of them.
    `UPDATE documents SET seen_run = ${latest}, line = coalesce(CAST(t.value ->> 1 AS BIGINT), line)
     FROM ${dialectOf(sql).rows("t")}
     WHERE documents.id = (SELECT d.id FROM documents AS d WHERE d.collection_id = ? AND d.doc_id = t.value ->> 0)`,
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
  const { params, sql: where } = documentsWhere(
    dialectOf(sql),
    collection,
    filter,
    yield* globbed(sql, collection, filter)
  )
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

const pageRows = 1000

/** Passages deleted in one transaction, unless a single document has more. */
const mostPassages = 4000

const always = Number.MAX_SAFE_INTEGER

interface OriginRow {
  readonly id: number
  readonly origin: string
  readonly seen_run: number | null
  readonly passages: number
}

/** One step of a deletion by paths, in the caller's transaction. */
export const prune = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  paths: ReadonlyArray<string>,
  {
    before = always,
    from: begin
  }: { readonly before?: number | undefined; readonly from?: PrunePosition | undefined } = {}
) {
  const all = paths.flatMap(ranges)
  const { indexed } = dialectOf(sql)
  const [first] = indexed("origin")
  const [start] = indexed("?")
  const order = [...indexed("origin"), "id"].join(", ")
  let position: PrunePosition | undefined = begin ?? { path: 0, origin: "", id: 0 }
  let left = pageRows
  let passages = 0
  const ids: Array<number> = []
  while (left > 0 && position !== undefined) {
    const at: PrunePosition = position
    const range = all[at.path]
    if (range === undefined) {
      position = undefined
      break
    }
    const from = at.origin < range[0] ? range[0] : at.origin
    const rows = yield* sql.unsafe<OriginRow>(
      `SELECT id, origin, seen_run, passages FROM documents
       WHERE collection_id = ? AND ${first} >= ${start} AND ${first} <= ${start} AND origin >= ? AND origin < ?
         AND (origin, id) > (?, ?) ORDER BY ${order} LIMIT ?`,
      [collection, from, range[1], from, range[1], at.origin, at.id, left]
    )
    let last: OriginRow | undefined
    for (const row of rows) {
      const goes = (row.seen_run ?? 0) < before
      if (goes && ids.length > 0 && passages + row.passages > mostPassages) break
      last = row
      if (!goes) continue
      ids.push(row.id)
      passages += row.passages
    }
    if (last !== rows.at(-1)) {
      position = last === undefined ? at : { path: at.path, origin: last.origin, id: last.id }
      break
    }
    left -= rows.length
    position =
      left > 0 || last === undefined
        ? { path: at.path + 1, origin: "", id: 0 }
        : { path: at.path, origin: last.origin, id: last.id }
  }
  const deleted = yield* remove(sql, collection, [...new Set(ids)], { since: before })
  if (position === undefined) {
    yield* files.forget(sql, collection, paths, before)
    // Deleting a path, whatever a run has seen, means that the next update must not bring it back.
    if (before === always) {
      for (const [first, end] of all) {
        yield* sql.unsafe("DELETE FROM roots WHERE collection_id = ? AND path >= ? AND path < ?", [
          collection,
          first,
          end
        ])
      }
    }
  }
  return { ...deleted, ...(position === undefined ? {} : { next: position }) } satisfies Pruned
})

const refColumns = "id, doc_id, source, fingerprint, seen_run, line, passages"

/** What is stored under each ref; fails if a ref names two documents, or two refs name one. */
export const resolve = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  refs: ReadonlyArray<DocumentRef>
) {
  const ids = refs.map((ref) => ref.docId ?? ref.derivedId)
  const sources = refs.flatMap((ref) => (ref.source === undefined ? [] : [ref.source]))
  const rows = yield* sql.unsafe<KnownRow>(
    `SELECT ${refColumns} FROM documents WHERE collection_id = ? AND doc_id ${inList}
     UNION SELECT ${refColumns} FROM documents WHERE collection_id = ? AND source ${inList}`,
    [collection, list(ids), collection, list(sources)]
  )
  return yield* identified(refs, rows.map(toKnown))
})
