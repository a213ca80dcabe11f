import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  // How Clew made the vectors: 2 from schema 13 on, before that 1.
  "ALTER TABLE collections ADD COLUMN making INTEGER NOT NULL DEFAULT 1",
  "ALTER TABLE reindexes ADD COLUMN making INTEGER NOT NULL DEFAULT 1",
  `UPDATE collections SET making = 2 WHERE created_at >= 1000 *
     (SELECT CAST(strftime('%s', created_at) AS INTEGER) FROM clew_migrations WHERE migration_id = 13)`,
  // Checksums of what a search shows of a passage and of its document; older rows have none.
  "ALTER TABLE passages ADD COLUMN crc INTEGER",
  "ALTER TABLE documents ADD COLUMN head_crc INTEGER",
  `CREATE TABLE vectorless (
    passage_id INTEGER NOT NULL REFERENCES passages (id) ON DELETE CASCADE ON UPDATE CASCADE,
    generation TEXT NOT NULL,
    PRIMARY KEY (passage_id, generation)
  ) STRICT, WITHOUT ROWID`,
  // Space that deleting needs on a full disk.
  "CREATE TABLE reserve (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT",
  // Keys whose value is null, an object, or a list without scalars: so far filters took them for absent.
  `INSERT OR IGNORE INTO metadata_values (key, kind, value, document_id)
   SELECT m.key, 'o', '', d.id
   FROM documents AS d JOIN json_each(CASE WHEN json_valid(d.metadata) THEN d.metadata ELSE '{}' END) AS m
   WHERE m.type IN ('null', 'object') OR (m.type = 'array' AND NOT EXISTS (
     SELECT 1 FROM json_each(m.value) AS e WHERE e.type NOT IN ('null', 'object', 'array')))`
]

/** Passages without a vector as they are now: of a text that no word gives a direction, or lost before. */
const fill = (collection: number) =>
  `INSERT INTO vectorless (passage_id, generation)
   SELECT p.id, 'current' FROM documents AS d CROSS JOIN passages AS p ON p.document_id = d.id
   WHERE d.collection_id = ${collection} AND NOT EXISTS (SELECT 1 FROM vectors_${collection} WHERE passage_id = p.id)`

/**
 * How a collection's vectors were made, checksums of what is shown, which passages have no vector, a reserve of space,
 * and keys of metadata whose values are no scalars.
 */
export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.gen(function* () {
    for (const statement of statements) yield* sql.unsafe(statement)
    const collections = yield* sql.unsafe<{ readonly id: number }>(
      `SELECT id FROM collections AS c
       WHERE name < '~' AND EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'vectors_' || c.id)`
    )
    for (const { id } of collections) yield* sql.unsafe(fill(id))
  })
)
