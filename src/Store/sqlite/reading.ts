import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { CollectionName } from "../../model/Collection.ts"
import type { DocumentId } from "../../model/Document.ts"
import { type Filter, isEmptyFilter } from "../../model/Filter.ts"
import type {
  DocumentSummary,
  ListedDocument,
  RecentDocument,
  SampledPassage,
  StoredDocument
} from "../../model/Stored.ts"
import { DocumentNotFound } from "../../Store.ts"
import { parsed } from "../../model/Damaged.ts"
import { join } from "./content.ts"
import { type CheckedRow, checkDocument } from "./documentCrc.ts"
import { documentsWhere } from "./filter.ts"
import { globbed } from "./globbing.ts"
import { toPassage } from "./passage.ts"
import { isPresent, leaving } from "./sweep.ts"

interface DocumentRow {
  readonly id: number
  readonly doc_id: DocumentId
  readonly source: string | null
  readonly title: string | null
  readonly metadata: string
  readonly head_crc: number | null
  readonly line: number | null
  readonly tail: string
  readonly passages: number
  readonly indexed_at: number
}

/** A complete document, with its content put together. */
export const get = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number, docId: DocumentId) {
  const [row] = yield* sql.unsafe<DocumentRow>("SELECT * FROM documents WHERE collection_id = ? AND doc_id = ?", [
    collection,
    docId
  ])
  if (row === undefined) return yield* new DocumentNotFound({ docId })
  const passages = yield* sql.unsafe<CheckedRow>("SELECT * FROM passages WHERE document_id = ? ORDER BY ordinal", [
    row.id
  ])
  checkDocument(row, passages)
  return {
    docId: row.doc_id,
    source: row.source ?? undefined,
    title: row.title ?? undefined,
    metadata: parsed<StoredDocument["metadata"]>(row.metadata, () => `the metadata of document ${row.doc_id}`),
    content: join(passages, row.tail),
    indexedAt: row.indexed_at,
    passages: passages.map((passage) => toPassage(passage, row.line))
  } satisfies StoredDocument
})

interface SummaryRow {
  readonly doc_id: DocumentId
  readonly source: string | null
  readonly origin: string | null
  readonly title: string | null
  readonly passages: number
}

const toSummary = (row: SummaryRow): DocumentSummary => ({
  docId: row.doc_id,
  source: row.source ?? undefined,
  origin: row.origin ?? undefined,
  title: row.title ?? undefined,
  passages: row.passages
})

/** Up to this many matches of a filter are sorted directly. */
const fewMatch = 1000

const order = "d.name, d.doc_id"

/** A page of documents by source, else doc_id. */
export const page = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  options: { readonly limit: number; readonly after?: DocumentId | undefined; readonly filter?: Filter | undefined }
) {
  const filter = options.filter ?? {}
  const where = documentsWhere(collection, filter, yield* globbed(sql, collection, filter))
  const [last] =
    options.after === undefined
      ? []
      : yield* sql.unsafe<{ readonly name: string }>(
          "SELECT name FROM documents WHERE collection_id = ? AND doc_id = ?",
          [collection, options.after]
        )
  if (options.after !== undefined && last === undefined) return []
  // As values, both are found in the index; a row from a subquery would only bound the first.
  const after = last === undefined ? [] : [last.name, options.after!]
  const filtered = options.filter !== undefined && !isEmptyFilter(options.filter)
  const [matching] = filtered
    ? yield* sql.unsafe<{ readonly count: number }>(
        `SELECT count(*) AS count FROM (SELECT 1 FROM documents AS d WHERE ${where.sql} LIMIT ${fewMatch})`,
        where.params
      )
    : []
  // A few matches are found by the filter and then sorted; with many, walking all documents in order soon fills the
  // page.
  const sorted = matching !== undefined && matching.count < fewMatch ? "+d.name, d.doc_id" : order
  const rows = yield* sql.unsafe<SummaryRow & { readonly indexed_at: number; readonly characters: number }>(
    `SELECT d.doc_id, d.source, d.origin, d.title, d.passages, d.indexed_at,
            coalesce((SELECT p."end" FROM passages AS p WHERE p.document_id = d.id ORDER BY p.ordinal DESC LIMIT 1), 0) AS characters
     FROM documents AS d WHERE ${where.sql}${after.length === 0 ? "" : ` AND (${sorted}) > (?, ?)`} ORDER BY ${sorted} LIMIT ?`,
    [...where.params, ...after, options.limit]
  )
  return rows.map((row): ListedDocument => ({
    ...toSummary(row),
    characters: row.characters,
    indexedAt: row.indexed_at
  }))
})

/** The documents of one file, by row id. */
export const ofFile = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  path: string,
  { after, limit }: { readonly limit: number; readonly after?: DocumentId | undefined }
) {
  const rows = yield* sql.unsafe<SummaryRow>(
    `SELECT doc_id, source, origin, title, passages FROM documents
     WHERE collection_id = ? AND origin = ?
       AND id > coalesce((SELECT id FROM documents WHERE collection_id = ? AND doc_id = ?), 0)
     ORDER BY id LIMIT ?`,
    [collection, path, collection, after ?? "", limit]
  )
  return rows.map(toSummary)
})

/** Documents read to find those that are not being deleted. */
const looked = 10_000

/** The documents of all collections that were added last, since ids rise. */
export const recent = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, limit: number) {
  // The latest may belong to a collection that is being deleted; then more are read.
  const [swept] = yield* sql.unsafe(`${leaving} LIMIT 1`)
  const rows = yield* sql.unsafe<SummaryRow & { readonly collection: CollectionName }>(
    `SELECT c.name AS collection, d.doc_id, d.source, d.origin, d.title, d.passages
     FROM (SELECT * FROM documents ORDER BY id DESC LIMIT ?) AS d CROSS JOIN collections AS c ON c.id = d.collection_id AND c.${isPresent}
     ORDER BY d.id DESC LIMIT ?`,
    [swept === undefined ? limit : Math.max(limit, looked), limit]
  )
  return rows.map((row): RecentDocument => ({ collection: row.collection, ...toSummary(row) }))
})

/**
 * The passage of the collection at each place, or the last one before a gap. Ids rise in the order of storing, and so
 * do places.
 */
export const sample = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  places: ReadonlyArray<number>
) {
  const end = (direction: "ASC" | "DESC") =>
    sql.unsafe<{ readonly first: number; readonly last: number }>(
      `SELECT first_passage AS first, first_passage + passages - 1 AS last FROM documents
       WHERE collection_id = ? AND first_passage > 0 ORDER BY first_passage ${direction} LIMIT 1`,
      [collection]
    )
  const first = (yield* end("ASC"))[0]?.first
  const last = (yield* end("DESC"))[0]?.last
  if (first === undefined || last === undefined) return []
  const ids = places.map((place) => Math.round(first + place * (last - first)))
  const rows = yield* sql.unsafe<Pick<SummaryRow, "doc_id" | "source" | "title"> & { readonly text: string }>(
    `SELECT d.doc_id, d.source, d.title, p.text FROM (
       SELECT (SELECT min(t.value, e.first_passage + e.passages - 1)
               FROM documents AS e INDEXED BY documents_passages
               WHERE e.collection_id = ? AND e.first_passage <= t.value ORDER BY e.first_passage DESC LIMIT 1) AS id,
              min(t.key) AS place
       FROM json_each(?) AS t GROUP BY 1
     ) AS s CROSS JOIN passages AS p ON p.id = s.id JOIN documents AS d ON d.id = p.document_id ORDER BY s.place`,
    [collection, JSON.stringify(ids)]
  )
  return rows.map((row): SampledPassage => ({
    docId: row.doc_id,
    source: row.source ?? undefined,
    title: row.title ?? undefined,
    text: row.text
  }))
})
