import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { damaged } from "../../model/Damaged.ts"
import { inList, list } from "./rows.ts"

/**
 * Collections being deleted have names starting with `~`, which sort after every valid name. Their rows are the only
 * record of them, so any later process can continue.
 */
export const isPresent = "name < '~'"

/** The ids of collections being deleted. */
export const leaving = "SELECT id FROM collections WHERE name >= '~'"

/** Hides a collection from everyone, to be swept. */
export const hide = (sql: SqlClient.SqlClient, collection: number): Effect.Effect<unknown, SqlError> =>
  sql.unsafe("UPDATE collections SET name = '~' || id WHERE id = ?", [collection])

/** A new hidden collection, for swept parts of a collection that stays. */
export const makeHidden = (sql: SqlClient.SqlClient): Effect.Effect<number, SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly id: number }>(
      `INSERT INTO collections (id, name, backend, model, dimensions, query_prefix, passage_prefix, created_at)
       SELECT id, '~' || id, '', '', 0, '', '', 0
       FROM (SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'collections'), 0) + 1 AS id) RETURNING id`
    ),
    ([row]) => row!.id
  )

/** Most rows of each kind that a step deletes. */
export interface SweepOptions {
  readonly vectors: number
  readonly blocks: number
  readonly edges: number
  readonly files: number
  /** Documents and their passages together. */
  readonly texts: number
}

export const steps: SweepOptions = { vectors: 256, blocks: 16, edges: 1024, files: 512, texts: 256 }

/** The next collection to sweep; a name that only looks hidden because of damage does not count. */
const next = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(sql.unsafe<{ readonly id: number }>(`${leaving} ORDER BY name LIMIT 100`), (hidden) =>
    Effect.map(
      sql.unsafe<{ readonly id: number }>(
        `SELECT id FROM collections WHERE id ${inList} AND +name = '~' || id LIMIT 1`,
        [list(hidden.map(({ id }) => id))]
      ),
      ([row]) => row?.id
    )
  )

/** Whether anything is still to be swept. */
export const isDue = (sql: SqlClient.SqlClient) => Effect.map(next(sql), (id) => id !== undefined)

const count = (sql: SqlClient.SqlClient, statement: string, params: ReadonlyArray<unknown>) =>
  Effect.map(sql.unsafe(`${statement} RETURNING 1`, params), (rows) => rows.length)

/** Each deletes some rows; true if there were any. */
const parts: ReadonlyArray<
  (sql: SqlClient.SqlClient, collection: number, most: SweepOptions) => Effect.Effect<boolean, SqlError>
> = [
  (sql, collection, { vectors }) =>
    Effect.reduce([`vectors_${collection}`, `vectors_${collection}_next`], false, (done, table) =>
      done ? Effect.succeed(true) : sweepTable(sql, table, vectors)
    ),
  Effect.fnUntraced(function* (sql, collection, most) {
    const [set] = yield* sql.unsafe<{ readonly id: number }>(
      "SELECT id FROM code_sets WHERE collection_id = ? LIMIT 1",
      [collection]
    )
    if (set === undefined) return false
    const blocks = `SELECT version FROM code_blocks WHERE set_id = ? LIMIT ?`
    const taken = yield* count(sql, `DELETE FROM code_blocks WHERE version IN (${blocks})`, [set.id, most.blocks])
    if (taken < most.blocks) yield* sql.unsafe("DELETE FROM code_sets WHERE id = ?", [set.id])
    return true
  }),
  Effect.fnUntraced(function* (sql, collection, { edges }) {
    const some = yield* sql.unsafe<Record<"entity" | "relation" | "passage_id", number>>(
      "SELECT entity, relation, passage_id FROM graph_mentions WHERE collection_id = ? LIMIT ?",
      [collection, edges]
    )
    if (some.length === 0) return false
    yield* sql.unsafe(
      `DELETE FROM graph_mentions WHERE (collection_id, entity, relation, passage_id) IN
         (SELECT ?, value ->> 0, value ->> 1, value ->> 2 FROM json_each(?))`,
      [collection, JSON.stringify(some.map(({ entity, passage_id, relation }) => [entity, relation, passage_id]))]
    )
    return true
  }),
  (sql, collection, { texts }) => sweepTexts(sql, collection, texts),
  Effect.fnUntraced(function* (sql, collection, { files }) {
    const some = "SELECT id FROM files WHERE collection_id = ? LIMIT ?"
    return (yield* count(sql, `DELETE FROM files WHERE id IN (${some})`, [collection, files])) > 0
  })
]

/** Drops an empty table, which then costs nothing. */
const sweepTable = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, table: string, most: number) {
  const [there] = yield* sql.unsafe("SELECT 1 FROM pragma_table_info(?) LIMIT 1", [table])
  if (there === undefined) return false
  const some = `SELECT passage_id FROM ${table} WHERE passage_id > 0 ORDER BY passage_id LIMIT ?`
  const taken = yield* count(sql, `DELETE FROM ${table} WHERE passage_id IN (${some})`, [most])
  if (taken < most) yield* sql.unsafe(`DROP TABLE ${table}`)
  return true
})

/** This many characters of metadata count as a row. */
const charactersARow = 256

/** Some documents with everything that belongs to them; of a long document, some passages. */
const sweepTexts = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number, most: number) {
  const documents = yield* sql.unsafe<{ readonly id: number; readonly passages: number; readonly metadata: number }>(
    `SELECT id, passages, length(metadata) AS metadata FROM documents
     WHERE collection_id = ? ORDER BY first_passage LIMIT ?`,
    [collection, most]
  )
  if (documents.length === 0) return false
  let rows = 0
  const some = documents.filter(({ metadata, passages }) => {
    rows += 1 + passages + Math.ceil(metadata / charactersARow)
    return rows <= most
  })
  const [{ id, passages }] = documents as [(typeof documents)[number]]
  if (some.length === 0 && passages > most) {
    const its = "SELECT id FROM passages WHERE document_id = ? ORDER BY ordinal LIMIT ?"
    const taken = yield* count(sql, `DELETE FROM passages WHERE id IN (${its})`, [id, most])
    yield* sql.unsafe("UPDATE documents SET passages = ? WHERE id = ?", [taken < most ? 0 : passages - taken, id])
    return true
  }
  yield* sql.unsafe(`DELETE FROM documents WHERE id ${inList}`, [
    list(some.length === 0 ? [id] : some.map((document) => document.id))
  ])
  return true
})

/**
 * Deletes a bounded number of dropped rows, in the caller's transaction, which holds the write lock; true if there was
 * something to do. Any process may do the next step.
 */
export const sweepStep = Effect.fn("Store.sweepStep")(function* (sql: SqlClient.SqlClient, most: SweepOptions = steps) {
  const collection = yield* next(sql)
  if (collection === undefined) return false
  const changes = Effect.map(
    sql.unsafe<{ readonly count: number }>("SELECT total_changes() AS count"),
    ([row]) => row!.count
  )
  for (const part of parts) {
    const before = yield* changes
    if (!(yield* part(sql, collection, most))) continue
    // Else the same step would come again and again. Dropping an empty table changes no row.
    if (part !== parts[0] && (yield* changes) === before) damaged("rows of a dropped collection cannot be deleted")
    return true
  }
  yield* sql.unsafe("DELETE FROM collections WHERE id = ?", [collection])
  return true
})
