import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  "ALTER TABLE documents ADD COLUMN language TEXT",
  "ALTER TABLE keyword_segments ADD COLUMN languages TEXT NOT NULL DEFAULT 'en'"
]

/** The language that a document's words are stemmed by, NULL until that is told, and those of a segment's passages. */
export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)
