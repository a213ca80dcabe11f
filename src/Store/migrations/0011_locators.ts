import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  // Page, slide, cell or time of a passage whose file is not text, as JSON.
  `ALTER TABLE passages ADD COLUMN locator TEXT`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)
