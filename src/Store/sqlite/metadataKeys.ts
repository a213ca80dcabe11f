import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { list } from "./rows.ts"
import { leaving } from "./sweep.ts"

const mostKnown = 100

/** Most rows of a key that are read to find one of a document that stays; a key with more counts as known. */
const looked = 1000

/** Whether documents that are not being deleted have the key `key`. */
const isHeld = (key: string) => `EXISTS (
  SELECT 1 FROM (SELECT document_id FROM metadata_values WHERE key = ${key} LIMIT ${looked}) AS v
  CROSS JOIN documents AS d ON d.id = v.document_id AND d.collection_id NOT IN (${leaving})
) OR EXISTS (SELECT 1 FROM metadata_values WHERE key = ${key} LIMIT 1 OFFSET ${looked})`

/**
 * Which of the keys no document has, and if there are any, the first keys that documents do have; read from an index
 * only.
 */
export const metadataKeys = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, keys: ReadonlyArray<string>) {
  const [swept] = yield* sql.unsafe(`${leaving} LIMIT 1`)
  const held = (key: string) =>
    swept === undefined ? `EXISTS (SELECT 1 FROM metadata_values WHERE key = ${key})` : isHeld(key)
  const unknown = yield* sql.unsafe<{ readonly key: string }>(
    `SELECT value AS key FROM json_each(?) AS t
     WHERE NOT (${held("t.value")})`,
    [list(keys)]
  )
  if (unknown.length === 0) return { unknown: [], known: [] }
  // Each lookup jumps from one key to the next in the index, past all rows of the key itself.
  const known = yield* sql.unsafe<{ readonly key: string }>(
    `WITH RECURSIVE k (key) AS (
       SELECT min(key) FROM metadata_values
       UNION ALL
       SELECT (SELECT min(key) FROM metadata_values WHERE key > k.key) FROM k WHERE k.key IS NOT NULL
     ) SELECT key FROM k WHERE key IS NOT NULL AND (${held("k.key")}) LIMIT ?`,
    [mostKnown]
  )
  return { unknown: unknown.map(({ key }) => key), known: known.map(({ key }) => key) }
})
