import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  // A checksum of a document's texts, titles, metadata and spans; older documents have none.
  `ALTER TABLE documents ADD COLUMN crc INTEGER`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)
