import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type SetKey, codesFormat, codesFrom } from "../../codes/CodeStore.ts"
import { encoder } from "../../codes/encoder.ts"
import { blockRows } from "../../codes/layout.ts"
import { append, beginEpoch } from "../../codes/write.ts"
import type { CollectionName } from "../../model/Collection.ts"
import type { Rebuild } from "../../model/Stored.ts"
import { addSegment } from "../../postings/Postings.ts"
import { State, postingsFormat } from "../../postings/SegmentStore.ts"
import { termsVersion } from "../../terms/terms.ts"
import { codesOn, retireCodes, vectorsIn } from "./codes.ts"
import { edgeTables } from "./graph/byEntity.ts"
import { renew } from "./graph/edges.ts"
import { keepLinkage } from "./graph/linkage.ts"
import { type SearchedRow, searchedColumns, detectLanguages, toKeywordRow } from "./keyword.ts"
import { type Sql, passagesAfter } from "./rows.ts"
import { segmentsOn } from "./segments.ts"
import { isPresent } from "./tables.ts"
import { vectorTable } from "./vectorTable.ts"

type Kind = Rebuild["kind"]

/** A rebuild in progress: passages up to `through` are done, and it ends with `until`. */
interface Position {
  readonly collection_id: number
  readonly through: number
  readonly until: number
  /** The last segment that existed when it began. */
  readonly boundary: number
}

/** How one kind of derived data is made again, beside the data in use. */
interface Derived {
  readonly version: readonly [format: number, terms: number]
  /** Drops the data, or marks them as made by no version. */
  readonly drop: (sql: Sql, collection: number) => Effect.Effect<unknown, SqlError>
  readonly begin: (sql: Sql, collection: number) => Effect.Effect<unknown, SqlError>
  /** Does the next part; returns the last passage done and how many there were, or none if all are done. */
  readonly advance: (
    sql: Sql,
    position: Position
  ) => Effect.Effect<{ readonly through: number; readonly count: number } | undefined, SqlError>
  readonly finish: (sql: Sql, position: Position) => Effect.Effect<unknown, SqlError>
}

/** The most that a step indexes, unless a single passage is larger. */
const most = { passages: 4096, bytes: 4 * 1024 * 1024 }

const postings: Derived = {
  version: [postingsFormat, termsVersion],

  // With the languages by which the words are stemmed.
  drop: (sql, collection) =>
    Effect.zipRight(
      sql.unsafe("UPDATE documents SET language = NULL WHERE collection_id = ?", [collection]),
      sql.unsafe(
        `UPDATE keyword_segments SET terms_version = 0, format = 0, state = CASE WHEN state = ${State.live} THEN state ELSE ${State.garbage} END
         WHERE collection_id = ?`,
        [collection]
      )
    ),

  // Deletes what another rebuild or a merge has made so far.
  begin: (sql, collection) =>
    sql.unsafe(
      `UPDATE keyword_segments SET state = ${State.garbage} WHERE collection_id = ? AND state IN (${State.building}, ${State.waiting})`,
      [collection]
    ),

  advance: Effect.fnUntraced(function* (sql, { collection_id: collection, through, until }) {
    const rows = yield* passagesAfter<SearchedRow & { readonly document: number }>(
      sql,
      `${searchedColumns}, d.id AS document`,
      collection,
      through,
      most.passages,
      until
    )
    let bytes = 0
    const some = rows.filter((row, index) => {
      bytes += row.text.length
      return index === 0 || bytes <= most.bytes
    })
    if (some.length === 0) return undefined
    const unknown = some.flatMap(({ document, language }) => (language === null ? [document] : []))
    const detected = yield* detectLanguages(sql, [...new Set(unknown)])
    const made = some.map((row) =>
      toKeywordRow({ ...row, language: row.language ?? detected.get(row.document) ?? null })
    )
    yield* addSegment(segmentsOn(sql), collection, made, State.waiting)
    return { through: some.at(-1)!.id, count: some.length }
  }),

  // Deletes the segments from before the rebuild, adds the new ones, and keeps those added since.
  finish: Effect.fnUntraced(function* (sql, { boundary, collection_id: collection }) {
    yield* sql.unsafe(
      `UPDATE keyword_segments SET state = ${State.garbage} WHERE collection_id = ? AND state = ${State.live} AND id <= ?`,
      [collection, boundary]
    )
    yield* sql.unsafe(
      `UPDATE keyword_segments SET state = ${State.live} WHERE collection_id = ? AND state = ${State.waiting}`,
      [collection]
    )
  })
}

const codedRows = 4 * blockRows

const rebuilt = (collection: number): SetKey => ({ collection, generation: "rebuilt" })

const vectorsOf = (sql: Sql, collection: number) => vectorsIn(sql, vectorTable(sql).of(collection), rebuilt(collection))

const hasCodes = (sql: Sql, collection: number) =>
  Effect.map(vectorsOf(sql, collection).countUpTo(codesFrom), (count) => count >= codesFrom)

const codes: Derived = {
  version: [codesFormat, 0],

  drop: (sql, collection) =>
    Effect.flatMap(hasCodes(sql, collection), (some) =>
      sql.unsafe(
        some
          ? "UPDATE code_sets SET format = 0 WHERE collection_id = ? AND generation = 'current'"
          : "DELETE FROM code_sets WHERE collection_id = ? AND generation = 'current'",
        [collection]
      )
    ),

  begin: Effect.fnUntraced(function* (sql, collection) {
    yield* retireCodes(sql, rebuilt(collection))
    const [known] = yield* sql.unsafe<{ readonly dimensions: number; readonly passages: number }>(
      "SELECT dimensions, passages FROM collections WHERE id = ?",
      [collection]
    )
    const { dimensions, passages } = known!
    const set = yield* codesOn(sql).create(rebuilt(collection), dimensions)
    yield* beginEpoch(codesOn(sql), set, vectorsOf(sql, collection), { epoch: 1, rows: passages })
  }),

  advance: Effect.fnUntraced(function* (sql, { collection_id: collection, through }) {
    const store = codesOn(sql)
    const set = Option.getOrUndefined(yield* store.find(rebuilt(collection)))
    if (set === undefined) return undefined
    const some = yield* vectorsOf(sql, collection).after(through, codedRows, set.width)
    if (some.length === 0) return undefined
    const { centroid } = (yield* store.centroids(set)).find(({ epoch }) => epoch === 1)!
    yield* append(store, set, 1, encoder(set).encode(some, centroid))
    yield* store.changed(set, some.length)
    return { through: some.at(-1)!.id, count: some.length }
  }),

  finish: (sql, { collection_id: collection }) =>
    Effect.zipRight(
      retireCodes(sql, { collection, generation: "current" }),
      sql.unsafe("UPDATE code_sets SET generation = 'current' WHERE collection_id = ? AND generation = 'rebuilt'", [
        collection
      ])
    )
}

const graphPage = 500

/** Has no version of its own: it is made again where it was dropped, since a collection may be without one. */
const graph: Derived = {
  version: [1, 0],

  drop: Effect.fnUntraced(function* (sql, collection) {
    for (const table of edgeTables) yield* sql.unsafe(`DELETE FROM ${table} WHERE collection_id = ?`, [collection])
    yield* sql.unsafe(
      `DELETE FROM graph_passages WHERE passage_id IN (
         SELECT p.id FROM passages AS p JOIN documents AS d ON d.id = p.document_id WHERE d.collection_id = ?)`,
      [collection]
    )
    yield* sql.unsafe("DELETE FROM graph_names WHERE collection_id = ?", [collection])
    yield* begin(sql, collection, "graph")
  }),

  // What an older version meant to do for names alone is then done.
  begin: (sql, collection) =>
    sql.unsafe("DELETE FROM rebuilds WHERE collection_id = ? AND kind = 'names'", [collection]),

  advance: (sql, { collection_id: collection, through }) =>
    Effect.map(renew(sql, collection, through, graphPage), (step) =>
      step.seen === 0 ? undefined : { through: step.through, count: step.seen }
    ),

  finish: (sql, { collection_id: collection }) => keepLinkage(sql, collection)
}

const derived: Record<Kind, Derived> = { postings, codes, graph }

interface Due {
  readonly id: number
  readonly name: CollectionName
  readonly passages: number
  readonly kind: Kind
  readonly done: number
  readonly missing: number
}

/** Derived data that a later version has made or is making. */
const laterRows = `SELECT collection_id AS collection, 'postings' AS kind FROM keyword_segments
  WHERE state = ${State.live} AND (format > ${postingsFormat} OR terms_version > ${termsVersion})
  UNION SELECT collection_id, 'codes' FROM code_sets WHERE generation = 'current' AND format > ${codesFormat}
  ${Object.entries(derived)
    .map(
      ([kind, { version }]) =>
        `UNION SELECT collection_id, kind FROM rebuilds
         WHERE kind = '${kind}' AND (format > ${version[0]} OR terms_version > ${version[1]})`
    )
    .join(" ")}`

/** Derived data, by their collections, that are a later version's to rebuild. */
export const later = (sql: Sql) => sql.unsafe<{ readonly collection: number; readonly kind: Kind }>(laterRows)

/**
 * Derived data that earlier versions made, or that are missing, as recorded in segments and sets of codes, or were
 * dropped; what a later version has in hand is left to it, or the two would undo each other's work. A collection with
 * few vectors needs no codes.
 */
const due = (sql: Sql) =>
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
         UNION ALL
         SELECT DISTINCT collection_id, 'graph', 0 FROM rebuilds WHERE kind IN ('graph', 'names')
       ) AS k JOIN collections AS c ON c.id = k.collection_id
       LEFT JOIN rebuilds AS r ON r.collection_id = c.id AND r.kind = k.kind
       WHERE NOT EXISTS (SELECT 1 FROM (${laterRows}) AS l WHERE l.collection = c.id AND l.kind = k.kind)
       ORDER BY k.missing DESC, c.passages, c.id, k.kind DESC`
    ),
    Effect.filter(({ id, kind }) => (kind === "codes" ? hasCodes(sql, id) : Effect.succeed(true)))
  )

const toRebuild = ({ done, kind, missing, name, passages }: Due): Rebuild => ({
  collection: name,
  kind,
  done: Math.min(done, passages),
  total: passages,
  missing: missing === 1
})

/** What to rebuild, with what is missing entirely first. */
export const pending = (sql: Sql) => Effect.map(due(sql), (rows) => rows.map(toRebuild))

const position = (sql: Sql, collection: number, kind: Kind) =>
  Effect.map(
    sql.unsafe<Position>(
      `SELECT collection_id, through, until, boundary FROM rebuilds
       WHERE collection_id = ? AND kind = ? AND format = ? AND terms_version = ?`,
      [collection, kind, ...derived[kind].version]
    ),
    ([row]) => row
  )

const begin = Effect.fnUntraced(function* (sql: Sql, collection: number, kind: Kind) {
  const known = yield* position(sql, collection, kind)
  if (known !== undefined) return known
  yield* derived[kind].begin(sql, collection)
  // Ids rise, so this version makes everything from now on: only what exists now must be rebuilt.
  yield* sql.unsafe(
    `INSERT INTO rebuilds (collection_id, kind, format, terms_version, until, boundary)
     VALUES (?, ?, ?, ?, (SELECT coalesce(max(id), 0) FROM passages), (SELECT coalesce(max(id), 0) FROM keyword_segments))
     ON CONFLICT (collection_id, kind) DO UPDATE SET format = excluded.format, terms_version = excluded.terms_version,
       until = excluded.until, boundary = excluded.boundary, through = 0, done = 0`,
    [collection, kind, ...derived[kind].version]
  )
  return (yield* position(sql, collection, kind))!
})

/** Drops derived data of a collection; the next steps make them anew. */
export const drop = Effect.fnUntraced(function* (sql: Sql, collection: number, kind: Kind) {
  yield* sql.unsafe("DELETE FROM rebuilds WHERE collection_id = ? AND kind = ?", [collection, kind])
  yield* derived[kind].drop(sql, collection)
})

/**
 * Does a little of the rebuilding, in the caller's transaction, which holds the write lock; returns the progress, or
 * undefined if nothing is due. Any process may do the next step. Readers use the old data until all of a collection's
 * new data exist.
 */
export const step = Effect.fnUntraced(function* (sql: Sql) {
  const [next] = yield* due(sql)
  if (next === undefined) return undefined
  const { id, kind } = next
  const at = yield* begin(sql, id, kind)
  const made = yield* derived[kind].advance(sql, at)
  if (made !== undefined) {
    yield* sql.unsafe("UPDATE rebuilds SET through = ?, done = done + ? WHERE collection_id = ? AND kind = ?", [
      made.through,
      made.count,
      id,
      kind
    ])
    return toRebuild({ ...next, done: next.done + made.count })
  }
  yield* derived[kind].finish(sql, at)
  yield* sql.unsafe("DELETE FROM rebuilds WHERE collection_id = ? AND kind = ?", [id, kind])
  return toRebuild({ ...next, done: next.passages })
})
