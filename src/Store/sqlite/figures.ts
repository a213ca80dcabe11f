import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { CollectionName } from "../../model/Collection.ts"
import type { StoreSizes, StoreStats } from "../../model/Stored.ts"
import * as collections from "./collections.ts"
import type { Database } from "./Database.ts"

/** What an index holds, or one collection of it. */
export const stats = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { codes }: Database["Type"]["searching"],
  name: CollectionName | undefined
) {
  const all = yield* collections.all(sql)
  const counted = name === undefined ? all : [yield* collections.find(sql, name)]
  const [size] = yield* sql.unsafe<{ readonly bytes: number }>(
    "SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size"
  )
  const { bytes, loadedMs } = codes.figures
  return {
    documents: counted.reduce((sum, { documents }) => sum + documents, 0),
    passages: counted.reduce((sum, { passages }) => sum + passages, 0),
    collections: all.length,
    databaseBytes: size?.bytes ?? 0,
    codeBytes: bytes,
    codesLoadedMs: loadedMs
  } satisfies StoreStats
})

/** Bytes of what searching reads. */
export const sizes = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql.unsafe<StoreSizes>(
      `SELECT (SELECT coalesce(sum(length(data)), 0) FROM keyword_postings) AS postings,
              (SELECT coalesce(sum(length(body)), 0) FROM code_blocks) AS codes`
    ),
    ([found]) => found!
  )
