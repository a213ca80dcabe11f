import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { crcOf } from "../crc.ts"
import { State } from "../../postings/SegmentStore.ts"
import { rising } from "../../model/Damaged.ts"
import { nextTurnOrEnd } from "../../runtime/EventLoop.ts"
import { type CheckedRow, passageCrc } from "../sqlite/documentCrc.ts"
import { metadataRows } from "../sqlite/filter.ts"
import { insertRows } from "../sqlite/rows.ts"
import { leaving } from "../sqlite/sweep.ts"
import { lastRun, unlisted, wrongFiles, wrongRoots } from "./bookkeeping.ts"
import { counted } from "./structure.ts"

/** Deletes rows whose owner is gone, child before parent; never a document. */
const orphans = [
  "DELETE FROM metadata_values WHERE document_id NOT IN (SELECT id FROM documents)",
  "DELETE FROM passages WHERE document_id NOT IN (SELECT id FROM documents)",
  // The graph then reads their passages again.
  "DELETE FROM graph_passages WHERE passage_id NOT IN (SELECT id FROM passages)",
  "DELETE FROM graph_mentions WHERE passage_id NOT IN (SELECT id FROM passages)",
  "DELETE FROM code_sets WHERE collection_id NOT IN (SELECT id FROM collections)",
  "DELETE FROM code_epochs WHERE set_id NOT IN (SELECT id FROM code_sets)",
  "DELETE FROM code_blocks WHERE set_id NOT IN (SELECT id FROM code_sets)",
  "DELETE FROM reindexes WHERE collection_id NOT IN (SELECT id FROM collections)",
  "DELETE FROM rebuilds WHERE collection_id NOT IN (SELECT id FROM collections)",
  // Interrupted merges start again.
  `UPDATE keyword_segments SET state = ${State.garbage}
   WHERE state = ${State.building} OR collection_id NOT IN (SELECT id FROM collections)`
]

/** Sets the next number of each table above all that are taken. */
const sequences = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  for (const [table, id] of Object.entries(counted)) {
    const [row] = yield* sql.unsafe<{ readonly most: number | null; readonly seq: number | null }>(
      `SELECT (SELECT max(${id}) FROM ${table}) AS most, (SELECT max(seq) FROM sqlite_sequence WHERE name = ?) AS seq`,
      [table]
    )
    if ((row?.most ?? 0) <= (row?.seq ?? 0)) continue
    yield* sql.unsafe("DELETE FROM sqlite_sequence WHERE name = ?", [table])
    yield* sql.unsafe("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [table, row!.most])
  }
})

interface Misplaced {
  readonly id: number
  readonly collection_id: number
}

/**
 * Gives new numbers at the end to documents whose passages no longer have consecutive numbers; their vectors move with
 * them.
 */
const places = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  yield* sql.unsafe(
    `UPDATE documents SET passages = 0, first_passage = NULL
     WHERE id NOT IN (SELECT document_id FROM passages) AND collection_id NOT IN (${leaving}) AND (passages <> 0 OR first_passage IS NOT NULL)`
  )
  const found = yield* sql.unsafe<Misplaced>(
    `SELECT d.id, d.collection_id FROM documents AS d JOIN (
       SELECT document_id, count(*) AS count, min(id) AS first, max(id) AS last, min(ordinal) AS least, max(ordinal) AS most
       FROM passages NOT INDEXED GROUP BY document_id
     ) AS p ON p.document_id = d.id
     WHERE d.collection_id NOT IN (${leaving}) AND (
        p.count <> d.passages OR p.first IS NOT d.first_passage OR p.last - p.first + 1 <> p.count
        OR p.least <> 0 OR p.most + 1 <> p.count)`
  )
  for (const { collection_id: collection, id } of found) {
    const passages = yield* sql.unsafe<CheckedRow>("SELECT * FROM passages WHERE document_id = ? ORDER BY start, id", [
      id
    ])
    const [next] = yield* sql.unsafe<{ readonly first: number }>(
      "SELECT max((SELECT max(id) FROM passages), (SELECT seq FROM sqlite_sequence WHERE name = 'passages')) + 1 AS first"
    )
    const { first } = next!
    for (const table of ["graph_passages", "graph_mentions"]) {
      yield* sql.unsafe(`DELETE FROM ${table} WHERE passage_id IN (SELECT id FROM passages WHERE document_id = ?)`, [
        id
      ])
    }
    // Negative first, to avoid collisions: a document has each ordinal only once.
    yield* sql.unsafe("UPDATE passages SET ordinal = -1 - ordinal - id WHERE document_id = ?", [id])
    for (const [ordinal, passage] of passages.entries()) {
      const moved = first + ordinal
      // A changed text stays marked as changed.
      const isSame = passage.crc !== null && passageCrc(passage) === passage.crc
      const crc = isSame ? passageCrc({ ...passage, id: moved, ordinal }) : passage.crc
      yield* sql.unsafe("UPDATE passages SET id = ?, ordinal = ?, crc = ? WHERE id = ?", [
        moved,
        ordinal,
        crc,
        passage.id
      ])
      const [row] = yield* sql.unsafe<{ readonly vector: Uint8Array; readonly crc: number | null }>(
        `SELECT vector, crc FROM vectors_${collection} WHERE passage_id = ?`,
        [passage.id]
      )
      if (row === undefined) continue
      // A changed vector stays marked as changed.
      const isWhole = row.crc !== null && crcOf(row.vector, passage.id) === row.crc
      yield* sql.unsafe(`UPDATE vectors_${collection} SET passage_id = ?, crc = ? WHERE passage_id = ?`, [
        moved,
        isWhole ? crcOf(row.vector, moved) : row.crc,
        passage.id
      ])
    }
    yield* sql.unsafe("UPDATE sqlite_sequence SET seq = ? WHERE name = 'passages'", [first + passages.length - 1])
    yield* sql.unsafe("UPDATE documents SET passages = ?, first_passage = ? WHERE id = ?", [passages.length, first, id])
  }
  return new Set(found.map((row) => row.collection_id))
})

const page = 500

/** Rewrites the metadata that filters use from the documents' metadata. */
const metadata = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  yield* sql.unsafe("DELETE FROM metadata_values")
  for (let after = 0; ;) {
    const rows = yield* sql.unsafe<{ readonly id: number; readonly metadata: string }>(
      "SELECT id, metadata FROM documents WHERE id > ? ORDER BY id LIMIT ?",
      [after, page]
    )
    if (rows.length === 0) return
    after = rising(rows, after, "documents").at(-1)!.id
    yield* nextTurnOrEnd
    yield* insertRows(
      sql,
      "metadata_values",
      ["key", "kind", "value", "document_id"],
      rows.flatMap((row) =>
        metadataRows(JSON.parse(row.metadata) as Readonly<Record<string, unknown>>).map((value) => [...value, row.id])
      )
    )
  }
})

/** Corrects an index's own records; a file whose record is in doubt is read again. */
const records = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  yield* sql.unsafe(
    "DELETE FROM file_mark WHERE length(before) <> 16 OR length(now) <> 16 OR (SELECT count(*) FROM file_mark) > 1"
  )
  yield* sql.unsafe("INSERT OR IGNORE INTO file_mark (id, before, now) VALUES (1, randomblob(16), randomblob(16))")
  yield* sql.unsafe("INSERT OR IGNORE INTO run_numbers (id, last) VALUES (1, 0)")
  yield* sql.unsafe(`UPDATE run_numbers SET last = max(last, (${lastRun}))`)
  yield* sql.unsafe(
    `UPDATE files SET modified_ns = NULL, outcome = 'unfinished', many = many <> 0, run = 0 WHERE ${wrongFiles}`
  )
  yield* sql.unsafe(
    `INSERT INTO files (collection_id, path, settings, outcome, documents, many, run, indexed_at)
     SELECT collection_id, origin, '', 'unfinished', 1, 0, 0, 0 FROM (${unlisted})`
  )
  yield* sql.unsafe(`DELETE FROM roots WHERE ${wrongRoots}`)
})

/** Repairs references between rows, and returns the collections whose derived data no longer match their passages. */
export const mendRows = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  yield* sql.unsafe("REINDEX")
  for (const statement of orphans) yield* sql.unsafe(statement)
  yield* sequences(sql)
  yield* records(sql)
  // Invalid JSON. The documents stay among those that must be indexed again.
  yield* sql.unsafe(
    "UPDATE documents SET metadata = '{}' WHERE NOT json_valid(metadata) OR json_type(metadata) IS NOT 'object'"
  )
  yield* sql.unsafe(
    "UPDATE passages SET heading = '[]' WHERE NOT json_valid(heading) OR json_type(heading) IS NOT 'array'"
  )
  const moved = yield* places(sql)
  yield* metadata(sql)
  yield* sql.unsafe(
    `UPDATE collections SET
       documents = (SELECT count(*) FROM documents WHERE collection_id = collections.id),
       passages = (SELECT coalesce(sum(passages), 0) FROM documents WHERE collection_id = collections.id),
       changes = changes + 1`
  )
  return moved
})
