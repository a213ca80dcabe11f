import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

const statements = [
  // Checksums; what was written before has none.
  `ALTER TABLE keyword_postings ADD COLUMN crc INTEGER`,
  `ALTER TABLE keyword_tombstones ADD COLUMN crc INTEGER`,
  `ALTER TABLE code_epochs ADD COLUMN crc INTEGER`,
  `ALTER TABLE code_blocks ADD COLUMN crc INTEGER`,
  // What derived data were made with; what was written before has 0, and is made anew.
  `ALTER TABLE keyword_segments ADD COLUMN format INTEGER NOT NULL DEFAULT 0`,
  `ALTER TABLE keyword_segments ADD COLUMN terms_version INTEGER NOT NULL DEFAULT 0`,
  `ALTER TABLE code_sets ADD COLUMN format INTEGER NOT NULL DEFAULT 0`,
  // Derived data being made anew; `through` is the last passage that is done. Segments up to `boundary` are the old ones.
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

/** Checksums for derived data, and what is needed to make it anew beside everything else. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
  const tables = yield* sql.unsafe<{ readonly name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'vectors_[0-9]*'"
  )
  for (const { name } of tables) yield* sql.unsafe(`ALTER TABLE ${name} ADD COLUMN crc INTEGER`)
})
