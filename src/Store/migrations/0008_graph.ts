import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const tables = [
  // What a passage has to do with entities, packed; a passage without a row was never looked at.
  `CREATE TABLE graph_passages (
    passage_id INTEGER PRIMARY KEY REFERENCES passages (id) ON DELETE CASCADE,
    mentions BLOB NOT NULL
  ) STRICT`,
  // The same from the entity's side. A document's passages have ids in a row, so that id and ordinal name the document.
  `CREATE TABLE graph_mentions (
    collection_id INTEGER NOT NULL,
    entity INTEGER NOT NULL,
    relation INTEGER NOT NULL,
    passage_id INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    PRIMARY KEY (collection_id, entity, relation, passage_id)
  ) STRICT, WITHOUT ROWID`
]

/** Entities, and the passages that have to do with them. Empty for what is there: `clew graph build` fills it. */
export default Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.forEach(tables, (table) => sql.unsafe(table), { discard: true })
)
