import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { damaged } from "../../model/Damaged.ts"
import { crcOf } from "../crc.ts"
import type { Scored, Vector } from "../../model/Passage.ts"
import { list } from "../sql/rows.ts"
import { vectorTable } from "../sql/vectorTable.ts"
import { type Direction, type Scoring, measureBy } from "../sql/vectors.ts"

const batch = 1024

/** Milliseconds after which a vector is compared again, even if nobody has written. */
const longest = 600_000

const chunkBits = 16

interface Table {
  /** A bitmap for each 2^16 numbers of passages. */
  readonly chunks: Map<number, Uint8Array>
  isWhole: boolean
}

interface Read {
  readonly vectors: Uint8Array | null
  readonly sums: string
}

/** Of all rows at once, since transferring a row costs more than comparing it. */
const columns =
  "CAST(group_concat(vector, '') AS BLOB) AS vectors, json_group_array(json_array(passage_id, length(vector), crc)) AS sums"

/**
 * Compares vectors with their checksums before they are scored, each once, and again after another connection has
 * written. Vectors that are altered or missing are damage.
 */
export interface CheckedVectors {
  /** Vectors of some passages; those of the collection must be there, unless their texts have none. */
  readonly some: (
    sql: SqlClient.SqlClient,
    collection: number,
    passages: ArrayLike<number>
  ) => Effect.Effect<void, SqlError>
  /** All vectors of a collection with so many passages. */
  readonly whole: (sql: SqlClient.SqlClient, collection: number, passages: number) => Effect.Effect<void, SqlError>
  /** Forgets all: another table may have a known one's name. */
  readonly forget: () => void
}

export const make = (): CheckedVectors => {
  const tables = new Map<number, Table>()
  let version: number | undefined
  let until = 0

  const current = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number) {
    const [row] = yield* sql.unsafe<{ readonly data_version: number }>("PRAGMA data_version")
    const now = yield* Clock.currentTimeMillis
    if (row!.data_version !== version || now > until) {
      version = row!.data_version
      until = now + longest
      tables.clear()
    }
    let table = tables.get(collection)
    if (table === undefined) tables.set(collection, (table = { chunks: new Map(), isWhole: false }))
    return table
  })

  return {
    forget: () => tables.clear(),

    some: Effect.fnUntraced(function* (sql, collection, passages) {
      const table = yield* current(sql, collection)
      if (table.isWhole) return
      const unseen: Array<number> = []
      for (let at = 0; at < passages.length; at++) {
        const id = passages[at]!
        if (!isIn(table, id)) unseen.push(id)
      }
      for (let from = 0; from < unseen.length; from += batch) {
        const some = unseen.slice(from, from + batch)
        const [row] = yield* sql.unsafe<Read>(
          `SELECT ${columns} FROM json_each(?) AS asked CROSS JOIN vectors_${collection} ON passage_id = asked.value`,
          [list(some)]
        )
        const read = compare(row!)
        if (read.length < some.length) yield* silent(sql, collection, some, read)
        for (const id of some) add(table, id)
      }
    }),

    whole: Effect.fnUntraced(function* (sql, collection, passages) {
      const table = yield* current(sql, collection)
      if (table.isWhole) return
      let count = 0
      for (let after = -1; ;) {
        const [row] = yield* sql.unsafe<Read>(
          `SELECT ${columns} FROM (SELECT passage_id, vector, crc FROM vectors_${collection}
           WHERE passage_id > ? ORDER BY passage_id LIMIT ${batch})`,
          [after]
        )
        const read = compare(row!)
        for (const id of read) after = id > after ? id : damaged(`the vector of passage ${id} is out of order`)
        count += read.length
        if (read.length < batch) break
      }
      const [without] = yield* sql.unsafe<{ readonly count: number }>(
        `SELECT count(*) AS count FROM vectorless AS v CROSS JOIN passages AS p ON p.id = v.passage_id
           CROSS JOIN documents AS d ON d.id = p.document_id WHERE v.generation = 'current' AND d.collection_id = ?`,
        [collection]
      )
      const missing = passages - count - without!.count
      if (missing > 0) damaged(`${missing} of ${passages} vectors are missing`)
      table.isWhole = true
    })
  }
}

const isIn = ({ chunks }: Table, id: number): boolean => {
  const low = id % 2 ** chunkBits
  return (((chunks.get(Math.floor(id / 2 ** chunkBits))?.[low >> 3] ?? 0) >> (low & 7)) & 1) === 1
}

const add = ({ chunks }: Table, id: number): void => {
  const high = Math.floor(id / 2 ** chunkBits)
  let chunk = chunks.get(high)
  if (chunk === undefined) chunks.set(high, (chunk = new Uint8Array(2 ** (chunkBits - 3))))
  const low = id % 2 ** chunkBits
  chunk[low >> 3]! |= 1 << (low & 7)
}

const compare = ({ sums, vectors }: Read): ReadonlyArray<number> => {
  const found = JSON.parse(sums) as ReadonlyArray<readonly [number, number, number | null]>
  let at = 0
  return found.map(([id, length, crc]) => {
    if (crc !== null && crcOf(vectors!.subarray(at, at + length), id) !== crc) {
      damaged(`the vector of passage ${id} has changed`)
    }
    at += length
    return id
  })
}

/** Passages of the collection without a vector must be known to have none. */
const silent = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  asked: ReadonlyArray<number>,
  read: ReadonlyArray<number>
) {
  const there = new Set(read)
  const [missing] = yield* sql.unsafe<{ readonly id: number }>(
    `SELECT p.id FROM json_each(?) AS asked CROSS JOIN passages AS p ON p.id = asked.value
       CROSS JOIN documents AS d ON d.id = p.document_id
     WHERE d.collection_id = ?
       AND NOT EXISTS (SELECT 1 FROM vectorless WHERE passage_id = p.id AND generation = 'current') LIMIT 1`,
    [list(asked.filter((id) => !there.has(id))), collection]
  )
  if (missing !== undefined) damaged(`the vector of passage ${missing.id} is missing`)
})

/** Vectors without a checksum, which an older version stored, are only noticed by their length. */
const comparable = <A, R>(effect: Effect.Effect<A, SqlError, R>): Effect.Effect<A, SqlError, R> =>
  Effect.catchTag(effect, "SqlError", (error) =>
    /vector|blob/i.test(String((error.cause as Error | undefined)?.message))
      ? Effect.sync(() => damaged("a vector has a different length from the others"))
      : Effect.fail(error)
  )

/** The score and its parameters, from the vectors as stored. */
const scoreBy = (query: Direction) => {
  const { off, scale, toward } = measureBy(query)
  return off === undefined
    ? { similarity: "1 - vec_distance_cosine(vector, ?) AS score", given: [blob(toward)] }
    : {
        // A vector without a direction has none after the subtraction either.
        similarity: "iif(vector = ?, NULL, 1 - vec_distance_cosine(vec_sub(vector, ?), ?) * ?) AS score",
        given: [blob(new Float32Array(off.length)), blob(off), blob(toward), scale]
      }
}

const blob = (vector: Vector) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)

/** Scores by sqlite-vec, in the database. */
export const makeScoring = ({ forget, some, whole } = make()): Scoring => {
  /** The passages as a table, and the parameters of a statement that scores them. */
  const scored = Effect.fnUntraced(function* (
    sql: SqlClient.SqlClient,
    collection: number,
    query: Direction,
    among: ArrayLike<number> | { readonly all: number }
  ) {
    const table = vectorTable(sql).of(collection)
    const { given, similarity } = scoreBy(query)
    if ("all" in among) {
      yield* whole(sql, collection, among.all)
      return { from: table, params: given, similarity }
    }
    yield* some(sql, collection, among)
    return {
      from: `json_each(?) AS asked CROSS JOIN ${table} ON passage_id = asked.value`,
      params: [...given, list(Array.from(among))],
      similarity
    }
  })

  return {
    forget,
    score: (sql, collection, query, passages) =>
      comparable(
        Effect.flatMap(scored(sql, collection, query, passages), ({ from, params, similarity }) =>
          sql.unsafe<Scored>(
            `SELECT * FROM (SELECT passage_id AS id, ${similarity} FROM ${from}) WHERE score IS NOT NULL`,
            params
          )
        )
      ),
    top: (sql, collection, query, among, limit) =>
      comparable(
        Effect.flatMap(scored(sql, collection, query, among), ({ from, params, similarity }) =>
          Effect.map(
            sql.unsafe<{ readonly id: number; readonly score: number | null }>(
              `SELECT passage_id AS id, ${similarity} FROM ${from} ORDER BY score DESC, id LIMIT ?`,
              [...params, limit]
            ),
            (rows) => rows.filter((row): row is Scored => row.score !== null)
          )
        )
      ),
    equal: (sql, collection, query, among, score) =>
      comparable(
        Effect.flatMap(scored(sql, collection, query, among), ({ from, params, similarity }) =>
          Effect.map(
            sql.unsafe<{ readonly id: number }>(
              `SELECT id FROM (SELECT passage_id AS id, ${similarity} FROM ${from}) WHERE score = ?`,
              [...params, score]
            ),
            (rows) => rows.map(({ id }) => id)
          )
        )
      )
  }
}
