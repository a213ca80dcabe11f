import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { CollectionName, CollectionSummary, EmbedderIdentity } from "../../model/Collection.ts"
import { CollectionNotFound, type Deleted } from "../../Store.ts"
import * as keyword from "./keyword.ts"
import * as vectors from "./vectors.ts"

interface Row {
  readonly id: number
  readonly name: CollectionName
  readonly backend: string
  readonly model: string
  readonly dimensions: number
  readonly query_prefix: string
  readonly passage_prefix: string
  readonly documents: number
  readonly passages: number
  readonly created_at: number
}

const summary = (row: Row): CollectionSummary => ({
  id: row.id,
  name: row.name,
  embedder: {
    backend: row.backend,
    model: row.model,
    dimensions: row.dimensions,
    queryPrefix: row.query_prefix,
    passagePrefix: row.passage_prefix
  },
  documents: row.documents,
  passages: row.passages,
  createdAt: row.created_at
})

export const all = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyArray<CollectionSummary>, SqlError> =>
  Effect.map(sql.unsafe<Row>("SELECT * FROM collections ORDER BY name"), (rows) => rows.map(summary))

export const find = (
  sql: SqlClient.SqlClient,
  name: CollectionName
): Effect.Effect<CollectionSummary, CollectionNotFound | SqlError> =>
  Effect.flatMap(sql.unsafe<Row>("SELECT * FROM collections WHERE name = ?", [name]), ([row]) =>
    row === undefined ? Effect.fail(new CollectionNotFound({ name })) : Effect.succeed(summary(row))
  )

/** Makes the collection with an empty index of each leg. */
export const create = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  name: CollectionName,
  embedder: EmbedderIdentity,
  createdAt: number
) {
  const [row] = yield* sql.unsafe<Row>(
    `INSERT INTO collections (name, backend, model, dimensions, query_prefix, passage_prefix, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING *`,
    [
      name,
      embedder.backend,
      embedder.model,
      embedder.dimensions,
      embedder.queryPrefix,
      embedder.passagePrefix,
      createdAt
    ]
  )
  const made = summary(row!)
  yield* keyword.create(sql, made.id)
  yield* vectors.create(sql, made.id)
  return made
})

export const drop = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, name: CollectionName) {
  const { documents, id, passages } = yield* find(sql, name)
  yield* keyword.drop(sql, id)
  yield* vectors.drop(sql, id)
  yield* sql.unsafe("DELETE FROM collections WHERE id = ?", [id])
  return { documents, passages } satisfies Deleted
})

/** Keeps the counts, so that telling them never counts rows. */
export const count = (sql: SqlClient.SqlClient, id: number, change: Deleted): Effect.Effect<unknown, SqlError> =>
  sql.unsafe("UPDATE collections SET documents = documents + ?, passages = passages + ? WHERE id = ?", [
    change.documents,
    change.passages,
    id
  ])
