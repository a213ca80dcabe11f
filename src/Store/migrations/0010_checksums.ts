import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  // Of a document's texts, titles, metadata and spans; what was stored before has none.
  `ALTER TABLE documents ADD COLUMN crc INTEGER`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)
