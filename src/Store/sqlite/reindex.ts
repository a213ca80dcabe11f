import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type Collection, type EmbedderIdentity, sameEmbedder } from "../../model/Collection.ts"
import type { Reindexed, ReindexState, Unembedded } from "../../Store.ts"
import { embedderColumns, type EmbedderRow, fromRow, toRow } from "./collections.ts"
import * as vectors from "./vectors.ts"

interface Row extends EmbedderRow {
  readonly through: number
}

const find = (sql: SqlClient.SqlClient, collection: number) =>
  Effect.map(sql.unsafe<Row>("SELECT * FROM reindexes WHERE collection_id = ?", [collection]), ([row]) =>
    Option.fromNullable(row)
  )

const below = "FROM passages AS p JOIN documents AS d ON d.id = p.document_id WHERE d.collection_id = ?"

/** Starts a change of embedder, or goes on with one that was broken off; one to yet another embedder starts anew. */
export const begin = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: Collection,
  embedder: EmbedderIdentity
) {
  const before = yield* find(sql, collection.id)
  if (Option.isNone(before) || !sameEmbedder(fromRow(before.value), embedder)) {
    yield* vectors.drop(sql, collection.id, "next")
    yield* sql.unsafe("DELETE FROM reindexes WHERE collection_id = ?", [collection.id])
    yield* sql.unsafe(
      `INSERT INTO reindexes (collection_id, ${embedderColumns.join(", ")}) VALUES (?, ?, ?, ?, ?, ?)`,
      [collection.id, ...toRow(embedder)]
    )
    yield* vectors.create(sql, collection.id, "next")
  }
  const through = yield* Effect.map(find(sql, collection.id), (row) => Option.getOrThrow(row).through)
  const [counts] = yield* sql.unsafe<ReindexState>(
    `SELECT count(*) AS total, coalesce(sum(p.id <= ?), 0) AS done ${below}`,
    [through, collection.id]
  )
  return counts!
})

/** The next passages without a new vector, in order. */
export const pending = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number, limit: number) {
  const through = yield* Effect.map(
    find(sql, collection),
    Option.match({ onNone: () => 0, onSome: (row) => row.through })
  )
  const rows = yield* sql.unsafe<{
    readonly id: number
    readonly title: string | null
    readonly heading: string
    readonly text: string
  }>(`SELECT p.id, d.title, p.heading, p.text ${below} AND p.id > ? ORDER BY p.id LIMIT ?`, [
    collection,
    through,
    limit
  ])
  return rows.map((row): Unembedded => ({
    id: row.id,
    title: row.title ?? undefined,
    heading: JSON.parse(row.heading) as ReadonlyArray<string>,
    text: row.text
  }))
})

/** Keeps new vectors; all passages up to the last of them are then done. */
export const add = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  embedded: ReadonlyArray<Reindexed>
) {
  const last = embedded.at(-1)
  if (last === undefined) return
  const rows = embedded.flatMap(({ id, vector }) => (Option.isSome(vector) ? [{ id, vector: vector.value }] : []))
  yield* vectors.insert(sql, collection, rows, "next")
  yield* sql.unsafe("UPDATE reindexes SET through = ? WHERE collection_id = ?", [last.id, collection])
})

/** Changes over, unless passages have come in that have no new vector yet; says whether it did. */
export const finish = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number) {
  const running = yield* find(sql, collection)
  if (Option.isNone(running)) return false
  if ((yield* pending(sql, collection, 1)).length > 0) return false
  yield* vectors.switchOver(sql, collection)
  yield* sql.unsafe(`UPDATE collections SET ${embedderColumns.map((name) => `${name} = ?`).join(", ")} WHERE id = ?`, [
    ...toRow(fromRow(running.value)),
    collection
  ])
  yield* sql.unsafe("DELETE FROM reindexes WHERE collection_id = ?", [collection])
  return true
})
