import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Scanner } from "../../codes/Scanner.ts"
import * as codes from "../../codes/write.ts"
import { limits } from "../../model/Limits.ts"
import type { Mask, Scored, Vector } from "../../model/Passage.ts"
import type { Embedded } from "../../model/Stored.ts"
import { type Direction, measureBy } from "../core/direction.ts"
import { crcOf } from "../crc.ts"
import { idsOf } from "./Masks.ts"
import * as codeSets from "./codes.ts"
import { type Sql, insertRows, list, column } from "./rows.ts"
import type { Among, Scoring } from "./scoring.ts"
import { makeHidden } from "./sweep.ts"
import { type Generation, vectorTable } from "./vectorTable.ts"

const isIn = `EXISTS (
  SELECT 1 FROM passages AS p JOIN documents AS d ON d.id = p.document_id
  WHERE p.id = vectorless.passage_id AND d.collection_id = ?)`

const forgetVectorless = (sql: Sql, collection: number, generation: Generation) =>
  sql.unsafe(`DELETE FROM vectorless WHERE generation = ? AND ${isIn}`, [generation, collection])

/** Hands vectors of a collection and their codes over to be swept; does nothing if there are none. */
export const retire = Effect.fnUntraced(function* (sql: Sql, collection: number, generation: Generation) {
  const handOver = Effect.gen(function* () {
    yield* forgetVectorless(sql, collection, generation)
    const hidden = yield* makeHidden(sql)
    yield* codeSets.moveCodes(sql, { collection, generation }, hidden)
    return hidden
  })
  yield* vectorTable(sql).retire(collection, generation, handOver)
})

/**
 * Replaces the current vectors with the next ones and leaves the old ones to be swept. Vectors of deleted passages are
 * already gone from the next ones.
 */
export const switchOver = Effect.fnUntraced(function* (sql: Sql, collection: number) {
  yield* retire(sql, collection, "current")
  yield* codeSets.switchCodesOver(sql, collection)
  yield* vectorTable(sql).switchOver(collection)
  yield* sql.unsafe(`UPDATE vectorless SET generation = 'current' WHERE generation = 'next' AND ${isIn}`, [collection])
})

/** The location of a collection's vectors. */
export const vectorsOf = (sql: Sql, collection: number, generation: Generation = "current") =>
  codeSets.vectorsIn(sql, vectorTable(sql).of(collection, generation), { collection, generation })

/** A vector as it is stored. */
export const blob = (vector: Vector) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)

/** Stores vectors, and which passages have none. */
export const insert = (
  sql: Sql,
  collection: number,
  given: ReadonlyArray<Embedded>,
  generation: Generation = "current"
): Effect.Effect<void, SqlError> => {
  const rows: Array<{ readonly id: number; readonly vector: Vector }> = []
  const vectorless: Array<object> = []
  for (const { id, vector } of given) {
    if (Option.isSome(vector)) rows.push({ id, vector: vector.value })
    else vectorless.push({ passage_id: id, generation })
  }
  return Effect.all(
    [
      vectorTable(sql).insert(
        collection,
        generation,
        rows.map(({ id: passage_id, vector: given }) => {
          const vector = blob(given)
          return { passage_id, vector, crc: crcOf(vector, passage_id) }
        })
      ),
      insertRows(sql, "vectorless", vectorless),
      codes.insert(codeSets.codesOn(sql), vectorsOf(sql, collection, generation), rows)
    ],
    { discard: true }
  )
}

export const remove = (
  sql: Sql,
  collection: number,
  ids: ReadonlyArray<number>,
  generation: Generation = "current"
): Effect.Effect<unknown, SqlError> =>
  Effect.all(
    [
      vectorTable(sql).remove(collection, generation, ids),
      codes.remove(codeSets.codesOn(sql), vectorsOf(sql, collection, generation), ids),
      generation === "next"
        ? Effect.void
        : codes.remove(codeSets.codesOn(sql), { ...vectorsOf(sql, collection), generation: "rebuilt" }, ids)
    ],
    { discard: true }
  )

/** Passages read beyond those wanted: if no more of them tie with the last one, a single pass is enough. */
const spare = 32

/**
 * The exactly scored best of some of a collection's vectors, best first, with all that tie with the last, or of too many
 * ties the first by their places; and how many tie. A vector without a direction has no score.
 */
const best = Effect.fnUntraced(function* (
  sql: Sql,
  { top }: Scoring,
  collection: number,
  query: Direction,
  among: Among,
  depth: number
) {
  for (let limit = depth + spare; ; limit *= 64) {
    const found = yield* top(sql, collection, query, among, limit)
    const last = found[depth - 1]?.score
    if (last === undefined || found[depth]?.score !== last) return { found: found.slice(0, depth), ties: 1 }
    // More may tie with the last.
    if (found.length === limit && found.at(-1)!.score === last) continue
    const ids = found.flatMap(({ id, score }) => (score === last ? [id] : []))
    return {
      found: [
        ...found.filter(({ score }) => score > last),
        ...(yield* firstOf(sql, ids, depth)).map((id) => ({ id, score: last }))
      ],
      ties: ids.length
    }
  }
})

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
 * with eight times, .997 (bench/million.ts). Larger collections get more.
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
export const search = Effect.fnUntraced(function* (
  sql: Sql,
  searching: { readonly codes: Scanner; readonly scoring: Scoring; readonly vectors: VectorOptions },
  collection: number,
  query: Direction,
  { depth, mask, passages }: { readonly depth: number; readonly mask: Mask | undefined; readonly passages: number }
) {
  const { exact, exactBelow, finerBytes = 0, oversample } = searching.vectors
  const hasFiner = finerBytes > 0
  const among = (ids: Among) => best(sql, searching.scoring, collection, query, ids, depth)

  const few = exact || passages < (exactBelow ?? (hasFiner ? 0 : manyFrom))
  const left = mask?.count ?? passages
  const wanted = Math.ceil(
    Math.max(depth, limits.legDepth) * (oversample === "auto" ? autoOversample(left) : oversample)
  )
  // Reading so few takes about as long as finding the best of many.
  const candidates = hasFiner ? keptOf(depth) : 2 * wanted
  if (mask !== undefined && (few || mask.count < Math.min(candidates, exactBelow ?? Infinity))) {
    return (yield* among(idsOf(mask.bits))).found
  }
  // Equal vectors have different estimates around different centroids, so with many ties some may not be candidates.
  let before = 0
  for (const asked of few ? [] : widened(depth, wanted, left)) {
    const found = yield* searching.codes.nearest(codeSets.codesOn(sql), collection, measureBy(query).toward, {
      ...asked,
      mask: mask?.bits
    })
    if (Option.isNone(found)) break
    const { length } = found.value
    if (length === before) continue
    before = length
    const some = yield* among(found.value)
    const spared = length < asked.wanted ? length - depth : asked.wanted
    if (2 * some.ties < spared || length === left) return some.found
  }
  return (yield* among(mask === undefined ? { all: passages } : idsOf(mask.bits))).found
})

/** Makes some of the finer codes that searches can use; false: there are none left to make. */
export const refine = (sql: Sql, codes: Scanner) =>
  codes.refine(codeSets.codesOn(sql), (collection) => vectorsOf(sql, collection))

/** Most equals that are returned, for their places to be looked up; of more, only the first. */
const mostTied = (depth: number): number => 2 * depth

/** All of these passages with equal scores; of too many, the first `depth` by their places. */
const firstOf = (sql: Sql, ids: ReadonlyArray<number>, depth: number): Effect.Effect<ReadonlyArray<number>, SqlError> =>
  ids.length <= mostTied(depth)
    ? Effect.succeed(ids)
    : column(
        sql,
        `SELECT p.id FROM json_each(?) AS asked CROSS JOIN passages AS p ON p.id = asked.value
           CROSS JOIN documents AS d ON d.id = p.document_id CROSS JOIN collections AS c ON c.id = d.collection_id
         ORDER BY d.doc_id, c.name, p.ordinal LIMIT ?`,
        [list(ids), depth]
      )

/** Passages by falling scores. Of too many that tie with the one at `depth`, only the first and those asked for. */
export const thinned = Effect.fnUntraced(function* (
  sql: Sql,
  scored: ReadonlyArray<Scored>,
  depth: number,
  asked: ReadonlyArray<number>
) {
  const last = scored[depth - 1]?.score
  const tied: Array<number> = []
  for (const { id, score } of scored) if (score === last) tied.push(id)
  if (tied.length <= mostTied(depth)) return scored
  const kept = new Set([...(yield* firstOf(sql, tied, depth)), ...asked])
  return scored.filter(({ id, score }) => score !== last || kept.has(id))
})
