import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { list } from "./rows.ts"

const mostKnown = 100

/** Which of the keys no document has, and if any, the first keys that documents do have; all from the index alone. */
export const metadataKeys = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, keys: ReadonlyArray<string>) {
  const unknown = yield* sql.unsafe<{ readonly key: string }>(
    `SELECT value AS key FROM json_each(?) AS t
     WHERE NOT EXISTS (SELECT 1 FROM metadata_values WHERE key = t.value)`,
    [list(keys)]
  )
  if (unknown.length === 0) return { unknown: [], known: [] }
  // From each key the index leads to the next, past all rows of the key itself.
  const known = yield* sql.unsafe<{ readonly key: string }>(
    `WITH RECURSIVE k (key) AS (
       SELECT min(key) FROM metadata_values
       UNION ALL
       SELECT (SELECT min(key) FROM metadata_values WHERE key > k.key) FROM k WHERE k.key IS NOT NULL
     ) SELECT key FROM k WHERE key IS NOT NULL LIMIT ?`,
    [mostKnown]
  )
  return { unknown: unknown.map(({ key }) => key), known: known.map(({ key }) => key) }
})
