import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { type Sql, changedRows, inList, insertRows, list, first, only } from "./rows.ts"

/** A collection's vectors; `next` are those of the embedder it is changing to. */
export type Generation = "current" | "next"

interface VectorRow {
  readonly passage_id: number
  readonly vector: Uint8Array
  readonly crc: number
}

type Done = Effect.Effect<unknown, SqlError>

/** Where a database keeps vectors: float32, little-endian, separate from the texts, so that a scan reads nothing else. */
interface VectorTable {
  /** Vectors as a table with the columns `passage_id`, `vector` and `crc`; it needs a name in the statement. */
  readonly of: (collection: number, generation?: Generation) => string
  readonly create: (collection: number, generation: Generation) => Done
  /** Hands vectors, if there are any, over to a hidden collection, which `hidden` makes. */
  readonly retire: (collection: number, generation: Generation, hidden: Effect.Effect<number, SqlError>) => Done
  /** The next vectors become the current ones, which were retired. */
  readonly switchOver: (collection: number) => Done
  readonly insert: (collection: number, generation: Generation, rows: ReadonlyArray<VectorRow>) => Done
  readonly remove: (collection: number, generation: Generation, passages: ReadonlyArray<number>) => Done
  /** Deletes some vectors of a hidden collection; false: there were none. */
  readonly sweep: (collection: number, most: number) => Effect.Effect<boolean, SqlError>
}

/** A table for each collection and generation. */
const tables = (sql: Sql): VectorTable => {
  const of = (collection: number, generation: Generation = "current") =>
    generation === "current" ? `vectors_${collection}` : `vectors_${collection}_next`
  const exists = (table: string) =>
    Effect.map(sql.unsafe("SELECT 1 FROM pragma_table_info(?) LIMIT 1", [table]), (rows) => rows.length > 0)
  return {
    of,
    create: (collection, generation) =>
      sql.unsafe(
        `CREATE TABLE ${of(collection, generation)} (passage_id INTEGER PRIMARY KEY, vector BLOB NOT NULL, crc INTEGER) STRICT`
      ),
    retire: Effect.fnUntraced(function* (collection, generation, hidden) {
      if (!(yield* exists(of(collection, generation)))) return
      yield* sql.unsafe(`ALTER TABLE ${of(collection, generation)} RENAME TO ${of(yield* hidden)}`)
    }),
    switchOver: (collection) => sql.unsafe(`ALTER TABLE ${of(collection, "next")} RENAME TO ${of(collection)}`),
    insert: (collection, generation, rows) => insertRows(sql, of(collection, generation), rows),
    remove: (collection, generation, passages) =>
      sql.unsafe(`DELETE FROM ${of(collection, generation)} WHERE passage_id ${inList}`, [list(passages)]),
    sweep: Effect.fnUntraced(function* (collection, most) {
      for (const table of [of(collection), of(collection, "next")]) {
        if (!(yield* exists(table))) continue
        const some = `SELECT passage_id FROM ${table} WHERE passage_id > 0 ORDER BY passage_id LIMIT ?`
        const taken = yield* changedRows(sql, `DELETE FROM ${table} WHERE passage_id IN (${some})`, [most])
        if (taken < most) yield* sql.unsafe(`DROP TABLE ${table}`)
        return true
      }
      return false
    })
  }
}

/**
 * One table, in which a set's vectors are found by its number: a renamed table would show a reader of an older snapshot
 * the vectors of the wrong embedder.
 */
const sets = (sql: Sql): VectorTable => {
  const idOf = (collection: number, generation: Generation) =>
    `(SELECT id FROM vector_sets WHERE collection_id = ${collection} AND generation = '${generation}')`
  const create = (collection: number, generation: Generation) =>
    only<number>(sql, "INSERT INTO vector_sets (collection_id, generation) VALUES (?, ?) RETURNING id", [
      collection,
      generation
    ])
  return {
    of: (collection, generation = "current") =>
      `(SELECT passage_id, vector, crc FROM vectors WHERE set_id = ${idOf(collection, generation)})`,
    create,
    retire: Effect.fnUntraced(function* (collection, generation, hidden) {
      const set = yield* first<number>(sql, `SELECT id FROM ${idOf(collection, generation)} AS s`)
      if (set === undefined) return
      yield* sql.unsafe("UPDATE vector_sets SET collection_id = ?, generation = 'current' WHERE id = ?", [
        yield* hidden,
        set
      ])
    }),
    switchOver: (collection) =>
      sql.unsafe("UPDATE vector_sets SET generation = 'current' WHERE collection_id = ? AND generation = 'next'", [
        collection
      ]),
    insert: Effect.fnUntraced(function* (collection, generation, rows) {
      if (rows.length === 0) return
      const known = yield* first<number>(sql, `SELECT id FROM ${idOf(collection, generation)} AS s`)
      // Damage may have taken it, with its vectors: doctor finds those, and puts them here.
      const set_id = known ?? (yield* create(collection, generation))
      yield* insertRows(
        sql,
        "vectors",
        rows.map((row) => ({ set_id, ...row }))
      )
    }),
    remove: (collection, generation, passages) =>
      sql.unsafe(`DELETE FROM vectors WHERE set_id = ${idOf(collection, generation)} AND passage_id ${inList}`, [
        list(passages)
      ]),
    sweep: Effect.fnUntraced(function* (collection, most) {
      const set = yield* first<number>(sql, "SELECT id FROM vector_sets WHERE collection_id = ? LIMIT 1", [collection])
      if (set === undefined) return false
      const some = "SELECT passage_id FROM vectors WHERE set_id = ? ORDER BY passage_id LIMIT ?"
      const taken = yield* changedRows(sql, `DELETE FROM vectors WHERE set_id = ? AND passage_id IN (${some})`, [
        set,
        set,
        most
      ])
      if (taken < most) yield* sql.unsafe("DELETE FROM vector_sets WHERE id = ?", [set])
      return true
    })
  }
}

export const vectorTable = (sql: Sql): VectorTable =>
  sql.onDialectOrElse({ pg: () => sets(sql), orElse: () => tables(sql) })
