import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { CollectionName } from "../../model/Collection.ts"
import type { Figure, StoreStats } from "../../model/Stored.ts"
import * as collections from "./collections.ts"
import type { Database } from "./Database.ts"

/** Counts of an index, or of one of its collections. */
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
    engines: [
      { name: "code_bytes", what: "Vectors' codes in memory", value: bytes },
      {
        name: "codes_loaded_seconds",
        what: "Time spent loading the vectors' codes",
        value: loadedMs / 1000
      }
    ]
  } satisfies StoreStats
})

/** Bytes that searching reads. */
export const sizes = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql.unsafe<{ readonly postings: number; readonly codes: number }>(
      `SELECT (SELECT coalesce(sum(length(data)), 0) FROM keyword_postings) AS postings,
              (SELECT coalesce(sum(length(body)), 0) FROM code_blocks) AS codes`
    ),
    ([found]): ReadonlyArray<Figure> => [
      { name: "posting_bytes", what: "keyword index", value: found!.postings },
      { name: "code_bytes", what: "vector codes", value: found!.codes }
    ]
  )
