import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { HeldVectors } from "../../codes/HeldVectors.ts"
import { damaged } from "../../model/Damaged.ts"
import { crcOf } from "../crc.ts"
import type { Scored, Vector } from "../../model/Passage.ts"
import { list } from "../sql/rows.ts"
import { knownOf, unchanged } from "../sql/unchanged.ts"
import { vectorTable } from "../sql/vectorTable.ts"
import { type Direction, measureBy } from "../core/direction.ts"
import { type Scoring } from "../sql/vectors.ts"

const batch = 1024

/** Bytes of vectors that a connection holds, of each width: all that the main thread searches, with the packaged model. */
const heldBytes = 20 * 1024 * 1024

interface Read {
  readonly vectors: Uint8Array | null
  readonly sums: string
}

/** Of all rows at once, since transferring a row costs more than comparing it. */
const columns =
  "CAST(group_concat(vector, '') AS BLOB) AS vectors, json_group_array(json_array(passage_id, length(vector), crc)) AS sums"

/** Calls `use` with each vector, compared with its checksum. */
const compare = ({ sums, vectors }: Read, use: (id: number, vector: Uint8Array) => void): number => {
  const found = JSON.parse(sums) as ReadonlyArray<readonly [number, number, number | null]>
  let at = 0
  for (const [id, length, crc] of found) {
    const vector = length === 0 ? new Uint8Array(0) : vectors!.subarray(at, at + length)
    if (crc !== null && crcOf(vector, id) !== crc) damaged(`the vector of passage ${id} has changed`)
    use(id, vector)
    at += length
  }
  return found.length
}

/** Passages of the collection without a vector must be known to have none. */
const silent = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  passages: ReadonlyArray<number>
) {
  const [missing] = yield* sql.unsafe<{ readonly id: number }>(
    `SELECT p.id FROM json_each(?) AS asked CROSS JOIN passages AS p ON p.id = asked.value
       CROSS JOIN documents AS d ON d.id = p.document_id
     WHERE d.collection_id = ?
       AND NOT EXISTS (SELECT 1 FROM vectorless WHERE passage_id = p.id AND generation = 'current') LIMIT 1`,
    [list(passages), collection]
  )
  if (missing !== undefined) damaged(`the vector of passage ${missing.id} is missing`)
})

/** Calls `use` with the vectors of all passages of a collection, which has so many, by rising ids. */
const readWhole = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  passages: number,
  use: (id: number, vector: Uint8Array) => void
) {
  let count = 0
  for (let after = -1; ;) {
    const [row] = yield* sql.unsafe<Read>(
      `SELECT ${columns} FROM (SELECT passage_id, vector, crc FROM vectors_${collection}
       WHERE passage_id > ? ORDER BY passage_id LIMIT ${batch})`,
      [after]
    )
    const read = compare(row!, (id, vector) => {
      after = id > after ? id : damaged(`the vector of passage ${id} is out of order`)
      use(id, vector)
    })
    count += read
    if (read < batch) break
  }
  const [without] = yield* sql.unsafe<{ readonly count: number }>(
    `SELECT count(*) AS count FROM vectorless AS v CROSS JOIN passages AS p ON p.id = v.passage_id
       CROSS JOIN documents AS d ON d.id = p.document_id WHERE v.generation = 'current' AND d.collection_id = ?`,
    [collection]
  )
  const missing = passages - count - without!.count
  if (missing > 0) damaged(`${missing} of ${passages} vectors are missing`)
})

/** Vectors without a checksum, which an older version stored, are only noticed by their length. */
const differently = "a vector has a different length from the others"

const comparable = <A, R>(effect: Effect.Effect<A, SqlError, R>): Effect.Effect<A, SqlError, R> =>
  Effect.catchTag(effect, "SqlError", (error) =>
    /vector|blob/i.test(String((error.cause as Error | undefined)?.message))
      ? Effect.sync(() => damaged(differently))
      : Effect.fail(error)
  )

const blob = (vector: Vector) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)

/** The score and its parameters, from the vectors as stored. */
const scoreBy = ({ off, scale, toward }: ReturnType<typeof measureBy>) =>
  off === undefined
    ? { similarity: "1 - vec_distance_cosine(vector, ?) AS score", given: [blob(toward)] }
    : {
        // A vector without a direction has none after the subtraction either.
        similarity: "iif(vector = ?, NULL, 1 - vec_distance_cosine(vec_sub(vector, ?), ?) * ?) AS score",
        given: [blob(new Float32Array(off.length)), blob(off), blob(toward), scale]
      }

type Among = ArrayLike<number> | { readonly all: number }

/**
 * Scores vectors in memory, where those read last are held until somebody writes, or by sqlite-vec in the database those of
 * a whole collection that memory has no room for. Both give the same. Each is compared with its checksum when it is read;
 * those that are altered or missing are damage.
 */
export const makeScoring = (mostBytes = heldBytes): Scoring => {
  let state: Map<string, unknown> | undefined
  const held = new Map<number, HeldVectors>()
  /** Passages that have none in a collection, or one without a direction. */
  const without = new Map<number, Set<number>>()
  const forget = () => {
    state = undefined
    without.clear()
    for (const each of held.values()) each.clear()
  }

  const heldOf = (sql: SqlClient.SqlClient, width: number): HeldVectors => {
    const now = knownOf(sql)
    if (now === undefined || now !== state) forget()
    state = now
    const known = held.get(width) ?? new HeldVectors(width, mostBytes)
    held.set(width, known)
    return known
  }

  const withoutIn = (collection: number): Set<number> => {
    const known = without.get(collection) ?? new Set()
    without.set(collection, known)
    return known
  }

  const hold = (vectors: HeldVectors, collection: number, id: number, vector: Uint8Array) => {
    if (vector.length !== 4 * vectors.width) damaged(differently)
    if (vector.every((byte) => byte === 0)) withoutIn(collection).add(id)
    else vectors.add(id, vector, collection)
  }

  /** All passages of a collection that have a vector. */
  const wholeOf = (sql: SqlClient.SqlClient, collection: number, passages: number, vectors: HeldVectors) =>
    unchanged(
      sql,
      `vectors of ${collection}`,
      Effect.suspend(() => {
        const ids: Array<number> = []
        const use = (id: number, vector: Uint8Array) => {
          hold(vectors, collection, id, vector)
          ids.push(id)
        }
        return Effect.as(readWhole(sql, collection, passages, use), ids)
      })
    )

  /** The scores of passages, in their order; NaN without a vector or direction. */
  const scoresOf = Effect.fnUntraced(function* (
    sql: SqlClient.SqlClient,
    collection: number,
    query: ReturnType<typeof measureBy>,
    passages: ArrayLike<number>,
    vectors: HeldVectors
  ) {
    const scores = new Float64Array(passages.length).fill(NaN)
    const { off, scale } = query
    const scaled = (cosine: number) => (off === undefined ? cosine : 1 - (1 - cosine) * scale)
    const places = vectors.placesOf(passages, collection)
    // First, since what is read may take their places.
    vectors.cosines(places, query, (at, cosine) => {
      scores[at] = scaled(cosine)
    })
    const silentHere = withoutIn(collection)
    const unread: Array<number> = []
    for (let at = 0; at < places.length; at++) {
      if (places[at] === -1 && !silentHere.has(passages[at]!)) unread.push(at)
    }
    for (let from = 0; from < unread.length; from += batch) {
      const some = unread.slice(from, from + batch)
      const ids = some.map((at) => passages[at]!)
      const [row] = yield* sql.unsafe<Read>(
        `SELECT ${columns} FROM json_each(?) AS asked CROSS JOIN vectors_${collection} ON passage_id = asked.value`,
        [list(ids)]
      )
      compare(row!, (id, vector) => hold(vectors, collection, id, vector))
      const read = vectors.placesOf(ids, collection)
      const missing = ids.filter((id, at) => read[at] === -1 && !silentHere.has(id))
      if (missing.length > 0) yield* silent(sql, collection, missing)
      for (const passage of missing) silentHere.add(passage)
      vectors.cosines(read, query, (at, cosine) => {
        scores[some[at]!] = scaled(cosine)
      })
    }
    return scores
  })

  /** The passages that have a score, in order; undefined: memory has no room for them. */
  const inMemory = Effect.fnUntraced(function* (
    sql: SqlClient.SqlClient,
    collection: number,
    direction: Direction,
    among: Among
  ) {
    const query = measureBy(direction)
    const vectors = heldOf(sql, query.toward.length)
    if ("all" in among && among.all > vectors.most) return undefined
    const passages = "all" in among ? yield* wholeOf(sql, collection, among.all, vectors) : among
    const scores = yield* scoresOf(sql, collection, query, passages, vectors)
    const found: Array<Scored> = []
    for (let at = 0; at < scores.length; at++) {
      const score = scores[at]!
      if (!Number.isNaN(score)) found.push({ id: passages[at]!, score })
    }
    return found
  })

  /** Those of a whole collection's scored rows that a statement takes; its own parameter is the last. */
  const inDatabase = Effect.fnUntraced(function* (
    sql: SqlClient.SqlClient,
    collection: number,
    query: Direction,
    among: Among,
    statement: (scored: string) => string,
    last: number
  ) {
    yield* unchanged(
      sql,
      `checked vectors of ${collection}`,
      readWhole(sql, collection, (among as { readonly all: number }).all, () => {})
    )
    const { given, similarity } = scoreBy(measureBy(query))
    const rows = yield* sql.unsafe<{ readonly id: number; readonly score: number | null }>(
      statement(`SELECT passage_id AS id, ${similarity} FROM ${vectorTable(sql).of(collection)}`),
      [...given, last]
    )
    return rows.filter((row): row is Scored => row.score !== null)
  })

  const scored = (sql: SqlClient.SqlClient, collection: number, query: Direction, among: ArrayLike<number>) =>
    Effect.map(inMemory(sql, collection, query, among), (found) => found!)

  return {
    forget,
    score: scored,
    top: Effect.fnUntraced(function* (sql, collection, query, among, limit) {
      const found = yield* inMemory(sql, collection, query, among)
      if (found !== undefined) return found.sort((a, b) => b.score - a.score || a.id - b.id).slice(0, limit)
      return yield* inDatabase(sql, collection, query, among, (all) => `${all} ORDER BY score DESC, id LIMIT ?`, limit)
    }, comparable),
    equal: Effect.fnUntraced(function* (sql, collection, query, among, score) {
      const found =
        (yield* inMemory(sql, collection, query, among)) ??
        (yield* inDatabase(sql, collection, query, among, (all) => `SELECT * FROM (${all}) WHERE score = ?`, score))
      return found.flatMap((one) => (one.score === score ? [one.id] : []))
    }, comparable)
  }
}
