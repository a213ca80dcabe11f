import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { FileChange, IndexedRoot, KnownFile } from "../../model/File.ts"
import { type TextRange, ranges } from "../core/identity.ts"
import { dialectOf, same } from "./dialect.ts"
import { type Sql, inList, list, only, replaceRow } from "./rows.ts"

interface Row extends Omit<KnownFile, "stamp" | "reader" | "reason" | "many"> {
  readonly size: number | null
  readonly modified: string | null
  readonly changed: string | null
  readonly inode: string | null
  readonly reader: string | null
  readonly reason: string | null
  readonly many: number
}

const toFile = ({ changed, inode, many, modified, reader, reason, size, ...row }: Row): KnownFile => ({
  ...row,
  stamp:
    size === null || modified === null || changed === null || inode === null
      ? undefined
      : { size, modified, changed, inode },
  reader: reader ?? undefined,
  reason: reason ?? undefined,
  many: many === 1
})

/** The records of some files, in no order. */
export const known = (
  sql: Sql,
  collection: number,
  paths: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<KnownFile>, SqlError> =>
  Effect.map(
    // Numbers beyond 2^53 are read as text.
    sql.unsafe<Row>(
      `SELECT id, path, size, CAST(modified_ns AS TEXT) AS modified, CAST(changed_ns AS TEXT) AS changed,
              CAST(inode AS TEXT) AS inode, reader, settings, outcome, reason, documents, many, run
       FROM files WHERE collection_id = ? AND path ${inList}`,
      [collection, list(paths)]
    ),
    (rows) => rows.map(toFile)
  )

/** The files below a folder, or the file at that path, by path; read from an index only. */
export const below = (
  sql: Sql,
  collection: number,
  root: string,
  { after, limit }: { readonly after?: string | undefined; readonly limit: number }
): Effect.Effect<ReadonlyArray<{ readonly id: number; readonly path: string }>, SqlError> => {
  const [, [folder, end]] = ranges(root)
  // The path itself sorts before everything below it, but not directly before.
  const from = after === undefined || after < folder ? folder : after
  const { indexed } = dialectOf(sql)
  const order = indexed("path").join(", ")
  const [first] = indexed("path")
  const [start] = indexed("?")
  return sql.unsafe(
    `SELECT id, path FROM (SELECT id, path FROM files WHERE collection_id = ? AND path = ? AND path > ?) AS own
     UNION ALL
     SELECT id, path FROM (
       SELECT id, path FROM files WHERE collection_id = ? AND ${first} >= ${start} AND ${first} <= ${start} AND path > ? AND path < ?
       ORDER BY ${order} LIMIT ?) AS below
     ORDER BY path LIMIT ?`,
    [collection, root, after ?? "", collection, from, end, from, end, limit, limit]
  )
}

/** By what a collection has each path once. */
const keyOf = (sql: Sql) => `collection_id, ${dialectOf(sql).key("path")}`

const integer = (text: string | undefined): bigint | null => (text === undefined ? null : BigInt(text))

/**
 * Writes what a run has found. If another run or a deletion changed the file in between, the file is left unfinished:
 * its documents may come from both.
 */
export const record = Effect.fnUntraced(function* (
  sql: Sql,
  collection: number,
  changes: ReadonlyArray<FileChange>,
  { now, run }: { readonly run: number; readonly now: number }
) {
  if (changes.length === 0) return
  const rows = yield* sql.unsafe<{ readonly path: string; readonly run: number }>(
    `SELECT path, run FROM files WHERE collection_id = ? AND path ${inList}`,
    [collection, list(changes.map(({ path }) => path))]
  )
  const current = new Map(rows.map((row) => [row.path, row.run]))
  for (const change of changes) {
    const before = current.get(change.path)
    const isOurs = before === change.expected || before === run
    const stamp = isOurs && change.outcome !== "unfinished" ? change.stamp : undefined
    yield* replaceRow(sql, "files", keyOf(sql), {
      collection_id: collection,
      path: change.path,
      size: stamp?.size ?? null,
      modified_ns: integer(stamp?.modified),
      changed_ns: integer(stamp?.changed),
      inode: integer(stamp?.inode),
      reader: change.reader ?? null,
      settings: change.settings,
      outcome: isOurs ? change.outcome : "unfinished",
      reason: change.reason ?? null,
      documents: change.documents,
      many: change.many ? 1 : 0,
      run: isOurs ? run : 0,
      indexed_at: now
    })
  }
})

/**
 * Marks the files of deleted documents to be read again, except those that a run has read since. Forgets files without
 * any documents.
 */
export const doubt = Effect.fnUntraced(function* (
  sql: Sql,
  collection: number,
  paths: ReadonlyArray<string>,
  since = Number.MAX_SAFE_INTEGER
) {
  if (paths.length === 0) return
  yield* sql.unsafe(
    `UPDATE files SET modified_ns = NULL, outcome = 'unfinished', run = 0
     WHERE collection_id = ? AND path ${inList} AND run < ?`,
    [collection, list(paths), since]
  )
  yield* forget(sql, collection, paths, since)
})

/** Marks files to be read again whose documents were stored without a record of the file. */
export const unfinished = (
  sql: Sql,
  collection: number,
  paths: ReadonlyArray<string>,
  now: number
): Effect.Effect<unknown, SqlError> =>
  paths.length === 0
    ? Effect.void
    : sql.unsafe(
        `INSERT INTO files (collection_id, path, settings, outcome, documents, many, run, indexed_at)
         SELECT CAST(? AS BIGINT), value, '', 'unfinished', 1, 0, 0, CAST(? AS BIGINT) FROM ${dialectOf(sql).texts("t")} WHERE true
         ON CONFLICT (${keyOf(sql)}) DO UPDATE SET modified_ns = NULL, outcome = 'unfinished', run = 0`,
        [collection, now, list(paths)]
      )

/** Forgets files without documents, unless run `before` or a later one has recorded them. */
export const forget = (
  sql: Sql,
  collection: number,
  paths: ReadonlyArray<string>,
  before = Number.MAX_SAFE_INTEGER
): Effect.Effect<unknown, SqlError> =>
  sql.unsafe(
    `DELETE FROM files WHERE collection_id = ? AND path ${inList} AND run < ?
       AND NOT EXISTS (SELECT 1 FROM documents AS d WHERE d.collection_id = files.collection_id AND ${same(dialectOf(sql), "d.origin", "files.path")})`,
    [collection, list(paths), before]
  )

/** Stores the paths that were given to a run. */
export const recordRoots = Effect.fnUntraced(function* (
  sql: Sql,
  collection: number,
  roots: ReadonlyArray<IndexedRoot>,
  run: number
) {
  for (const { exclude, include, path } of roots) {
    const [includes, excludes] = [include, exclude].map((globs) => JSON.stringify(globs))
    const row = { collection_id: collection, path, include: includes, exclude: excludes, run }
    yield* replaceRow(sql, "roots", keyOf(sql), row)
  }
})

export const roots = (sql: Sql, collection: number): Effect.Effect<ReadonlyArray<IndexedRoot>, SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly path: string; readonly include: string; readonly exclude: string }>(
      "SELECT path, include, exclude FROM roots WHERE collection_id = ? ORDER BY path",
      [collection]
    ),
    (rows) =>
      rows.map(({ exclude, include, path }) => ({
        path,
        include: JSON.parse(include) as ReadonlyArray<string>,
        exclude: JSON.parse(exclude) as ReadonlyArray<string>
      }))
  )

/** Forgets the roots within ranges of paths. */
export const forgetRoots = (sql: Sql, collection: number, within: ReadonlyArray<TextRange>) =>
  Effect.forEach(
    within,
    ([from, to]) =>
      sql.unsafe("DELETE FROM roots WHERE collection_id = ? AND path >= ? AND path < ?", [collection, from, to]),
    { discard: true }
  )

/** The next run's number. The caller holds the write lock, so nobody else gets it. */
export const beginRun = (sql: Sql): Effect.Effect<number, SqlError> =>
  only(sql, "UPDATE run_numbers SET last = last + 1 WHERE id = 1 RETURNING last")
