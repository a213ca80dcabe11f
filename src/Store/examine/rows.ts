import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { StoreUnavailable } from "../../Store.ts"
import { rising } from "../../model/Damaged.ts"
import type { Examining } from "../port/Upkeep.ts"
import { toVector } from "../sql/codes.ts"
import * as collections from "../sql/collections.ts"
import { type TextRow, toText } from "../core/passage.ts"
import { type Sql, inList, list, textColumns } from "../sql/rows.ts"
import { hiddenCollections } from "../sql/tables.ts"
import { vectorTable } from "../sql/vectorTable.ts"
import * as vectors from "../sql/vectors.ts"

/** Runs statements in one transaction. */
export type Run = <A>(use: (sql: Sql) => Effect.Effect<A, SqlError>) => Effect.Effect<A, StoreUnavailable>

/** What an examination reads and writes row by row. */
export const examinedRows = (
  read: Run,
  write: Run
): Pick<Examining, "collections" | "embedded" | "unembedded" | "putVectors" | "origins"> => ({
  collections: read(collections.all),

  embedded: (collection, after, limit) =>
    read((sql) =>
      Effect.map(
        sql.unsafe<TextRow & { readonly vector: Uint8Array }>(
          `SELECT ${textColumns}, v.vector FROM ${vectorTable(sql).of(collection)} AS v CROSS JOIN passages AS p ON p.id = v.passage_id
           CROSS JOIN documents AS d ON d.id = p.document_id WHERE v.passage_id > ? ORDER BY v.passage_id LIMIT ?`,
          [after, limit]
        ),
        (found) =>
          rising(found, after, "vectors").map((row) => ({ id: row.id, ...toText(row), vector: toVector(row.vector) }))
      )
    ),

  unembedded: (collection, after, limit) =>
    read((sql) =>
      Effect.map(
        sql.unsafe<TextRow & { readonly known: number }>(
          `SELECT ${textColumns},
             EXISTS (SELECT 1 FROM vectorless WHERE passage_id = p.id AND generation = 'current') AS known
           FROM passages AS p CROSS JOIN documents AS d ON d.id = p.document_id WHERE d.collection_id = ? AND p.id > ?
             AND NOT EXISTS (SELECT 1 FROM ${vectorTable(sql).of(collection)} AS v WHERE v.passage_id = p.id) ORDER BY p.id LIMIT ?`,
          [collection, after, limit]
        ),
        (found) =>
          rising(found, after, "passages").map((row) => ({ id: row.id, ...toText(row), isKnown: row.known === 1 }))
      )
    ),

  putVectors: (collection, given) =>
    write((sql) =>
      Effect.zipRight(
        sql.unsafe(`DELETE FROM vectorless WHERE generation = 'current' AND passage_id ${inList}`, [
          list(given.map(({ id }) => id))
        ]),
        vectors.insert(sql, collection, given)
      )
    ),

  origins: (after, limit) =>
    read((sql) =>
      Effect.map(
        sql.unsafe<{ readonly origin: string; readonly size: number | null; readonly modified: string | null }>(
          `SELECT d.origin, f.size, CAST(f.modified_ns AS TEXT) AS modified
           FROM (SELECT DISTINCT collection_id, origin FROM documents
                 WHERE origin > ? AND collection_id NOT IN (${hiddenCollections}) ORDER BY origin, collection_id LIMIT ?) AS d
             LEFT JOIN files AS f ON f.collection_id = d.collection_id AND f.path = d.origin`,
          [after, limit]
        ),
        (found) =>
          found.map(({ modified, origin, size }) => ({
            origin,
            size: size ?? undefined,
            modified: modified ?? undefined
          }))
      )
    )
})
