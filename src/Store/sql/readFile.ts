import type { ReadFile } from "../../model/SearchResult.ts"
import { dialectOf } from "./dialect.ts"
import type { Sql } from "./rows.ts"

/** Columns of a document `d` and its file that tell what was read; times in nanoseconds are beyond 2^53. */
export interface FileColumns {
  readonly indexed_at: number
  readonly file_path: string | null
  readonly file_size: number | null
  readonly file_modified: string | null
  readonly read_at: number | null
}

export const fileColumns = (sql: Sql): string =>
  `d.indexed_at, ${dialectOf(sql).hasFiles ? "d.origin" : "NULL"} AS file_path, f.size AS file_size,
   CAST(f.modified_ns AS TEXT) AS file_modified, f.indexed_at AS read_at`

/** A file whose last reading failed may have changed before it. */
export const fileJoin = (sql: Sql): string =>
  `LEFT JOIN files AS f ON ${dialectOf(sql).hasFiles} AND f.collection_id = d.collection_id AND f.path = d.origin
     AND f.outcome = 'indexed'`

/** The file as it was read; one that is unchanged is read without its documents being stored again. */
export const fileOf = (row: FileColumns): ReadFile | undefined =>
  row.file_path === null
    ? undefined
    : {
        path: row.file_path,
        at: Math.max(row.indexed_at, row.read_at ?? 0),
        ...(row.file_size === null || row.file_modified === null
          ? {}
          : { stamp: { size: row.file_size, modified: row.file_modified } })
      }
