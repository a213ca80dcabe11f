import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  "ALTER TABLE documents ADD COLUMN language TEXT",
  "ALTER TABLE keyword_segments ADD COLUMN languages TEXT NOT NULL DEFAULT 'en'"
]

/**
 * The language by which a document's words are stemmed, NULL until it is detected, and the languages of a segment's
 * passages.
 */
export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)
