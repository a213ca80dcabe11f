import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type CollectionSummary, type EmbedderIdentity, sameEmbedder } from "../../model/Collection.ts"
import type { Embedded, ReindexPosition, ReindexState } from "../../model/Stored.ts"
import { ReindexTakenOver } from "../../Store.ts"
import { type EmbedderRow, fromRow, toRow } from "./collections.ts"
import { type Sql, insertOne, inList, list, passagesAfter, textColumns, column } from "./rows.ts"
import { type TextRow, toText } from "../core/passage.ts"
import { vectorTable } from "./vectorTable.ts"
import * as vectors from "./vectors.ts"

interface Row extends EmbedderRow {
  readonly through: number
  readonly done: number
}

const find = (sql: Sql, collection: number) =>
  Effect.map(sql.unsafe<Row>("SELECT * FROM reindexes WHERE collection_id = ?", [collection]), ([row]) => row)

/** The embedder that the collection is changing to. */
export const target = (sql: Sql, collection: number) =>
  Effect.map(find(sql, collection), (row) => Option.map(Option.fromNullable(row), fromRow))

/** How far the change to an embedder has come; fails if the collection is changing to another one, or to none. */
const through = Effect.fnUntraced(function* (sql: Sql, collection: CollectionSummary, wanted: EmbedderIdentity) {
  const row = yield* find(sql, collection.id)
  if (row !== undefined && sameEmbedder(fromRow(row), wanted)) return row.through
  const other = row === undefined ? collection.embedder : fromRow(row)
  return yield* new ReindexTakenOver({ collection: collection.name, wanted, other })
})

/** Gives up a change of embedder. */
export const cancel = (sql: Sql, { id }: Pick<CollectionSummary, "id">) =>
  Effect.zipRight(
    vectors.retire(sql, id, "next"),
    Effect.asVoid(sql.unsafe("DELETE FROM reindexes WHERE collection_id = ?", [id]))
  )

/**
 * Starts a change of embedder, or resumes an interrupted one to the same embedder; for another embedder it starts
 * again.
 */
export const begin = Effect.fnUntraced(function* (sql: Sql, collection: CollectionSummary, embedder: EmbedderIdentity) {
  const before = yield* find(sql, collection.id)
  if (before !== undefined && sameEmbedder(fromRow(before), embedder)) {
    return { done: before.done, total: collection.passages } satisfies ReindexState
  }
  yield* cancel(sql, collection)
  yield* insertOne(sql, "reindexes", { collection_id: collection.id, ...toRow(embedder) })
  yield* vectorTable(sql).create(collection.id, "next")
  return { done: 0, total: collection.passages } satisfies ReindexState
})

/** The next passages without a new vector, in order. */
export const pending = Effect.fnUntraced(function* (
  sql: Sql,
  collection: CollectionSummary,
  embedder: EmbedderIdentity,
  limit: number
) {
  const position: ReindexPosition = { embedder, through: yield* through(sql, collection, embedder) }
  const passages = yield* passagesAfter<TextRow>(sql, textColumns, collection.id, position.through, limit)
  return { position, passages: passages.map((row) => ({ id: row.id, ...toText(row) })) }
})

/** Deletes the new vectors of deleted passages, if there are any. */
export const forget = Effect.fnUntraced(function* (sql: Sql, collection: number, passages: ReadonlyArray<number>) {
  const row = yield* find(sql, collection)
  if (row === undefined) return
  yield* vectors.remove(sql, collection, passages, "next")
  const done = passages.filter((id) => id <= row.through).length
  yield* sql.unsafe("UPDATE reindexes SET done = done - ? WHERE collection_id = ?", [done, collection])
})

/**
 * Stores new vectors of passages after the position, which must still be the current one; all passages up to the last
 * of them are then done.
 */
export const add = Effect.fnUntraced(function* (
  sql: Sql,
  collection: CollectionSummary,
  embedded: ReadonlyArray<Embedded>,
  { embedder, through: before }: ReindexPosition
) {
  const reached = yield* through(sql, collection, embedder)
  if (reached !== before) {
    return yield* new ReindexTakenOver({ collection: collection.name, wanted: embedder, other: embedder })
  }
  const last = embedded.at(-1)
  if (last === undefined) return
  const there = new Set(
    yield* column<number>(sql, `SELECT id FROM passages WHERE id > ? AND id ${inList}`, [
      reached,
      list(embedded.map(({ id }) => id))
    ])
  )
  yield* vectors.insert(
    sql,
    collection.id,
    embedded.filter(({ id }) => there.has(id)),
    "next"
  )
  yield* sql.unsafe("UPDATE reindexes SET through = ?, done = done + ? WHERE collection_id = ?", [
    last.id,
    there.size,
    collection.id
  ])
})

/**
 * Switches over, unless passages were added that have no new vector yet; returns whether it did, and how many there
 * are.
 */
export const finish = Effect.fnUntraced(function* (
  sql: Sql,
  collection: CollectionSummary,
  embedder: EmbedderIdentity
) {
  const { passages } = collection
  if ((yield* pending(sql, collection, embedder, 1)).passages.length > 0) return { changed: false, passages }
  yield* vectors.switchOver(sql, collection.id)
  const row = toRow(embedder)
  const changes = Object.keys(row).map((name) => `${name} = ?`)
  yield* sql.unsafe(`UPDATE collections SET ${changes.join(", ")} WHERE id = ?`, [...Object.values(row), collection.id])
  yield* sql.unsafe("DELETE FROM reindexes WHERE collection_id = ?", [collection.id])
  return { changed: true, passages }
})
