import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { damaged } from "../../model/Damaged.ts"
import { dialectOf } from "./dialect.ts"
import { allEdges, deleteEdges } from "./graph/byEntity.ts"
import { type Sql, changedRows, inList, insertOne, list, column, first, only } from "./rows.ts"
import { hiddenCollections } from "./tables.ts"
import { vectorTable } from "./vectorTable.ts"

/** Hides a collection from everyone, to be swept. */
export const hide = (sql: Sql, collection: number): Effect.Effect<unknown, SqlError> =>
  sql.unsafe("UPDATE collections SET name = '~' || id WHERE id = ?", [collection])

/** A new hidden collection, for swept parts of a collection that stays. */
export const makeHidden = Effect.fnUntraced(function* (sql: Sql) {
  const none = { backend: "", model: "", dimensions: 0, query_prefix: "", passage_prefix: "", created_at: 0 }
  const { id } = yield* insertOne<{ readonly id: number }>(sql, "collections", { name: "~", ...none })
  yield* hide(sql, id)
  return id
})

/** Most rows of each kind that a step deletes; of `texts`, documents and their passages together. */
const most = { vectors: 256, blocks: 16, edges: 1024, files: 512, texts: 256 }

/** The next collection to sweep; a name that only looks hidden because of damage does not count. */
const next = (sql: Sql) =>
  Effect.flatMap(column<number>(sql, `${hiddenCollections} ORDER BY name LIMIT 100`), (hidden) =>
    first<number>(sql, `SELECT id FROM collections WHERE id ${inList} AND name || '' = '~' || id LIMIT 1`, [
      list(hidden)
    ])
  )

/** Whether anything is still to be swept. */
export const isDue = (sql: Sql) => Effect.map(next(sql), (id) => id !== undefined)

/** Each deletes some rows; true if there were any. */
const parts: ReadonlyArray<(sql: Sql, collection: number) => Effect.Effect<boolean, SqlError>> = [
  (sql, collection) => vectorTable(sql).sweep(collection, most.vectors),
  Effect.fnUntraced(function* (sql, collection) {
    const set = yield* first<number>(sql, "SELECT id FROM code_sets WHERE collection_id = ? LIMIT 1", [collection])
    if (set === undefined) return false
    const blocks = `SELECT version FROM code_blocks WHERE set_id = ? LIMIT ?`
    const taken = yield* changedRows(sql, `DELETE FROM code_blocks WHERE version IN (${blocks})`, [set, most.blocks])
    if (taken < most.blocks) yield* sql.unsafe("DELETE FROM code_sets WHERE id = ?", [set])
    return true
  }),
  Effect.fnUntraced(function* (sql, collection) {
    const some = yield* sql.unsafe<Record<"entity" | "relation" | "passage_id", number>>(
      `SELECT entity, relation, passage_id FROM ${allEdges} AS e WHERE collection_id = ? LIMIT ?`,
      [collection, most.edges]
    )
    if (some.length === 0) return false
    yield* deleteEdges(
      sql,
      collection,
      some.map(({ entity, passage_id, relation }) => [entity, relation, passage_id])
    )
    return true
  }),
  Effect.fnUntraced(function* (sql, collection) {
    const some = "SELECT entity FROM graph_names WHERE collection_id = ? LIMIT ?"
    const statement = `DELETE FROM graph_names WHERE collection_id = ? AND entity IN (${some})`
    return (yield* changedRows(sql, statement, [collection, collection, most.edges])) > 0
  }),
  (sql, collection) => sweepTexts(sql, collection),
  Effect.fnUntraced(function* (sql, collection) {
    const some = "SELECT id FROM files WHERE collection_id = ? LIMIT ?"
    return (yield* changedRows(sql, `DELETE FROM files WHERE id IN (${some})`, [collection, most.files])) > 0
  })
]

/** This many characters of metadata count as a row. */
const charactersARow = 256

/** Some documents with everything that belongs to them; of a long document, some passages. */
const sweepTexts = Effect.fnUntraced(function* (sql: Sql, collection: number) {
  const documents = yield* sql.unsafe<{ readonly id: number; readonly passages: number; readonly metadata: number }>(
    `SELECT id, passages, length(metadata) AS metadata FROM documents
     WHERE collection_id = ? ORDER BY first_passage LIMIT ?`,
    [collection, most.texts]
  )
  if (documents.length === 0) return false
  let rows = 0
  const some = documents.filter(({ metadata, passages }) => {
    rows += 1 + passages + Math.ceil(metadata / charactersARow)
    return rows <= most.texts
  })
  const [{ id, passages }] = documents as [(typeof documents)[number]]
  if (some.length === 0 && passages > most.texts) {
    const its = "SELECT id FROM passages WHERE document_id = ? ORDER BY ordinal LIMIT ?"
    const taken = yield* changedRows(sql, `DELETE FROM passages WHERE id IN (${its})`, [id, most.texts])
    yield* sql.unsafe("UPDATE documents SET passages = ? WHERE id = ?", [taken < most.texts ? 0 : passages - taken, id])
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
export const sweepStep = Effect.fn("Store.sweepStep")(function* (sql: Sql) {
  const collection = yield* next(sql)
  if (collection === undefined) return false
  const counting = dialectOf(sql).changes
  const changes = counting === undefined ? Effect.succeed(undefined) : only<number>(sql, counting)
  for (const part of parts) {
    const before = yield* changes
    if (!(yield* part(sql, collection))) continue
    // Else the same step would come again and again. Dropping an empty table changes no row.
    if (part !== parts[0] && before !== undefined && (yield* changes) === before)
      damaged("rows of a dropped collection cannot be deleted")
    return true
  }
  yield* sql.unsafe("DELETE FROM collections WHERE id = ?", [collection])
  return true
})
