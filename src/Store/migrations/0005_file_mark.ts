import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  // Shows whether a WAL belongs to this file; see sqlite/file/marks.ts.
  `CREATE TABLE file_mark (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    before BLOB NOT NULL,
    now BLOB NOT NULL
  ) STRICT`,
  `INSERT INTO file_mark (id, before, now) VALUES (1, randomblob(16), randomblob(16))`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)
