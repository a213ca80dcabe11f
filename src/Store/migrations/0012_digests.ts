import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  // The model's weights as a server reported them; NULL if it reported none, or was not asked yet.
  `ALTER TABLE collections ADD COLUMN digest TEXT`,
  `ALTER TABLE reindexes ADD COLUMN digest TEXT`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)
