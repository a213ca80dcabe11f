import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { damaged } from "../../model/Damaged.ts"
import type { Scored } from "../../model/Passage.ts"
import { crcOf } from "../crc.ts"
import { toVector } from "../sql/codes.ts"
import { inList, list } from "../sql/rows.ts"
import { vectorTable } from "../sql/vectorTable.ts"
import { type Direction, dot, measureBy } from "../core/direction.ts"
import { type Scoring } from "../sql/vectors.ts"

/** Vectors that are read at once. */
const batch = 4096

interface Row {
  readonly passage_id: number
  readonly vector: Uint8Array
  readonly crc: number | null
}

const normOf = (vector: Float32Array): number => Math.sqrt(dot(vector, vector))

/** A vector and its length; undefined: the passage has none. */
type Known = { readonly vector: Float32Array; readonly norm: number } | undefined

/**
 * Scores vectors in this process. A vector never changes under its set and passage, so those read before are kept, the
 * last used ones of them up to `mostBytes`; each is compared with its checksum when it is read.
 */
export const makeScoring = (mostBytes: number): Scoring => {
  const kept = new Map<string, Known>()
  let bytes = 0

  const keep = (key: string, known: Known): void => {
    kept.set(key, known)
    bytes += 200 + (known?.vector.byteLength ?? 0)
    for (const [oldest, other] of kept) {
      if (bytes <= mostBytes) break
      kept.delete(oldest)
      bytes -= 200 + (other?.vector.byteLength ?? 0)
    }
  }

  const setOf = (sql: SqlClient.SqlClient, collection: number) =>
    Effect.map(
      sql.unsafe<{ readonly id: number }>(
        "SELECT id FROM vector_sets WHERE collection_id = ? AND generation = 'current'",
        [collection]
      ),
      ([set]) => set?.id ?? 0
    )

  const known = Effect.fnUntraced(function* (
    sql: SqlClient.SqlClient,
    collection: number,
    passages: ArrayLike<number>
  ) {
    const set = yield* setOf(sql, collection)
    const found = new Map<number, NonNullable<Known>>()
    const unread: Array<number> = []
    const use = (passage: number, one: Known) => {
      if (one !== undefined) found.set(passage, one)
    }
    for (const passage of Array.from(passages)) {
      const key = `${set} ${passage}`
      if (!kept.has(key)) {
        unread.push(passage)
        continue
      }
      const one = kept.get(key)
      kept.delete(key)
      kept.set(key, one)
      use(passage, one)
    }
    for (let from = 0; from < unread.length; from += batch) {
      const some = unread.slice(from, from + batch)
      const rows = yield* sql.unsafe<Row>(
        `SELECT passage_id, vector, crc FROM ${vectorTable(sql).of(collection)} AS v WHERE passage_id ${inList}`,
        [list(some)]
      )
      const there = new Map(rows.map((row) => [row.passage_id, row]))
      const missing = some.filter((passage) => !there.has(passage))
      if (missing.length > 0) yield* silent(sql, collection, missing)
      for (const passage of some) {
        const row = there.get(passage)
        if (row !== undefined && row.crc !== null && crcOf(row.vector, passage) !== row.crc) {
          damaged(`the vector of passage ${passage} has changed`)
        }
        const vector = row === undefined ? undefined : toVector(row.vector)
        const one = vector === undefined ? undefined : { vector, norm: normOf(vector) }
        keep(`${set} ${passage}`, one)
        use(passage, one)
      }
    }
    return found
  })

  const all = (sql: SqlClient.SqlClient, collection: number) =>
    Effect.map(
      sql.unsafe<{ readonly passage_id: number }>(`SELECT passage_id FROM ${vectorTable(sql).of(collection)} AS v`),
      (rows) => rows.map(({ passage_id }) => passage_id)
    )

  const scored = Effect.fnUntraced(function* (
    sql: SqlClient.SqlClient,
    collection: number,
    query: Direction,
    among: ArrayLike<number> | { readonly all: number }
  ) {
    const passages = "all" in among ? yield* all(sql, collection) : among
    const vectors = yield* known(sql, collection, passages)
    const { off, scale, toward } = measureBy(query)
    const norm = normOf(toward)
    const [offSquare, offToward] = off === undefined ? [0, 0] : [dot(off, off), dot(off, toward)]
    const found: Array<Scored> = []
    for (const [id, { norm: raw, vector }] of vectors) {
      if (vector.length !== toward.length) damaged("a vector has a different length from the others")
      // The length of x - o, from x·x - 2 x·o + o·o.
      const own = off === undefined ? raw : Math.sqrt(Math.max(0, raw * raw - 2 * dot(vector, off) + offSquare))
      const cosine = (dot(vector, toward) - offToward) / (own * norm)
      if (raw > 0 && own > 0 && norm > 0) found.push({ id, score: 1 - (1 - cosine) * scale })
    }
    return found
  })

  return {
    score: scored,
    top: (sql, collection, query, among, limit) =>
      Effect.map(scored(sql, collection, query, among), (found) =>
        found.sort((a, b) => b.score - a.score || a.id - b.id).slice(0, limit)
      ),
    equal: (sql, collection, query, among, score) =>
      Effect.map(scored(sql, collection, query, among), (found) =>
        found.flatMap((one) => (one.score === score ? [one.id] : []))
      ),
    forget: () => {}
  }
}

/** Passages of the collection without a vector must be known to have none. */
const silent = (
  sql: SqlClient.SqlClient,
  collection: number,
  passages: ReadonlyArray<number>
): Effect.Effect<void, SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly id: number }>(
      `SELECT p.id FROM passages AS p JOIN documents AS d ON d.id = p.document_id
       WHERE p.id ${inList} AND d.collection_id = ?
         AND NOT EXISTS (SELECT 1 FROM vectorless WHERE passage_id = p.id AND generation = 'current') LIMIT 1`,
      [list(passages), collection]
    ),
    ([missing]) => {
      if (missing !== undefined) damaged(`the vector of passage ${missing.id} is missing`)
    }
  )
