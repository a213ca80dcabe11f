import type * as SqlClient from "@effect/sql/SqlClient"
import { inList, insertRows, list } from "../rows.ts"

/** Adds names by their entities; the first key of an entity stays. */
export const insertKeys = (sql: SqlClient.SqlClient, collection: number, keys: Iterable<readonly [number, string]>) =>
  insertRows(
    sql,
    "graph_names",
    // In the order of the table, so that neighbours are written while their page is cached.
    [...keys].sort(([a], [b]) => a - b).map(([entity, key]) => ({ collection_id: collection, entity, key })),
    " ON CONFLICT DO NOTHING"
  )

/** Removes those of some entities' names that no passage mentions any more. */
export const removeNames = (sql: SqlClient.SqlClient, collection: number, entities: Iterable<number>) =>
  sql.unsafe(
    `DELETE FROM graph_names WHERE collection_id = ? AND entity ${inList}
       AND NOT EXISTS (SELECT 1 FROM graph_mentions AS m
                       WHERE m.collection_id = graph_names.collection_id AND m.entity = graph_names.entity)`,
    [collection, list([...new Set(entities)])]
  )
