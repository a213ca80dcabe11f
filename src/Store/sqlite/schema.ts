import * as Effect from "effect/Effect"
import { keepLinkage } from "../sql/graph/linkage.ts"
import { indexes, rebuildGraphs, tables } from "../sql/tables.ts"
import { type Sql, column } from "../sql/rows.ts"

/** The schema this program writes, kept in the database's `user_version`. */
export const schemaVersion = 22

/** Indexes, and the first rows of tables that have exactly one. */
const statements = [
  "CREATE UNIQUE INDEX IF NOT EXISTS documents_doc_id ON documents (collection_id, doc_id)",
  "CREATE UNIQUE INDEX IF NOT EXISTS documents_source ON documents (collection_id, source) WHERE source IS NOT NULL",
  "CREATE INDEX IF NOT EXISTS documents_origin ON documents (collection_id, origin) WHERE origin IS NOT NULL",
  "CREATE INDEX IF NOT EXISTS documents_unnamed ON documents (collection_id, doc_id) WHERE source IS NULL",
  "CREATE INDEX IF NOT EXISTS documents_name ON documents (collection_id, name, doc_id)",
  // One for filters and for what is typed, since each document changes a page of its own in each such index.
  "CREATE INDEX IF NOT EXISTS documents_titles ON documents (collection_id, title COLLATE NOCASE) WHERE title IS NOT NULL",
  "CREATE INDEX IF NOT EXISTS documents_indexed ON documents (collection_id, indexed_at)",
  "CREATE INDEX IF NOT EXISTS documents_size ON documents (collection_id, passages)",
  // By content, so that a moved document keeps its vectors; part of the hash is small and distinguishes them.
  "CREATE INDEX IF NOT EXISTS documents_content ON documents (collection_id, substr(fingerprint, 1, 12))",
  ...indexes,
  "CREATE UNIQUE INDEX IF NOT EXISTS files_path ON files (collection_id, path)",
  "INSERT OR IGNORE INTO run_numbers (id, last) VALUES (1, 0)",
  "INSERT OR IGNORE INTO file_mark (id, before, now) VALUES (1, randomblob(16), randomblob(16))"
]

/** What tables and columns of today hold for the documents of an index made before the schema that brought them. */
const fills: ReadonlyArray<readonly [before: number, statement: string]> = [
  [3, "UPDATE documents SET first_passage = (SELECT min(id) FROM passages WHERE document_id = documents.id)"],
  [
    7,
    `INSERT INTO files (collection_id, path, settings, outcome, documents, many, run, indexed_at)
     SELECT collection_id, origin, '', 'unfinished', count(*), count(*) > 1 OR max(line) IS NOT NULL, 0, max(indexed_at)
     FROM documents WHERE origin IS NOT NULL GROUP BY collection_id, origin`
  ],
  [
    9,
    `UPDATE reindexes SET done = (
       SELECT count(*) FROM documents AS d JOIN passages AS p ON p.document_id = d.id
       WHERE d.collection_id = reindexes.collection_id AND p.id <= reindexes.through)`
  ],
  // From schema 13 on, vectors were made as they are in schema 18.
  [
    18,
    `UPDATE collections SET making = 2 WHERE created_at >= 1000 *
       (SELECT CAST(strftime('%s', created_at) AS INTEGER) FROM clew_migrations WHERE migration_id = 13)`
  ],
  // Keys whose value is null, an object, or a list without scalars: before, filters took them for absent.
  [
    18,
    `INSERT OR IGNORE INTO metadata_values (key, kind, value, document_id)
     SELECT m.key, 'o', '', d.id
     FROM documents AS d JOIN json_each(CASE WHEN json_valid(d.metadata) THEN d.metadata ELSE '{}' END) AS m
     WHERE m.type IN ('null', 'object') OR (m.type = 'array' AND NOT EXISTS (
       SELECT 1 FROM json_each(m.value) AS e WHERE e.type NOT IN ('null', 'object', 'array')))`
  ],
  [20, rebuildGraphs],
  [22, "DROP INDEX IF EXISTS documents_title"],
  [22, "DROP INDEX IF EXISTS documents_titled"],
  // Before, `user_version` was kept twice.
  [18, "DROP TABLE IF EXISTS clew_migrations"]
]

/** Passages without a vector as they are now: of a text that no word gives a direction, or lost before. */
const fillVectorless = (collection: number) =>
  `INSERT INTO vectorless (passage_id, generation)
   SELECT p.id, 'current' FROM documents AS d CROSS JOIN passages AS p ON p.document_id = d.id
   WHERE d.collection_id = ${collection} AND NOT EXISTS (SELECT 1 FROM vectors_${collection} WHERE passage_id = p.id)`

const addColumns = Effect.fnUntraced(function* (sql: Sql, table: string, columns: ReadonlyArray<string>) {
  const known = yield* column<string>(sql, "SELECT name FROM pragma_table_xinfo(?)", [table])
  for (const column of columns) {
    const [name] = column.replaceAll('"', "").split(" ", 1)
    if (!known.includes(name!)) yield* sql.unsafe(`ALTER TABLE ${table} ADD COLUMN ${column}`)
  }
})

/**
 * Brings a database from any older schema, 0 for an empty one, to `schemaVersion`, in the caller's transaction. Derived
 * data that another version made stay in use until they are rebuilt; FTS5's are dropped.
 */
export const migrate = Effect.fnUntraced(function* (sql: Sql, from: number) {
  for (const [name, { columns, constraint, options = "STRICT" }] of Object.entries(tables)) {
    const parts = constraint === undefined ? columns : [...columns, constraint]
    yield* sql.unsafe(`CREATE TABLE IF NOT EXISTS ${name} (${parts.join(", ")}) ${options}`)
    if (from > 0) yield* addColumns(sql, name, columns)
  }
  for (const statement of statements) yield* sql.unsafe(statement)
  if (from > 0) {
    const tablesThat = (are: string) =>
      column<string>(sql, `SELECT name FROM sqlite_schema WHERE type = 'table' AND ${are}`)
    const fts5 = yield* tablesThat("sql LIKE 'CREATE VIRTUAL TABLE%USING fts5%'")
    for (const name of fts5) yield* sql.unsafe(`DROP TABLE ${name}`)
    const vectors = yield* tablesThat("name GLOB 'vectors_[0-9]*'")
    for (const name of vectors) yield* addColumns(sql, name, ["crc INTEGER"])
    for (const [before, statement] of fills) if (from < before) yield* sql.unsafe(statement)
    // From then on a passage without a vector is recorded, and one that is not has lost it.
    const filled =
      from >= 18
        ? []
        : yield* column<number>(
            sql,
            `SELECT id FROM collections AS c
       WHERE name < '~' AND EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'vectors_' || c.id)`
          )
    for (const id of filled) {
      yield* sql.unsafe(fillVectorless(id))
      yield* keepLinkage(sql, id)
    }
  }
  yield* sql.unsafe(`PRAGMA user_version = ${schemaVersion}`)
})
