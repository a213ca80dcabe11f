import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  // By content, so that a moved document keeps its vectors; part of the hash is small and distinguishes them.
  `CREATE INDEX documents_content ON documents (collection_id, substr(fingerprint, 1, 12))`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)
