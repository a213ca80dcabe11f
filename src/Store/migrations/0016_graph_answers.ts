import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  `CREATE TABLE graph_answers (
    passage_id INTEGER PRIMARY KEY REFERENCES passages (id) ON DELETE CASCADE,
    asked TEXT NOT NULL,
    model TEXT NOT NULL,
    answer TEXT NOT NULL
  ) STRICT`,
  "CREATE INDEX graph_answers_asked ON graph_answers (asked, model)"
]

/**
 * A language model's answers about passages, with the hash of the question, by which a passage with the same words
 * finds them.
 */
export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)
