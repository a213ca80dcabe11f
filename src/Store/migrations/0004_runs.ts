import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  // Runs have rising numbers, to distinguish what a later run saw from what none has seen since.
  `CREATE TABLE run_numbers (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL) STRICT`,
  `INSERT INTO run_numbers (id, last) VALUES (1, 0)`,
  // Replaces seen_by, whose random numbers have no order; seen_by is no longer used.
  `ALTER TABLE documents ADD COLUMN seen_run INTEGER`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)
