import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const tables = [
  // A passage's relations to entities, packed; a passage without a row has not been read yet.
  `CREATE TABLE graph_passages (
    passage_id INTEGER PRIMARY KEY REFERENCES passages (id) ON DELETE CASCADE,
    mentions BLOB NOT NULL
  ) STRICT`,
  // The same, by entity. A document's passages have consecutive ids, so id and ordinal identify the document.
  `CREATE TABLE graph_mentions (
    collection_id INTEGER NOT NULL,
    entity INTEGER NOT NULL,
    relation INTEGER NOT NULL,
    passage_id INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    PRIMARY KEY (collection_id, entity, relation, passage_id)
  ) STRICT, WITHOUT ROWID`
]

/** Entities, and the passages related to them. Empty for existing passages: `clew graph build` adds them. */
export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(tables, (table) => sql.unsafe(table), { discard: true })
)
