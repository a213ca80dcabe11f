import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { roomFor } from "../../codes/HeldVectors.ts"
import { damaged } from "../../model/Damaged.ts"
import { crcOf } from "../crc.ts"
import type { Scored } from "../../model/Passage.ts"
import { type Sql, list, only } from "../sql/rows.ts"
import { knownOf, unchanged } from "../sql/unchanged.ts"
import { vectorTable } from "../sql/vectorTable.ts"
import { blob } from "../sql/vectors.ts"
import { type Direction, measureBy } from "../core/direction.ts"
import { type Scoring, type Use, type Vectors, differently, inMemory } from "../sql/scoring.ts"

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
const compare = ({ sums, vectors }: Read, use: Use): number => {
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

/** Calls `use` with the vectors of all passages of a collection, which has so many, by rising ids. */
const readWhole = Effect.fnUntraced(function* (sql: Sql, collection: number, passages: number, use: Use) {
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
  const without = yield* only<number>(
    sql,
    `SELECT count(*) AS count FROM vectorless AS v CROSS JOIN passages AS p ON p.id = v.passage_id
       CROSS JOIN documents AS d ON d.id = p.document_id WHERE v.generation = 'current' AND d.collection_id = ?`,
    [collection]
  )
  const missing = passages - count - without
  if (missing > 0) damaged(`${missing} of ${passages} vectors are missing`)
})

const comparable = <A, R>(effect: Effect.Effect<A, SqlError, R>): Effect.Effect<A, SqlError, R> =>
  Effect.catchTag(effect, "SqlError", (error) =>
    /vector|blob/i.test(String((error.cause as Error | undefined)?.message))
      ? Effect.sync(() => damaged(differently))
      : Effect.fail(error)
  )

/** The score and its parameters, from the vectors as stored. */
const scoreBy = ({ off, scale, toward }: ReturnType<typeof measureBy>) =>
  off === undefined
    ? { similarity: "1 - vec_distance_cosine(vector, ?) AS score", given: [blob(toward)] }
    : {
        // A vector without a direction has none after the subtraction either.
        similarity: "iif(vector = ?, NULL, 1 - vec_distance_cosine(vec_sub(vector, ?), ?) * ?) AS score",
        given: [blob(new Float32Array(off.length)), blob(off), blob(toward), scale]
      }

const vectors: Vectors = {
  state: knownOf,
  some: (sql, collection, passages, use) =>
    Effect.map(
      sql.unsafe<Read>(
        `SELECT ${columns} FROM json_each(?) AS asked CROSS JOIN vectors_${collection} ON passage_id = asked.value`,
        [list(passages)]
      ),
      ([row]) => void compare(row!, use)
    ),
  whole: (sql, collection, passages, use) =>
    unchanged(
      sql,
      `vectors of ${collection}`,
      Effect.suspend(() => {
        const ids: Array<number> = []
        const take: Use = (id, vector) => {
          use(id, vector)
          ids.push(id)
        }
        return Effect.as(readWhole(sql, collection, passages, take), ids)
      })
    )
}

/** The best of a whole collection, by sqlite-vec. */
const inDatabase = Effect.fnUntraced(function* (
  sql: Sql,
  collection: number,
  query: Direction,
  passages: number,
  limit: number
) {
  yield* unchanged(
    sql,
    `checked vectors of ${collection}`,
    readWhole(sql, collection, passages, () => {})
  )
  const { given, similarity } = scoreBy(measureBy(query))
  const rows = yield* sql.unsafe<{ readonly id: number; readonly score: number | null }>(
    `SELECT passage_id AS id, ${similarity} FROM ${vectorTable(sql).of(collection)} ORDER BY score DESC, id LIMIT ?`,
    [...given, limit]
  )
  return rows.filter((row): row is Scored => row.score !== null)
}, comparable)

/**
 * Scores vectors in memory, where those read last are held until somebody writes, or by sqlite-vec in the database those of
 * a whole collection that memory has no room for. Both give the same. Each is compared with its checksum when it is read;
 * those that are altered or missing are damage.
 */
export const makeScoring = (): Scoring => {
  const own = inMemory(vectors, heldBytes)
  return {
    ...own,
    top: (sql, collection, query, among, limit) =>
      "all" in among && among.all > roomFor(query.vector.length, heldBytes)
        ? inDatabase(sql, collection, query, among.all, limit)
        : own.top(sql, collection, query, among, limit)
  }
}
