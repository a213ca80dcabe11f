import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  // Checksums; older rows have none.
  `ALTER TABLE keyword_postings ADD COLUMN crc INTEGER`,
  `ALTER TABLE keyword_tombstones ADD COLUMN crc INTEGER`,
  `ALTER TABLE code_epochs ADD COLUMN crc INTEGER`,
  `ALTER TABLE code_blocks ADD COLUMN crc INTEGER`,
  // The version that made derived data; older rows have 0 and are rebuilt.
  `ALTER TABLE keyword_segments ADD COLUMN format INTEGER NOT NULL DEFAULT 0`,
  `ALTER TABLE keyword_segments ADD COLUMN terms_version INTEGER NOT NULL DEFAULT 0`,
  `ALTER TABLE code_sets ADD COLUMN format INTEGER NOT NULL DEFAULT 0`,
  // Derived data being rebuilt; `through` is the last passage done. Segments up to `boundary` are the old ones.
  `CREATE TABLE rebuilds (
    collection_id INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    format INTEGER NOT NULL,
    terms_version INTEGER NOT NULL,
    through INTEGER NOT NULL DEFAULT 0,
    until INTEGER NOT NULL,
    boundary INTEGER NOT NULL,
    done INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (collection_id, kind)
  ) STRICT, WITHOUT ROWID`
]

/** Checksums for derived data, and the tables needed to rebuild it in the background. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
  const tables = yield* sql.unsafe<{ readonly name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'vectors_[0-9]*'"
  )
  for (const { name } of tables) yield* sql.unsafe(`ALTER TABLE ${name} ADD COLUMN crc INTEGER`)
})
