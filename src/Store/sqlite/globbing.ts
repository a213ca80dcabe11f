import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { Comparison, Filter } from "../../model/Filter.ts"
import { Globs } from "../../model/globs.ts"
import { Cancelled } from "./Cancelled.ts"
import { globLists, manyGlobs } from "./filter.ts"
import { forEachNumber } from "./numbers.ts"

/** Sources read per statement; between two statements it checks for cancellation. */
const batch = 8192

interface Row {
  readonly ids: Uint8Array | null
  readonly names: string
}

/** Ids of a collection's documents whose source, or doc_id if they have none, matches any of the texts or globs. */
export const matching = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  texts: ReadonlyArray<string>,
  most: number = batch
) {
  const globs = new Globs(texts, yield* Cancelled)
  const found: Array<number> = []
  let last: ReadonlyArray<string> = []
  for (;;) {
    const [row] = yield* sql.unsafe<Row>(
      `SELECT CAST(group_concat(id) AS BLOB) AS ids, json_group_array(name) AS names
       FROM (SELECT id, name FROM documents INDEXED BY documents_name
             WHERE collection_id = ?${last.length === 0 ? "" : " AND (name, doc_id) > (?, ?)"}
             ORDER BY name, doc_id LIMIT ?)`,
      [collection, ...last, most]
    )
    if (row!.ids === null) return found
    const ids: Array<number> = []
    forEachNumber(row!.ids, (id) => ids.push(id))
    const names = JSON.parse(row!.names) as ReadonlyArray<string>
    for (const [at, name] of names.entries()) {
      const matches = globs.matches(name)
      if (matches === undefined) return yield* Effect.interrupt
      if (matches) found.push(ids[at]!)
    }
    if (ids.length < most) return found
    const [end] = yield* sql.unsafe<{ readonly name: string; readonly doc_id: string }>(
      "SELECT name, doc_id FROM documents WHERE id = ?",
      [ids.at(-1)]
    )
    last = [end!.name, end!.doc_id]
  }
})

/** The matches of a filter's lists of many globs, each found in one pass over the sources. */
export const globbed = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number, filter: Filter) {
  const found = new Map<Comparison, ReadonlyArray<number>>()
  for (const comparison of globLists(filter)) {
    if (!found.has(comparison)) found.set(comparison, yield* matching(sql, collection, manyGlobs(comparison)!))
  }
  return found
})
