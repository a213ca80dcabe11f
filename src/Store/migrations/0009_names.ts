import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  // The name by which documents are listed, so that an index returns a page of them in order.
  `ALTER TABLE documents ADD COLUMN name TEXT GENERATED ALWAYS AS (coalesce(source, doc_id)) VIRTUAL`,
  `CREATE INDEX documents_name ON documents (collection_id, name, doc_id)`,
  `CREATE INDEX documents_title ON documents (collection_id, title) WHERE title IS NOT NULL`,
  // How many passages have their new vectors, so that they need not be counted.
  `ALTER TABLE reindexes ADD COLUMN done INTEGER NOT NULL DEFAULT 0`,
  `UPDATE reindexes SET done = (
    SELECT count(*) FROM documents AS d JOIN passages AS p ON p.document_id = d.id
    WHERE d.collection_id = reindexes.collection_id AND p.id <= reindexes.through)`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)
