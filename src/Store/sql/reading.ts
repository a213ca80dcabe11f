import * as Effect from "effect/Effect"
import { DocumentNotFound } from "../../Store.ts"
import * as collections from "./collections.ts"
import { type SummaryRow, toSampled, toSome, toStored, toSummary } from "../core/document.ts"
import { type CheckedRow, type DocumentRow, checkDocument, checkHead, checkPassage } from "../core/passage.ts"
import { type FileColumns, fileColumns, fileJoin, fileOf } from "./readFile.ts"
import { type Sql, list, column } from "./rows.ts"
import { isPresent, hiddenCollections } from "./tables.ts"
import type { CollectionName } from "../../model/Collection.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { Figure, RecentDocument, StoreStats } from "../../model/Stored.ts"
import type { Database } from "./Database.ts"
import { dialectOf, same } from "./dialect.ts"

/** A complete document, with its content put together. */
export const get = Effect.fnUntraced(function* (sql: Sql, collection: number, docId: DocumentId) {
  const [row] = yield* sql.unsafe<DocumentRow & FileColumns>(
    `SELECT d.*, ${fileColumns(sql)} FROM documents AS d ${fileJoin(sql)} WHERE d.collection_id = ? AND d.doc_id = ?`,
    [collection, docId]
  )
  if (row === undefined) return yield* new DocumentNotFound({ docId })
  const passages = yield* sql.unsafe<CheckedRow>("SELECT * FROM passages WHERE document_id = ? ORDER BY ordinal", [
    row.id
  ])
  checkDocument(row, passages)
  return toStored(row, passages, fileOf(row))
})

/** Some of a document's passages. */
export const passagesOf = Effect.fnUntraced(function* (
  sql: Sql,
  collection: number,
  docId: DocumentId,
  { limit, offset }: { readonly offset: number; readonly limit: number }
) {
  const [row] = yield* sql.unsafe<DocumentRow>("SELECT * FROM documents WHERE collection_id = ? AND doc_id = ?", [
    collection,
    docId
  ])
  if (row === undefined) return yield* new DocumentNotFound({ docId })
  checkHead(row, row.head_crc)
  const passages = yield* sql.unsafe<CheckedRow>(
    "SELECT * FROM passages WHERE document_id = ? AND ordinal >= ? ORDER BY ordinal LIMIT ?",
    [row.id, offset, limit]
  )
  passages.forEach(checkPassage)
  return toSome(row, passages)
})

/** The documents of one file, by row id. */
export const ofFile = Effect.fnUntraced(function* (
  sql: Sql,
  collection: number,
  path: string,
  { after, limit }: { readonly limit: number; readonly after?: DocumentId | undefined }
) {
  const dialect = dialectOf(sql)
  const rows = yield* sql.unsafe<SummaryRow>(
    `SELECT doc_id, source, origin, title, passages FROM documents
     WHERE collection_id = ? AND ${same(dialect, "origin", "?")}
       AND id > coalesce((SELECT id FROM documents WHERE collection_id = ? AND doc_id = ?), 0)
     ORDER BY id LIMIT ?`,
    [collection, ...dialect.indexed("?").map(() => path), collection, after ?? "", limit]
  )
  return rows.map(toSummary)
})

/** Documents read to find those that are not being deleted. */
const looked = 10_000

/** The documents of all collections that were added last, since ids rise. */
export const recent = Effect.fnUntraced(function* (sql: Sql, limit: number) {
  // The latest may belong to a collection that is being deleted; then more are read.
  const [swept] = yield* sql.unsafe(`${hiddenCollections} LIMIT 1`)
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
export const sample = Effect.fnUntraced(function* (sql: Sql, collection: number, places: ReadonlyArray<number>) {
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
       SELECT (SELECT CASE WHEN t.value < e.first_passage + e.passages THEN t.value ELSE e.first_passage + e.passages - 1 END
               FROM documents AS e INDEXED BY documents_passages
               WHERE e.collection_id = ? AND e.first_passage <= t.value ORDER BY e.first_passage DESC LIMIT 1) AS id,
              min(t.key) AS place
       FROM json_each(?) AS t GROUP BY 1
     ) AS s CROSS JOIN passages AS p ON p.id = s.id JOIN documents AS d ON d.id = p.document_id ORDER BY s.place`,
    [collection, JSON.stringify(ids)]
  )
  return rows.map(toSampled)
})

const mostKnown = 100

/** Most rows of a key that are read to find one of a document that stays; a key with more counts as known. */
const mostRowsOfKey = 1000

/** Whether documents that are not being deleted have the key `key`. */
const isHeld = (key: string) => `EXISTS (
  SELECT 1 FROM (SELECT document_id FROM metadata_values WHERE key = ${key} LIMIT ${mostRowsOfKey}) AS v
  CROSS JOIN documents AS d ON d.id = v.document_id AND d.collection_id NOT IN (${hiddenCollections})
) OR EXISTS (SELECT 1 FROM metadata_values WHERE key = ${key} LIMIT 1 OFFSET ${mostRowsOfKey})`

/**
 * Which of the keys no document has, and if there are any, the first keys that documents do have; read from an index
 * only.
 */
export const metadataKeys = Effect.fnUntraced(function* (sql: Sql, keys: ReadonlyArray<string>) {
  const [swept] = yield* sql.unsafe(`${hiddenCollections} LIMIT 1`)
  const held = (key: string) =>
    swept === undefined ? `EXISTS (SELECT 1 FROM metadata_values WHERE key = ${key})` : isHeld(key)
  const unknown = yield* column<string>(
    sql,
    `SELECT value AS key FROM ${dialectOf(sql).texts("t")}
     WHERE NOT (${held("t.value")})`,
    [list(keys)]
  )
  if (unknown.length === 0) return { unknown: [], known: [] }
  // Each lookup jumps from one key to the next in the index, past all rows of the key itself.
  const known = yield* column<string>(
    sql,
    `WITH RECURSIVE k (key) AS (
       SELECT min(key) FROM metadata_values
       UNION ALL
       SELECT (SELECT min(key) FROM metadata_values WHERE key > k.key) FROM k WHERE k.key IS NOT NULL
     ) SELECT key FROM k WHERE key IS NOT NULL AND (${held("k.key")}) LIMIT ?`,
    [mostKnown]
  )
  return { unknown, known: known.toSorted() }
})

/** Counts of an index, or of one of its collections. */
export const stats = Effect.fnUntraced(function* (
  sql: Sql,
  { bytes: size, codes }: Pick<Database, "bytes"> & Pick<Database["searching"], "codes">,
  name: CollectionName | undefined
) {
  const all = yield* collections.all(sql)
  const counted = name === undefined ? all : [yield* collections.find(sql, name)]
  const { bytes, loadedMs } = codes.figures
  return {
    documents: counted.reduce((sum, { documents }) => sum + documents, 0),
    passages: counted.reduce((sum, { passages }) => sum + passages, 0),
    collections: all.length,
    databaseBytes: yield* size,
    engines: [
      { name: "code_bytes", what: "Vectors' codes in memory", value: bytes },
      {
        name: "codes_loaded_seconds",
        what: "Time spent loading the vectors' codes",
        value: loadedMs / 1000
      }
    ]
  } satisfies StoreStats
})

/** Bytes that searching reads. */
export const sizes = (sql: Sql) =>
  Effect.map(
    sql.unsafe<{ readonly postings: number; readonly codes: number }>(
      `SELECT (SELECT coalesce(sum(length(data)), 0) FROM keyword_postings) AS postings,
              (SELECT coalesce(sum(length(body)), 0) FROM code_blocks) AS codes`
    ),
    ([found]): ReadonlyArray<Figure> => [
      { name: "posting_bytes", what: "keyword index", value: found!.postings },
      { name: "code_bytes", what: "vector codes", value: found!.codes }
    ]
  )
