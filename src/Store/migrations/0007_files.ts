import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  // Records of files, so that an unchanged file need not be read. AUTOINCREMENT: a run holds ids.
  `CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    size INTEGER,
    modified_ns INTEGER,
    changed_ns INTEGER,
    inode INTEGER,
    reader TEXT,
    settings TEXT NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT,
    documents INTEGER NOT NULL,
    many INTEGER NOT NULL,
    run INTEGER NOT NULL,
    indexed_at INTEGER NOT NULL
  ) STRICT`,
  `CREATE UNIQUE INDEX files_path ON files (collection_id, path)`,
  `INSERT INTO files (collection_id, path, settings, outcome, documents, many, run, indexed_at)
   SELECT collection_id, origin, '', 'unfinished', count(*), count(*) > 1 OR max(line) IS NOT NULL, 0, max(indexed_at)
   FROM documents WHERE origin IS NOT NULL GROUP BY collection_id, origin`,
  // The paths given to runs, so that a collection can be indexed again by its name alone.
  `CREATE TABLE roots (
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    include TEXT NOT NULL,
    exclude TEXT NOT NULL,
    run INTEGER NOT NULL,
    PRIMARY KEY (collection_id, path)
  ) STRICT, WITHOUT ROWID`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)
