import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { headingPath } from "../../model/SearchResult.ts"
import * as keyword from "../sqlite/keyword.ts"

const tables = [
  // AUTOINCREMENT: the rows below hang on a segment's id, and those of one that is going must not meet a new one.
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
  // Of both tables, a segment has the rows from its id times 2^20 on.
  `CREATE TABLE keyword_postings (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT`,
  `CREATE TABLE keyword_tombstones (id INTEGER PRIMARY KEY, bits BLOB NOT NULL) STRICT`
]

/** Passages read at a time. */
const page = 2000

interface Row {
  readonly id: number
  readonly title: string | null
  readonly heading: string
  readonly text: string
}

/** Indexes a collection's passages, a page at a time; CROSS JOIN keeps SQLite to the passages' order. */
const convert = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number) {
  let after = 0
  for (;;) {
    const rows = yield* sql.unsafe<Row>(
      `SELECT p.id, d.title, p.heading, p.text FROM passages AS p CROSS JOIN documents AS d ON d.id = p.document_id
       WHERE d.collection_id = ? AND p.id > ? ORDER BY p.id LIMIT ${page}`,
      [collection, after]
    )
    const last = rows.at(-1)
    if (last === undefined) break
    yield* keyword.insert(
      sql,
      collection,
      rows.map(({ heading, id, text, title }) => ({
        id,
        title: title ?? "",
        heading: headingPath(JSON.parse(heading) as ReadonlyArray<string>),
        text
      }))
    )
    yield* Effect.repeat(keyword.mergeStep(sql), { while: (more) => more })
    after = last.id
  }
  yield* sql.unsafe(`DROP TABLE IF EXISTS keyword_${collection}`)
})

/** Postings of our own in the place of FTS5's. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const table of tables) yield* sql.unsafe(table)
  const collections = yield* sql.unsafe<{ readonly id: number }>("SELECT id FROM collections ORDER BY id")
  for (const { id } of collections) yield* convert(sql, id)
})
