import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as collections from "./collections.ts"
import * as files from "./files.ts"
import * as graph from "./graph/edges.ts"
import * as reindex from "./reindex.ts"
import { type KnownRow, toKnown } from "../core/document.ts"
import { identified } from "../core/identity.ts"
import { type Prunable, type PruneOptions, pruneStep } from "../core/pruning.ts"
import { dialectOf } from "./dialect.ts"
import { type Sql, inList, list, column } from "./rows.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { Filter } from "../../model/Filter.ts"
import type { Deleted, DocumentRef } from "../../model/Stored.ts"
import { documentsWhere } from "./filter.ts"
import * as vectors from "./vectors.ts"
import { segmentsOn } from "./segments.ts"
import * as postings from "../../postings/Postings.ts"

/**
 * Deletes documents from every table, given their row ids; passages and metadata are deleted by their foreign keys. The
 * records of their files are then in doubt, unless a run has `recorded` them since, or records them now.
 */
export const remove = Effect.fnUntraced(function* (
  sql: Sql,
  collection: number,
  ids: ReadonlyArray<number>,
  recorded: { readonly since?: number | undefined; readonly paths?: ReadonlySet<string> } = {}
) {
  if (ids.length === 0) return { documents: 0, passages: 0 } satisfies Deleted
  const passages = yield* column<number>(sql, `SELECT id FROM passages WHERE document_id ${inList}`, [list(ids)])
  yield* postings.remove(segmentsOn(sql), collection, passages)
  yield* vectors.remove(sql, collection, passages)
  yield* reindex.forget(sql, collection, passages)
  yield* graph.remove(sql, collection, passages)
  const origins = yield* column<string>(
    sql,
    `SELECT DISTINCT origin FROM documents WHERE origin IS NOT NULL AND id ${inList}`,
    [list(ids)]
  )
  yield* sql.unsafe(`DELETE FROM documents WHERE id ${inList}`, [list(ids)])
  const doubtful = origins.filter((origin) => recorded.paths?.has(origin) !== true)
  yield* files.doubt(sql, collection, doubtful, recorded.since)
  const deleted: Deleted = { documents: ids.length, passages: passages.length }
  yield* collections.addToCounts(sql, collection, { documents: -deleted.documents, passages: -deleted.passages })
  return deleted
})

/** The later of two runs; either may be NULL. */
const latest = "CASE WHEN seen_run >= ? THEN seen_run ELSE coalesce(?, seen_run) END"

export const touch = (
  sql: Sql,
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
  sql: Sql,
  collection: number,
  filter: Filter,
  limit: number
) {
  const { params, sql: where } = yield* documentsWhere(sql, collection, filter)
  const ids = yield* column<number>(sql, `SELECT d.id FROM documents AS d WHERE ${where} LIMIT ?`, [...params, limit])
  return yield* remove(sql, collection, ids)
})

/** Deletes the documents of which this is exactly the value: `name` is the source, or of one without a source the `doc_id`. */
export const removeWhere = (sql: Sql, collection: number, key: "doc_id" | "name", value: string) =>
  Effect.flatMap(
    column<number>(sql, `SELECT id FROM documents WHERE collection_id = ? AND ${key} = ?`, [collection, value]),
    (ids) => remove(sql, collection, ids)
  )

/** One step of a deletion by paths, in the caller's transaction. */
export const prune = (sql: Sql, collection: number, paths: ReadonlyArray<string>, options?: PruneOptions) => {
  const { indexed } = dialectOf(sql)
  const [first] = indexed("origin")
  const [start] = indexed("?")
  const order = [...indexed("origin"), "id"].join(", ")
  return pruneStep<Prunable, SqlError>(
    {
      next: ([begin, end], { id, origin }, limit) => {
        const from = origin < begin ? begin : origin
        return sql.unsafe<Prunable>(
          `SELECT id, origin, coalesce(seen_run, 0) AS seen, passages FROM documents
           WHERE collection_id = ? AND ${first} >= ${start} AND ${first} <= ${start} AND origin >= ? AND origin < ?
             AND (origin, id) > (?, ?) ORDER BY ${order} LIMIT ?`,
          [collection, from, end, from, end, origin, id, limit]
        )
      },
      remove: (documents, since) =>
        remove(
          sql,
          collection,
          documents.map(({ id }) => id),
          { since }
        ),
      forget: (paths, before) => files.forget(sql, collection, paths, before),
      forgetRoots: (within) => files.forgetRoots(sql, collection, within)
    },
    paths,
    options
  )
}

const refColumns = "id, doc_id, source, fingerprint, seen_run, line, passages"

/** What is stored under each ref; fails if a ref names two documents, or two refs name one. */
export const resolve = Effect.fnUntraced(function* (sql: Sql, collection: number, refs: ReadonlyArray<DocumentRef>) {
  const ids = refs.map((ref) => ref.docId ?? ref.derivedId)
  const sources = refs.flatMap((ref) => (ref.source === undefined ? [] : [ref.source]))
  const rows = yield* sql.unsafe<KnownRow>(
    `SELECT ${refColumns} FROM documents WHERE collection_id = ? AND doc_id ${inList}
     UNION SELECT ${refColumns} FROM documents WHERE collection_id = ? AND source ${inList}`,
    [collection, list(ids), collection, list(sources)]
  )
  return yield* identified(refs, rows.map(toKnown))
})
