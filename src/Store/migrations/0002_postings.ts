import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const tables = [
  // AUTOINCREMENT: the rows below belong to a segment's id, and those of a segment being deleted must not match a new
  // one.
  `CREATE TABLE keyword_segments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id INTEGER NOT NULL,
    state INTEGER NOT NULL,
    stamp INTEGER NOT NULL,
    passages INTEGER NOT NULL,
    terms INTEGER NOT NULL,
    dead INTEGER NOT NULL DEFAULT 0,
    dead_terms INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL,
    first_id INTEGER NOT NULL,
    last_id INTEGER NOT NULL,
    blocks INTEGER NOT NULL,
    through BLOB,
    inputs TEXT
  ) STRICT`,
  `CREATE INDEX keyword_segments_collection ON keyword_segments (collection_id, state, first_id)`,
  // In both tables, a segment has the rows from its id times 2^20 on.
  `CREATE TABLE keyword_postings (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT`,
  `CREATE TABLE keyword_tombstones (id INTEGER PRIMARY KEY, bits BLOB NOT NULL) STRICT`
]

/** Tables for our own postings, which replace FTS5's. They are made later: a collection without any is rebuilt. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const table of tables) yield* sql.unsafe(table)
  const collections = yield* sql.unsafe<{ readonly id: number }>("SELECT id FROM collections ORDER BY id")
  for (const { id } of collections) yield* sql.unsafe(`DROP TABLE IF EXISTS keyword_${id}`)
})
