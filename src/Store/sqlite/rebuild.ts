import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { CollectionName } from "../../model/Collection.ts"
import type { Rebuild } from "../../model/Stored.ts"
import { termsVersion } from "../../terms/version.ts"
import { postingsFormat, State } from "../../postings/SegmentStore.ts"
import * as codes from "./rebuild/codes.ts"
import { codesFormat, codesFrom } from "../../codes/CodeStore.ts"
import type { Position } from "./rebuild/position.ts"
import * as postings from "./rebuild/postings.ts"
import { isPresent } from "./sweep.ts"

type Kind = Rebuild["kind"]

const versions: Record<Kind, readonly [format: number, terms: number]> = {
  postings: [postingsFormat, termsVersion],
  codes: [codesFormat, 0]
}

interface Due {
  readonly id: number
  readonly name: CollectionName
  readonly passages: number
  readonly kind: Kind
  readonly done: number
  readonly missing: number
}

/**
 * Derived data that other versions made, or that are missing, as recorded in segments and sets of codes. A collection
 * with few vectors needs no codes.
 */
const due = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(
    sql.unsafe<Due>(
      `SELECT c.id, c.name, c.passages, k.kind, coalesce(r.done, 0) AS done, k.missing FROM (
         SELECT id AS collection_id, 'postings' AS kind, 1 AS missing FROM collections
         WHERE ${isPresent} AND passages > 0 AND NOT EXISTS (
           SELECT 1 FROM keyword_segments WHERE collection_id = collections.id AND state = ${State.live})
         UNION ALL
         SELECT DISTINCT collection_id, 'postings', 0 FROM keyword_segments
         WHERE state = ${State.live} AND (format < ${postingsFormat} OR terms_version < ${termsVersion})
         UNION ALL
         SELECT id, 'codes', 0 FROM collections WHERE ${isPresent} AND passages >= ${codesFrom} AND NOT EXISTS (
           SELECT 1 FROM code_sets
           WHERE collection_id = collections.id AND generation = 'current' AND format >= ${codesFormat})
       ) AS k JOIN collections AS c ON c.id = k.collection_id
       LEFT JOIN rebuilds AS r ON r.collection_id = c.id AND r.kind = k.kind
       ORDER BY k.missing DESC, c.passages, c.id, k.kind DESC`
    ),
    Effect.filter(({ id, kind }) => (kind === "codes" ? codes.isDue(sql, id) : Effect.succeed(true)))
  )

const toRebuild = ({ done, kind, missing, name, passages }: Due): Rebuild => ({
  collection: name,
  kind,
  done: Math.min(done, passages),
  total: passages,
  missing: missing === 1
})

/** What to rebuild, with what is missing entirely first. */
export const pending = (sql: SqlClient.SqlClient) => Effect.map(due(sql), (rows) => rows.map(toRebuild))

const position = (sql: SqlClient.SqlClient, collection: number, kind: Kind) =>
  Effect.map(
    sql.unsafe<Position>(
      `SELECT collection_id, through, until, boundary FROM rebuilds
       WHERE collection_id = ? AND kind = ? AND format = ? AND terms_version = ?`,
      [collection, kind, ...versions[kind]]
    ),
    ([row]) => row
  )

const begin = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number, kind: Kind) {
  const known = yield* position(sql, collection, kind)
  if (known !== undefined) return known
  yield* parts[kind].begin(sql, collection)
  // Ids rise, so this version makes everything from now on: only what exists now must be rebuilt.
  yield* sql.unsafe(
    `INSERT OR REPLACE INTO rebuilds (collection_id, kind, format, terms_version, until, boundary)
     VALUES (?, ?, ?, ?, (SELECT coalesce(max(id), 0) FROM passages), (SELECT coalesce(max(id), 0) FROM keyword_segments))`,
    [collection, kind, ...versions[kind]]
  )
  return (yield* position(sql, collection, kind))!
})

interface Part {
  readonly begin: (sql: SqlClient.SqlClient, collection: number) => Effect.Effect<unknown, SqlError>
  /** Does the next part; returns the last passage done and how many there were, or none if all are done. */
  readonly advance: (
    sql: SqlClient.SqlClient,
    position: Position
  ) => Effect.Effect<{ readonly through: number; readonly count: number } | undefined, SqlError>
  /** Replaces the old data with the new. */
  readonly finish: (sql: SqlClient.SqlClient, position: Position) => Effect.Effect<unknown, SqlError>
}

const parts: Record<Kind, Part> = { postings, codes }

/**
 * Does a little of the rebuilding, in the caller's transaction, which holds the write lock; returns the progress, or
 * undefined if nothing is due. Any process may do the next step. Readers use the old data until all of a collection's
 * new data exist.
 */
export const step = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [next] = yield* due(sql)
  if (next === undefined) return undefined
  const { id, kind } = next
  const at = yield* begin(sql, id, kind)
  const made = yield* parts[kind].advance(sql, at)
  if (made !== undefined) {
    yield* sql.unsafe("UPDATE rebuilds SET through = ?, done = done + ? WHERE collection_id = ? AND kind = ?", [
      made.through,
      made.count,
      id,
      kind
    ])
    return toRebuild({ ...next, done: next.done + made.count })
  }
  yield* parts[kind].finish(sql, at)
  yield* sql.unsafe("DELETE FROM rebuilds WHERE collection_id = ? AND kind = ?", [id, kind])
  return toRebuild({ ...next, done: next.passages })
})
