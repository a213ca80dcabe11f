import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const tables = [
  `CREATE TABLE collections (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    backend TEXT NOT NULL,
    model TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    query_prefix TEXT NOT NULL,
    passage_prefix TEXT NOT NULL,
    documents INTEGER NOT NULL DEFAULT 0,
    passages INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
  ) STRICT`,
  // A document's content is its passages' leads and texts in order, and the tail: nothing is stored twice except
  // overlaps.
  `CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    doc_id TEXT NOT NULL,
    source TEXT,
    title TEXT,
    metadata TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    origin TEXT,
    line INTEGER,
    tail TEXT NOT NULL,
    passages INTEGER NOT NULL,
    seen_by INTEGER,
    indexed_at INTEGER NOT NULL
  ) STRICT`,
  `CREATE UNIQUE INDEX documents_doc_id ON documents (collection_id, doc_id)`,
  `CREATE UNIQUE INDEX documents_source ON documents (collection_id, source) WHERE source IS NOT NULL`,
  `CREATE INDEX documents_origin ON documents (collection_id, origin) WHERE origin IS NOT NULL`,
  `CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    lead TEXT NOT NULL,
    text TEXT NOT NULL,
    heading TEXT NOT NULL,
    start INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL
  ) STRICT`,
  `CREATE UNIQUE INDEX passages_document ON passages (document_id, ordinal)`,
  // Metadata split up for filters: one row per scalar, and per element of a list; kind is s(tring), n(umber) or
  // b(oolean).
  `CREATE TABLE metadata_values (
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    value ANY NOT NULL,
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    PRIMARY KEY (key, kind, value, document_id)
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX metadata_values_document ON metadata_values (document_id)`,
  // A collection that is changing to another embedder; its passages up to and including the named one have new vectors.
  `CREATE TABLE reindexes (
    collection_id INTEGER PRIMARY KEY REFERENCES collections (id) ON DELETE CASCADE,
    backend TEXT NOT NULL,
    model TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    query_prefix TEXT NOT NULL,
    passage_prefix TEXT NOT NULL,
    through INTEGER NOT NULL DEFAULT 0
  ) STRICT`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(tables, (table) => sql.unsafe(table), { discard: true })
)
