import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Collection } from "../../model/Collection.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { FileChange } from "../../model/File.ts"
import type { Filter } from "../../model/Filter.ts"
import type { Deleted, PreparedDocument, PutOutcome } from "../../model/Stored.ts"
import * as collections from "./collections.ts"
import { cut } from "./content.ts"
import { documentCrc } from "./documentCrc.ts"
import * as files from "./files.ts"
import { documentsWhere, metadataRows } from "./filter.ts"
import { globbed } from "./globbing.ts"
import * as graph from "./graph/edges.ts"
import * as keyword from "./keyword.ts"
import { type Known, resolve, storedId } from "./references.ts"
import * as reindex from "./reindex.ts"
import { inList, insertRows, list } from "./rows.ts"
import * as vectors from "./vectors.ts"
import { searchedHeading, searchedTitle } from "../../text/naming.ts"

/** Bitmaps and codes name passages by numbers of 32 bits. */
const mostPassages = 2 ** 32

/** The next free row id of a table; the write lock is held, so nobody else takes it. */
const nextId = (sql: SqlClient.SqlClient, table: string): Effect.Effect<number, SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = ?", [table]),
    ([row]) => (row?.seq ?? 0) + 1
  )

/**
 * Takes documents out of every table, given their row ids; passages and metadata go by their foreign keys. What is known
 * of their files is in doubt then, unless a run knows it better.
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

/** Replaces or adds documents, in one transaction of the caller's. */
export const put = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: Collection,
  documents: ReadonlyArray<PreparedDocument>,
  indexedAt: number,
  {
    files: changes = [],
    inGraph = true,
    seenBy
  }: {
    readonly seenBy?: number | undefined
    readonly files?: ReadonlyArray<FileChange> | undefined
    /** Whether the passages come into the graph. */
    readonly inGraph?: boolean | undefined
  } = {}
) {
  const found = yield* resolve(sql, collection.id, documents)
  yield* remove(
    sql,
    collection.id,
    found.flatMap((known) => Option.toArray(Option.map(known, (stored: Known) => stored.id))),
    { paths: new Set(changes.map(({ path }) => path)) }
  )
  let documentId = yield* nextId(sql, "documents")
  let passageId = yield* nextId(sql, "passages")
  if (passageId + documents.reduce((sum, { passages }) => sum + passages.length, 0) > mostPassages) {
    return yield* Effect.dieMessage("This index has given all its passages' numbers away: index anew into another file")
  }
  const documentRows: Array<ReadonlyArray<unknown>> = []
  const passageRows: Array<ReadonlyArray<unknown>> = []
  const metadata: Array<ReadonlyArray<unknown>> = []
  const keywordRows: Array<keyword.KeywordRow> = []
  const graphRows: Array<graph.GraphRow> = []
  const vectorRows: Array<{ readonly id: number; readonly vector: Float32Array }> = []
  const outcomes: Array<PutOutcome> = []
  for (const [index, document] of documents.entries()) {
    const stored = found[index] ?? Option.none()
    const docId = storedId(document, stored)
    const { leads, tail } = cut(document.content, document.passages)
    const title = searchedTitle(document.title, document.source)
    documentRows.push([
      documentId,
      collection.id,
      docId,
      document.source ?? null,
      document.title ?? null,
      JSON.stringify(document.metadata),
      document.fingerprint,
      document.origin ?? null,
      document.line ?? null,
      tail,
      document.passages.length,
      document.passages.length === 0 ? null : passageId,
      greatest(seenBy, stored) ?? null,
      indexedAt,
      documentCrc(
        {
          doc_id: docId,
          title: document.title ?? null,
          metadata: JSON.stringify(document.metadata),
          fingerprint: document.fingerprint,
          tail,
          indexed_at: indexedAt
        },
        document.passages.map((passage, ordinal) => ({
          ordinal,
          lead: leads[ordinal]!,
          text: passage.text,
          heading: JSON.stringify(passage.heading),
          start: passage.start,
          end: passage.end,
          start_line: passage.startLine,
          end_line: passage.endLine,
          locator: passage.locator === undefined ? null : JSON.stringify(passage.locator),
          table_header: passage.tableHeader ?? null
        }))
      )
    ])
    for (const row of metadataRows(document.metadata)) metadata.push([...row, documentId])
    for (const [ordinal, passage] of document.passages.entries()) {
      passageRows.push([
        passageId,
        documentId,
        ordinal,
        leads[ordinal],
        passage.text,
        JSON.stringify(passage.heading),
        passage.start,
        passage.end,
        passage.startLine,
        passage.endLine,
        passage.locator === undefined ? null : JSON.stringify(passage.locator),
        passage.tableHeader ?? null
      ])
      keywordRows.push({ id: passageId, title, heading: searchedHeading(passage), text: passage.text })
      const { heading, text } = passage
      graphRows.push({ id: passageId, ordinal, text, heading, title: document.title, source: document.source })
      if (Option.isSome(passage.vector)) vectorRows.push({ id: passageId, vector: passage.vector.value })
      passageId++
    }
    outcomes.push({
      docId,
      status: Option.isSome(stored) ? "updated" : "created",
      passages: document.passages.length
    })
    documentId++
  }
  yield* insertRows(sql, "documents", documentColumns, documentRows)
  yield* insertRows(sql, "metadata_values", ["key", "kind", "value", "document_id"], metadata)
  yield* insertRows(sql, "passages", passageColumns, passageRows)
  yield* keyword.insert(sql, collection.id, keywordRows)
  yield* vectors.insert(sql, collection.id, vectorRows)
  if (inGraph) yield* graph.insert(sql, collection.id, graphRows)
  yield* collections.count(sql, collection.id, { documents: documentRows.length, passages: passageRows.length })
  const origins = new Set(documents.flatMap(({ origin }) => (origin === undefined ? [] : [origin])))
  for (const { path } of changes) origins.delete(path)
  yield* files.unfinished(sql, collection.id, [...origins], indexedAt)
  yield* files.record(sql, collection.id, changes, { run: seenBy ?? 0, now: indexedAt })
  return outcomes
})

/** A document is never seen by an earlier run than it was, whatever order runs end in. */
const greatest = (seenBy: number | undefined, stored: Option.Option<Known>): number | undefined =>
  seenBy === undefined
    ? undefined
    : Math.max(seenBy, Option.getOrUndefined(Option.flatMapNullable(stored, (known) => known.seenBy)) ?? 0)

/** The later of two runs, of which either may be none. */
const latest = "coalesce(max(seen_run, ?), ?, seen_run)"

const documentColumns = [
  "id",
  "collection_id",
  "doc_id",
  "source",
  "title",
  "metadata",
  "fingerprint",
  "origin",
  "line",
  "tail",
  "passages",
  "first_passage",
  "seen_run",
  "indexed_at",
  "crc"
]

const passageColumns = [
  "id",
  "document_id",
  "ordinal",
  "lead",
  "text",
  "heading",
  "start",
  '"end"',
  "start_line",
  "end_line",
  "locator",
  "table_header"
]

export const touch = (
  sql: SqlClient.SqlClient,
  collection: number,
  documents: ReadonlyArray<{ readonly docId: DocumentId; readonly line?: number | undefined }>,
  seenBy: number | undefined
): Effect.Effect<unknown, SqlError> =>
  sql.unsafe(
    // The doc_ids first, and by one subquery each: joined, SQLite would read the whole collection for each of them.
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

/** Takes out some of the documents that a filter matches, at most `limit`. */
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

/** Takes out the documents whose `doc_id` or `source` is exactly the value. */
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
