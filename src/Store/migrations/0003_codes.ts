import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  // A document's passages have consecutive ids, so a filter need not read passages.
  `ALTER TABLE documents ADD COLUMN first_passage INTEGER`,
  `UPDATE documents SET first_passage = (SELECT min(id) FROM passages WHERE document_id = documents.id)`,
  `CREATE INDEX documents_passages ON documents (collection_id, first_passage, passages)`,
  `CREATE INDEX documents_unnamed ON documents (collection_id, doc_id) WHERE source IS NULL`,
  // Increases whenever documents are added or deleted.
  `ALTER TABLE collections ADD COLUMN changes INTEGER NOT NULL DEFAULT 0`,
  `CREATE TABLE code_sets (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    generation TEXT NOT NULL,
    width INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    rows INTEGER NOT NULL DEFAULT 0,
    sequence INTEGER NOT NULL DEFAULT 0,
    UNIQUE (collection_id, generation)
  ) STRICT`,
  `CREATE TABLE code_epochs (
    set_id INTEGER NOT NULL REFERENCES code_sets (id) ON DELETE CASCADE,
    epoch INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    centroid BLOB NOT NULL,
    PRIMARY KEY (set_id, epoch)
  ) STRICT, WITHOUT ROWID`,
  // A block never changes: a changed one is stored as another, and versions are never reused. So a version identifies a
  // block's bytes for good, also for readers of an older state.
  `CREATE TABLE code_blocks (
    version INTEGER PRIMARY KEY AUTOINCREMENT,
    set_id INTEGER NOT NULL REFERENCES code_sets (id) ON DELETE CASCADE,
    epoch INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    body BLOB NOT NULL
  ) STRICT`,
  `CREATE INDEX code_blocks_set ON code_blocks (set_id, epoch, rows, version, first, last)`
]

/** Tables for codes. They are made later: a large collection without any is rebuilt. */
export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)
