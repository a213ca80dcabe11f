import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  // Keys whose value is null, an object, or a list without scalars: so far filters took them for absent.
  `INSERT OR IGNORE INTO metadata_values (key, kind, value, document_id)
   SELECT m.key, 'o', '', d.id
   FROM documents AS d JOIN json_each(CASE WHEN json_valid(d.metadata) THEN d.metadata ELSE '{}' END) AS m
   WHERE m.type IN ('null', 'object') OR (m.type = 'array' AND NOT EXISTS (
     SELECT 1 FROM json_each(m.value) AS e WHERE e.type NOT IN ('null', 'object', 'array')))`
]

export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
)
