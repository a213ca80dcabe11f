import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

/** The share of a collection's documents that the graph joins, and the state in which it was measured. */
export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.unsafe(
    `CREATE TABLE graph_linkages (
      collection_id INTEGER PRIMARY KEY REFERENCES collections (id) ON DELETE CASCADE,
      changes INTEGER NOT NULL,
      documents INTEGER NOT NULL,
      linkage REAL NOT NULL
    ) STRICT`
  )
)
