import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import {
  type CollectionName,
  type CollectionSummary,
  type EmbedderIdentity,
  presentMaking
} from "../../model/Collection.ts"
import type { Deleted } from "../../model/Stored.ts"
import type { CollectionNotFound } from "../../Store.ts"
import { notFound } from "../core/calls.ts"
import { State } from "../../postings/SegmentStore.ts"
import { hide } from "./sweep.ts"
import { isPresent } from "./tables.ts"
import { damaged } from "../../model/Damaged.ts"
import { unchanged } from "./unchanged.ts"
import { vectorTable } from "./vectorTable.ts"
import { type Sql, insertOne } from "./rows.ts"

/** An embedder's identity as columns. */
export interface EmbedderRow {
  readonly backend: string
  readonly model: string
  readonly dimensions: number
  readonly query_prefix: string
  readonly passage_prefix: string
  readonly digest?: string | null
  readonly making: number
}

export const toRow = (embedder: EmbedderIdentity): EmbedderRow => ({
  backend: embedder.backend,
  model: embedder.model,
  dimensions: embedder.dimensions,
  query_prefix: embedder.queryPrefix,
  passage_prefix: embedder.passagePrefix,
  digest: embedder.digest ?? null,
  making: embedder.making ?? presentMaking
})

export const fromRow = (row: EmbedderRow): EmbedderIdentity => ({
  backend: row.backend,
  model: row.model,
  dimensions: row.dimensions,
  queryPrefix: row.query_prefix,
  passagePrefix: row.passage_prefix,
  ...(row.digest ? { digest: row.digest } : {}),
  ...(row.making === presentMaking ? {} : { making: row.making })
})

interface Row extends EmbedderRow {
  readonly id: number
  readonly name: CollectionName
  readonly documents: number
  readonly passages: number
  readonly created_at: number
  readonly done?: number | null
  readonly next_backend?: string
  readonly next_model?: string
  readonly next_dimensions?: number
}

const summary = (row: Row): CollectionSummary => ({
  id: row.id,
  name: row.name,
  embedder:
    row.dimensions > 0 ? fromRow(row) : damaged(`collection ${row.name} has vectors of ${row.dimensions} numbers`),
  documents: row.documents,
  passages: row.passages,
  createdAt: row.created_at,
  ...(typeof row.done === "number" && {
    next: {
      embedder: { backend: row.next_backend!, model: row.next_model!, dimensions: row.next_dimensions! },
      done: row.done
    }
  })
})

const summaries = `SELECT c.*, r.done, r.backend AS next_backend, r.model AS next_model, r.dimensions AS next_dimensions
  FROM collections AS c LEFT JOIN reindexes AS r ON r.collection_id = c.id`

export const all = (sql: Sql): Effect.Effect<ReadonlyArray<CollectionSummary>, SqlError> =>
  unchanged(
    sql,
    "collections",
    Effect.map(sql.unsafe<Row>(`${summaries} WHERE ${isPresent} ORDER BY name`), (rows) => rows.map(summary))
  )

export const find = (sql: Sql, name: CollectionName): Effect.Effect<CollectionSummary, CollectionNotFound | SqlError> =>
  unchanged(
    sql,
    `collection ${name}`,
    Effect.flatMap(sql.unsafe<Row>(`${summaries} WHERE name = ?`, [name]), ([row]) =>
      row === undefined ? missing(sql, name) : Effect.succeed(summary(row))
    )
  )

const missing = (sql: Sql, name: CollectionName) =>
  Effect.flatMap(all(sql), (known) =>
    notFound(
      name,
      known.map((each) => each.name)
    )
  )

/** Creates an empty collection. */
export const create = Effect.fnUntraced(function* (
  sql: Sql,
  name: CollectionName,
  embedder: EmbedderIdentity,
  createdAt: number
) {
  const made = summary(yield* insertOne<Row>(sql, "collections", { name, ...toRow(embedder), created_at: createdAt }))
  yield* vectorTable(sql).create(made.id, "current")
  return made
})

/** Hides the collection from everyone at once; its rows are swept in steps. */
export const drop = Effect.fnUntraced(function* (sql: Sql, name: CollectionName) {
  const { documents, id, passages } = yield* find(sql, name)
  yield* sql.unsafe(`UPDATE keyword_segments SET state = ${State.garbage} WHERE collection_id = ?`, [id])
  for (const table of ["reindexes", "rebuilds", "roots"]) {
    yield* sql.unsafe(`DELETE FROM ${table} WHERE collection_id = ?`, [id])
  }
  yield* hide(sql, id)
  return { documents, passages } satisfies Deleted
})

/** Updates the stored counts, so that reading them never counts rows. */
export const addToCounts = (sql: Sql, id: number, change: Deleted): Effect.Effect<unknown, SqlError> =>
  sql.unsafe(
    "UPDATE collections SET documents = documents + ?, passages = passages + ?, changes = changes + 1 WHERE id = ?",
    [change.documents, change.passages, id]
  )
