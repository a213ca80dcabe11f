import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { limits } from "../../model/Limits.ts"
import type { Vector } from "../../model/Passage.ts"
import type { Scored } from "../../model/Scored.ts"
import { crcOf } from "../crc.ts"
import { damaged } from "../../model/Damaged.ts"
import type { Scanner } from "../../codes/Scanner.ts"
import * as codeSets from "./codes/sets.ts"
import { codesOn, vectorsIn } from "./codes.ts"
import * as codes from "../../codes/write.ts"
import type { Mask } from "../../model/Mask.ts"
import { passagesIn } from "./PassageRanges.ts"
import { firstOf } from "./ties.ts"
import { inList, insertRows, list } from "./rows.ts"
import type { CheckedVectors } from "./checkedVectors.ts"
import { makeHidden } from "./sweep.ts"

/** A collection's vectors; `next` are those of the embedder it is changing to. */
export type Generation = "current" | "next"

/** The table of a collection's vectors. */
export const tableOf = (collection: number, generation: Generation = "current") =>
  generation === "current" ? `vectors_${collection}` : `vectors_${collection}_next`

/** Float32 vectors as little-endian BLOBs, separate from the texts, so that a scan reads nothing else. */
export const create = (
  sql: SqlClient.SqlClient,
  collection: number,
  generation?: Generation
): Effect.Effect<unknown, SqlError> =>
  sql.unsafe(
    `CREATE TABLE ${tableOf(collection, generation)} (passage_id INTEGER PRIMARY KEY, vector BLOB NOT NULL, crc INTEGER) STRICT`
  )

/** Forgets which passages of a collection have no vector. */
const forgetSilent = (sql: SqlClient.SqlClient, collection: number, generation: Generation) =>
  sql.unsafe(
    `DELETE FROM vectorless WHERE generation = ? AND EXISTS (
       SELECT 1 FROM passages AS p JOIN documents AS d ON d.id = p.document_id
       WHERE p.id = vectorless.passage_id AND d.collection_id = ?)`,
    [generation, collection]
  )

/** Hands vectors of a collection and their codes over to be swept; does nothing if there are none. */
export const retire = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  generation: Generation
) {
  const [there] = yield* sql.unsafe("SELECT 1 FROM pragma_table_info(?) LIMIT 1", [tableOf(collection, generation)])
  if (there === undefined) return
  yield* forgetSilent(sql, collection, generation)
  const hidden = yield* makeHidden(sql)
  yield* codeSets.move(sql, { collection, generation }, hidden)
  yield* sql.unsafe(`ALTER TABLE ${tableOf(collection, generation)} RENAME TO ${tableOf(hidden)}`)
})

/**
 * Replaces the current vectors with the next ones and leaves the old ones to be swept. Vectors of deleted passages are
 * already gone from the next ones.
 */
export const switchOver = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number) {
  yield* retire(sql, collection, "current")
  yield* codeSets.switchOver(sql, collection)
  yield* sql.unsafe(`ALTER TABLE ${tableOf(collection, "next")} RENAME TO ${tableOf(collection)}`)
  yield* sql.unsafe(
    `UPDATE vectorless SET generation = 'current' WHERE generation = 'next' AND EXISTS (
       SELECT 1 FROM passages AS p JOIN documents AS d ON d.id = p.document_id
       WHERE p.id = vectorless.passage_id AND d.collection_id = ?)`,
    [collection]
  )
})

/** The location of a collection's vectors. */
export const vectorsOf = (sql: SqlClient.SqlClient, collection: number, generation: Generation = "current") =>
  vectorsIn(sql, tableOf(collection, generation), { collection, generation })

const blob = (vector: Vector) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)

/** A passage and its vector; none: its text has none. */
export interface Embedded {
  readonly id: number
  readonly vector: Option.Option<Vector>
}

/** Stores vectors, and which passages have none. */
export const insert = (
  sql: SqlClient.SqlClient,
  collection: number,
  given: ReadonlyArray<Embedded>,
  generation: Generation = "current"
): Effect.Effect<void, SqlError> => {
  const rows: Array<{ readonly id: number; readonly vector: Vector }> = []
  const silent: Array<ReadonlyArray<unknown>> = []
  for (const { id, vector } of given) {
    if (Option.isSome(vector)) rows.push({ id, vector: vector.value })
    else silent.push([id, generation])
  }
  return Effect.all(
    [
      insertRows(
        sql,
        tableOf(collection, generation),
        ["passage_id", "vector", "crc"],
        rows.map((row) => {
          const bytes = blob(row.vector)
          return [row.id, bytes, crcOf(bytes, row.id)]
        })
      ),
      insertRows(sql, "vectorless", ["passage_id", "generation"], silent),
      codes.insert(codesOn(sql), vectorsOf(sql, collection, generation), rows)
    ],
    { discard: true }
  )
}

export const remove = (
  sql: SqlClient.SqlClient,
  collection: number,
  ids: ReadonlyArray<number>,
  generation?: Generation
): Effect.Effect<unknown, SqlError> =>
  Effect.all(
    [
      sql.unsafe(`DELETE FROM ${tableOf(collection, generation)} WHERE passage_id ${inList}`, [list(ids)]),
      codes.remove(codesOn(sql), vectorsOf(sql, collection, generation), ids),
      generation === "next"
        ? Effect.void
        : codes.remove(codesOn(sql), { ...vectorsOf(sql, collection), generation: "rebuilt" }, ids)
    ],
    { discard: true }
  )

/** Vectors without a checksum, which an older version stored, are only noticed by their length. */
const comparable = <A, R>(effect: Effect.Effect<A, SqlError, R>): Effect.Effect<A, SqlError, R> =>
  Effect.catchTag(effect, "SqlError", (error) =>
    /vector|blob/i.test(String((error.cause as Error | undefined)?.message))
      ? Effect.sync(() => damaged("a vector has a different length from the others"))
      : Effect.fail(error)
  )

const similarity = "1 - vec_distance_cosine(vector, ?) AS score"

/** Passages read beyond those wanted: if no more of them tie with the last one, a single pass is enough. */
const spare = 32

/**
 * The exactly scored best of some of a table's vectors, best first, with all that tie with the last, or of too many
 * ties the first by their places; and how many tie. A vector without a direction has no score.
 */
const best = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  from: string,
  params: ReadonlyArray<unknown>,
  depth: number
) {
  const rows = yield* sql.unsafe<{ readonly id: number; readonly score: number | null }>(
    `SELECT passage_id AS id, ${similarity} FROM ${from} ORDER BY score DESC, id LIMIT ?`,
    [...params, depth + spare]
  )
  const found = rows.filter((row): row is Scored => row.score !== null)
  const last = found[depth - 1]?.score
  if (last === undefined || found[depth]?.score !== last) return { found: found.slice(0, depth), ties: 1 }
  const equal =
    rows.length < depth + spare || found.at(-1)!.score < last
      ? found.filter(({ score }) => score === last)
      : yield* sql.unsafe<{ readonly id: number }>(
          `SELECT id FROM (SELECT passage_id AS id, ${similarity} FROM ${from}) WHERE score = ?`,
          [...params, last]
        )
  const ids = equal.map(({ id }) => id)
  return {
    found: [
      ...found.filter(({ score }) => score > last),
      ...(yield* firstOf(sql, ids, depth)).map((id) => ({ id, score: last }))
    ],
    ties: ids.length
  }
})

type Checks = Pick<CheckedVectors, "some" | "whole">

/** Options of a vector search; see `[vector]` in the configuration. */
export interface VectorOptions {
  /** Candidates scored exactly, as a multiple of the passages that the leg ranks. */
  readonly oversample: "auto" | number
  readonly exact: boolean
  /** Collections with fewer passages are scored exactly, without codes. */
  readonly exactBelow?: number | undefined
  /** The memory for finer codes of the vectors; default 0: none are made. */
  readonly finerBytes?: number | undefined
}

export const defaults: VectorOptions = { oversample: "auto", exact: false }

/** Reading fewer in the order they are stored takes about as long as reading the candidates of more. */
const manyFrom = 3000

/**
 * Seven and a half times the 200 that a leg ranks. With five times, recall@10 was .987 to .995 at a million passages;
 * with eight times, .997 (bench/scan.ts and bench/million.ts). Larger collections get more.
 */
const autoOversample = (passages: number): number => 7.5 * Math.max(1, Math.sqrt(passages / 400_000))

/**
 * Candidates that are scored exactly if finer codes have ranked them. Of the exact best 200 among 200,000 passages, the
 * last one had place 434 by these codes in one of a hundred queries (bench/finer.ts).
 */
const keptOf = (depth: number): number => 2 * (depth + spare)

/**
 * The numbers of candidates to ask for, one after another, while equals may be missing; first those that finer codes
 * leave.
 */
const widened = (depth: number, wanted: number, left: number) => {
  const all: Array<{ readonly wanted: number; readonly kept?: number }> = [{ wanted, kept: keptOf(depth) }, { wanted }]
  for (let most = 8 * wanted; 2 * most < left; most *= 8) all.push({ wanted: most })
  return all
}

/**
 * The nearest passages by cosine similarity, best first, with all that tie with the last one, or of too many ties the
 * first by their places. Few passages are scored exactly; of many, the codes give candidates, which are then scored
 * exactly.
 */
export const search = (...args: Parameters<typeof find>) => Effect.map(comparable(find(...args)), ({ found }) => found)

const find = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  searching: { readonly codes: Scanner; readonly checked: Checks; readonly vectors: VectorOptions },
  collection: number,
  query: Vector,
  { depth, mask, passages }: { readonly depth: number; readonly mask: Mask | undefined; readonly passages: number }
) {
  const { exact, exactBelow, finerBytes = 0, oversample } = searching.vectors
  const hasFiner = finerBytes > 0
  const among = (ids: Uint32Array) =>
    Effect.zipRight(
      searching.checked.some(sql, collection, ids),
      best(
        sql,
        `json_each(?) AS asked CROSS JOIN ${tableOf(collection)} ON passage_id = asked.value`,
        [blob(query), `[${ids.join(",")}]`],
        depth
      )
    )

  const few = exact || passages < (exactBelow ?? (hasFiner ? 0 : manyFrom))
  const left = mask?.count ?? passages
  const wanted = Math.ceil(
    Math.max(depth, limits.legDepth) * (oversample === "auto" ? autoOversample(left) : oversample)
  )
  // Reading so few takes about as long as finding the best of many.
  const candidates = hasFiner ? keptOf(depth) : 2 * wanted
  if (mask !== undefined && (few || mask.count < Math.min(candidates, exactBelow ?? Infinity))) {
    return yield* among(passagesIn(mask))
  }
  // Equal vectors have different estimates around different centroids, so with many ties some may not be candidates.
  let before = 0
  for (const asked of few ? [] : widened(depth, wanted, left)) {
    const found = yield* searching.codes.nearest(codesOn(sql), collection, query, { ...asked, mask: mask?.bits })
    if (Option.isNone(found)) break
    const { length } = found.value
    if (length === before) continue
    before = length
    const some = yield* among(found.value)
    const spared = length < asked.wanted ? length - depth : asked.wanted
    if (2 * some.ties < spared || length === left) return some
  }
  if (mask !== undefined) return yield* among(passagesIn(mask))
  yield* searching.checked.whole(sql, collection, passages)
  return yield* best(sql, tableOf(collection), [blob(query)], depth)
})

/** Makes some of the finer codes that searches can use; false: there are none left to make. */
export const refine = (sql: SqlClient.SqlClient, codes: Scanner) =>
  codes.refine(codesOn(sql), (collection) => vectorsOf(sql, collection))

/** The similarity of given passages that have a vector with a direction. */
export const score = (
  sql: SqlClient.SqlClient,
  { checked }: { readonly checked: Checks },
  collection: number,
  query: Vector,
  ids: ReadonlyArray<number>
): Effect.Effect<ReadonlyArray<Scored>, SqlError> =>
  comparable(
    Effect.zipRight(
      checked.some(sql, collection, ids),
      sql.unsafe<Scored>(
        `SELECT * FROM (SELECT passage_id AS id, ${similarity} FROM ${tableOf(collection)} WHERE passage_id ${inList})
         WHERE score IS NOT NULL`,
        [blob(query), list(ids)]
      )
    )
  )
