import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { Pruned, PrunePosition } from "../../model/Stored.ts"
import { remove } from "./documents.ts"
import { forget } from "./files.ts"

/**
 * The ranges of a path and of what is below it: `/` sorts before `0` by bytes, and no file name contains a zero byte.
 */
const ranges = (path: string): ReadonlyArray<readonly [from: string, to: string]> => {
  const folder = path.endsWith("/") ? path : `${path}/`
  return [
    [path, `${path}\u0001`],
    [folder, `${folder.slice(0, -1)}0`]
  ]
}

/** Documents read in one transaction. */
const pageRows = 1000

/** Passages deleted in one transaction, unless a single document has more. */
const mostPassages = 4000

/** Greater than every run's number. */
const always = Number.MAX_SAFE_INTEGER

interface Row {
  readonly id: number
  readonly origin: string
  readonly seen_run: number | null
  readonly passages: number
}

/** One step of a deletion by paths, in the caller's transaction. */
export const prune = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  paths: ReadonlyArray<string>,
  { before = always, from }: { readonly before?: number | undefined; readonly from?: PrunePosition | undefined } = {}
) {
  const all = paths.flatMap(ranges)
  let position: PrunePosition | undefined = from ?? { path: 0, origin: "", id: 0 }
  let left = pageRows
  let passages = 0
  const ids: Array<number> = []
  while (left > 0 && position !== undefined) {
    const at: PrunePosition = position
    const range = all[at.path]
    if (range === undefined) {
      position = undefined
      break
    }
    const rows = yield* sql.unsafe<Row>(
      `SELECT id, origin, seen_run, passages FROM documents
       WHERE collection_id = ? AND origin >= ? AND origin < ? AND (origin, id) > (?, ?) ORDER BY origin, id LIMIT ?`,
      [collection, at.origin < range[0] ? range[0] : at.origin, range[1], at.origin, at.id, left]
    )
    let last: Row | undefined
    for (const row of rows) {
      const goes = (row.seen_run ?? 0) < before
      if (goes && ids.length > 0 && passages + row.passages > mostPassages) break
      last = row
      if (!goes) continue
      ids.push(row.id)
      passages += row.passages
    }
    if (last !== rows.at(-1)) {
      position = last === undefined ? at : { path: at.path, origin: last.origin, id: last.id }
      break
    }
    left -= rows.length
    position =
      left > 0 || last === undefined
        ? { path: at.path + 1, origin: "", id: 0 }
        : { path: at.path, origin: last.origin, id: last.id }
  }
  const deleted = yield* remove(sql, collection, [...new Set(ids)], { since: before })
  if (position === undefined) {
    yield* forget(sql, collection, paths, before)
    // Deleting a path, whatever a run has seen, means that the next update must not bring it back.
    if (before === always) {
      for (const [first, end] of all) {
        yield* sql.unsafe("DELETE FROM roots WHERE collection_id = ? AND path >= ? AND path < ?", [
          collection,
          first,
          end
        ])
      }
    }
  }
  return { ...deleted, ...(position === undefined ? {} : { next: position }) } satisfies Pruned
})
