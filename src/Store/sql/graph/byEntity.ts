import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { Place } from "../../../model/Graph.ts"
import { dialectOf } from "../dialect.ts"
import { type Sql, insertRows, list, only } from "../rows.ts"

/** A passage's relation to an entity, as a row. */
export interface Edge {
  readonly collection_id: number
  readonly entity: number
  readonly relation: number
  readonly passage_id: number
  readonly ordinal: number
}

/**
 * Where edges are, by entity. In a large collection each edge of a batch would change a page of its own, so those of a
 * batch go to a small second table, from which many batches are moved together.
 */
export const edgeTables = ["graph_mentions", "graph_recent"] as const

/**
 * All edges, as the source of a SELECT, which finds them by the keys of both tables. What it orders them by must be among
 * its columns, or SQLite reads them all.
 */
export const allEdges = `(${edgeTables.map((table) => `SELECT * FROM ${table}`).join(" UNION ALL ")})`

/** Fewer edges change few pages anyway. */
const leastRecent = 1024

/** How many edges of a collection of so many passages are kept apart before they are moved: an eighth, at four a passage. */
const mostOf = (passages: number) => Math.min(2 ** 17, passages >> 1)

/** Adds edges, which it sorts, to a collection that had so many passages before. */
export const insertEdges = Effect.fnUntraced(function* (
  sql: Sql,
  collection: number,
  edges: Array<Edge>,
  passages: number
) {
  // In the order of the table, so that neighbours are written while their page is cached.
  edges.sort((a, b) => a.entity - b.entity || a.relation - b.relation || a.passage_id - b.passage_id)
  if (edges.length < leastRecent || 2 * edges.length > mostOf(passages)) {
    return yield* insertRows(sql, "graph_mentions", edges)
  }
  yield* insertRows(sql, "graph_recent", edges)
  const recent = yield* only<number>(sql, "SELECT count(*) AS count FROM graph_recent WHERE collection_id = ?", [
    collection
  ])
  if (recent < mostOf(passages)) return
  yield* sql.unsafe(
    `INSERT INTO graph_mentions SELECT * FROM graph_recent WHERE collection_id = ?
     ORDER BY collection_id, entity, relation, passage_id`,
    [collection]
  )
  yield* sql.unsafe("DELETE FROM graph_recent WHERE collection_id = ?", [collection])
})

/** Deletes edges of a collection, given as rows of entity, relation and passage. */
export const deleteEdges = (
  sql: Sql,
  collection: number,
  edges: ReadonlyArray<ReadonlyArray<number>>
): Effect.Effect<void, SqlError> =>
  Effect.forEach(
    edgeTables,
    (table) =>
      sql.unsafe(
        `DELETE FROM ${table} WHERE (collection_id, entity, relation, passage_id) IN (
           SELECT CAST(? AS BIGINT), CAST(t.value ->> 0 AS BIGINT), CAST(t.value ->> 1 AS BIGINT), CAST(t.value ->> 2 AS BIGINT)
           FROM ${dialectOf(sql).rows("t")})`,
        [collection, JSON.stringify(edges)]
      ),
    { discard: true }
  )

/**
 * The first so many places of those entities of a collection that exist, by relation and passage. Most phrases of a
 * question are nothing that the graph knows.
 */
export const placesOf = (
  sql: Sql,
  collection: number,
  entities: ReadonlyArray<number>,
  most: number,
  which = ""
): Effect.Effect<ReadonlyMap<number, ReadonlyArray<Place>>, SqlError> => {
  const its = `FROM ${allEdges} AS e WHERE collection_id = ? AND entity = asked.value${which}`
  return Effect.map(
    sql.unsafe<{ readonly entity: number; readonly places: string }>(
      `SELECT asked.value AS entity,
              (SELECT ${dialectOf(sql).jsonRows("relation, passage_id, ordinal")} FROM
                (SELECT relation, passage_id, ordinal ${its} ORDER BY relation, passage_id LIMIT ${most}) AS m) AS places
       FROM json_each(?) AS asked WHERE EXISTS (SELECT 1 ${its})`,
      [collection, list(entities), collection]
    ),
    (rows) => new Map(rows.map(({ entity, places }) => [entity, placesIn(places)]))
  )
}

const placesIn = (json: string) =>
  (JSON.parse(json) as ReadonlyArray<readonly [relation: number, passage: number, ordinal: number]>).map(
    ([relation, passage, ordinal]) => ({ relation, passage, document: passage - ordinal })
  )
