import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  // What a server said the model's weights were; NULL where it said nothing, or before anybody asked.
  `ALTER TABLE collections ADD COLUMN digest TEXT`,
  `ALTER TABLE reindexes ADD COLUMN digest TEXT`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)
