import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { HeldVectors } from "../../codes/HeldVectors.ts"
import { damaged } from "../../model/Damaged.ts"
import { type Scored, byScoreAndId } from "../../model/Passage.ts"
import { type Direction, measureBy } from "../core/direction.ts"
import { type Sql, list, first } from "./rows.ts"

/** Some passages, or all so many of a collection. */
export type Among = ArrayLike<number> | { readonly all: number }

/** Scores vectors exactly, each compared with its checksum; vectors that are altered or missing are damage. */
export interface Scoring {
  /** The similarity of given passages that have a vector with a direction, in no order. */
  readonly score: (
    sql: Sql,
    collection: number,
    query: Direction,
    passages: ReadonlyArray<number>
  ) => Effect.Effect<ReadonlyArray<Scored>, SqlError>
  /** The best of given passages, or of all so many of the collection, best first, equals by rising ids. */
  readonly top: (
    sql: Sql,
    collection: number,
    query: Direction,
    among: Among,
    limit: number
  ) => Effect.Effect<ReadonlyArray<Scored>, SqlError>
}

/** Takes a vector, as little-endian bytes that were compared with their checksum. */
export type Use = (passage: number, vector: Uint8Array) => void

/** How a database gives vectors to memory. */
export interface Vectors {
  /** What is in memory is true as long as this stays the same; undefined: no longer. */
  readonly state: (sql: Sql) => unknown
  /** A number for the current vectors of a collection, if other ones come under the same passages in the same state. */
  readonly setOf?: (sql: Sql, collection: number) => Effect.Effect<number, SqlError>
  /** Reads the vectors of some passages of a collection. */
  readonly some: (
    sql: Sql,
    collection: number,
    passages: ReadonlyArray<number>,
    use: Use
  ) => Effect.Effect<void, SqlError>
  /** All passages with a vector of a collection of so many passages; it may give their vectors at once. */
  readonly whole: (
    sql: Sql,
    collection: number,
    passages: number,
    use: Use
  ) => Effect.Effect<ReadonlyArray<number>, SqlError>
}

/** Vectors that are read at once. */
const batch = 1024

/** Vectors without a checksum, which an older version stored, are only noticed by their length. */
export const differently = "a vector has a different length from the others"

/** Fails unless these passages, as far as they are of the collection, are recorded to have no vector. */
const checkVectorless = Effect.fnUntraced(function* (sql: Sql, collection: number, passages: ReadonlyArray<number>) {
  const missing = yield* first<number>(
    sql,
    `SELECT p.id FROM json_each(?) AS asked CROSS JOIN passages AS p ON p.id = asked.value
       CROSS JOIN documents AS d ON d.id = p.document_id
     WHERE d.collection_id = ?
       AND NOT EXISTS (SELECT 1 FROM vectorless WHERE passage_id = p.id AND generation = 'current') LIMIT 1`,
    [list(passages), collection]
  )
  if (missing !== undefined) damaged(`the vector of passage ${missing} is missing`)
})

/** What is known of vectors; several may share it. */
export const makeMemory = () => ({
  state: undefined as unknown,
  held: new Map<number, HeldVectors>(),
  /** Passages that have none in a set, or one without a direction. */
  vectorless: new Map<number, Set<number>>()
})

/** Scores vectors in memory, which holds those read last, of each width up to `mostBytes`. */
export const inMemory = ({ setOf, some, state, whole }: Vectors, mostBytes: number, memory = makeMemory()): Scoring => {
  const { held, vectorless } = memory
  const heldOf = (sql: Sql, width: number): HeldVectors => {
    const now = state(sql)
    if (now === undefined || now !== memory.state) {
      vectorless.clear()
      for (const each of held.values()) each.clear()
    }
    memory.state = now
    const known = held.get(width) ?? new HeldVectors(width, mostBytes)
    held.set(width, known)
    return known
  }

  const vectorlessIn = (set: number): Set<number> => {
    const known = vectorless.get(set) ?? new Set()
    vectorless.set(set, known)
    return known
  }

  const scored = Effect.fnUntraced(function* (sql: Sql, collection: number, direction: Direction, among: Among) {
    const query = measureBy(direction)
    const { off, scale } = query
    const vectors = heldOf(sql, query.toward.length)
    const own = setOf === undefined ? collection : yield* setOf(sql, collection)
    const without = vectorlessIn(own)
    const hold: Use = (passage, vector) => {
      if (vector.length !== 4 * vectors.width) damaged(differently)
      if (vector.every((byte) => byte === 0)) without.add(passage)
      else vectors.add(passage, vector, own)
    }
    const passages = "all" in among ? yield* whole(sql, collection, among.all, hold) : among
    const scores = new Float64Array(passages.length).fill(NaN)
    const scaled = (cosine: number) => (off === undefined ? cosine : 1 - (1 - cosine) * scale)
    const places = vectors.placesOf(passages, own)
    // First, since what is read may take their places.
    vectors.cosines(places, query, (at, cosine) => {
      scores[at] = scaled(cosine)
    })
    const unread: Array<number> = []
    for (let at = 0; at < places.length; at++) {
      if (places[at] === -1 && !without.has(passages[at]!)) unread.push(at)
    }
    for (let from = 0; from < unread.length; from += batch) {
      const indexes = unread.slice(from, from + batch)
      const these = indexes.map((at) => passages[at]!)
      yield* some(sql, collection, these, hold)
      const read = vectors.placesOf(these, own)
      const missing = these.filter((id, at) => read[at] === -1 && !without.has(id))
      if (missing.length > 0) yield* checkVectorless(sql, collection, missing)
      for (const passage of missing) without.add(passage)
      vectors.cosines(read, query, (at, cosine) => {
        scores[indexes[at]!] = scaled(cosine)
      })
    }
    return { passages, scores }
  })

  return {
    score: (sql, collection, query, passages) =>
      Effect.map(scored(sql, collection, query, passages), (all) => scoredFrom(all, 0)),
    top: (sql, collection, query, among, limit) =>
      Effect.map(scored(sql, collection, query, among), (all) =>
        scoredFrom(all, lowestBar(all.scores, limit)).sort(byScoreAndId).slice(0, limit)
      )
  }
}

/** Bars of the histogram of similarities, between -1 and 1. */
const bars = 2048

/** The bar of a score; one without a direction, NaN, is in the lowest. */
const barOf = (score: number): number => Math.max(0, Math.min(bars - 1, (0.5 * bars * (score + 1)) | 0))

/** The bar above whose lower edge so many of the best scores are, and few others: to sort all would take far longer. */
const lowestBar = (scores: Float64Array, limit: number): number => {
  const counts = new Uint32Array(bars)
  for (let at = 0; at < scores.length; at++) counts[barOf(scores[at]!)]!++
  let bar = bars
  for (let found = 0; found < limit && bar > 0;) found += counts[--bar]!
  return bar
}

/** The passages that have a score, from this bar on. */
const scoredFrom = (
  { passages, scores }: { readonly passages: ArrayLike<number>; readonly scores: Float64Array },
  lowest: number
): Array<Scored> => {
  const found: Array<Scored> = []
  for (let at = 0; at < scores.length; at++) {
    const score = scores[at]!
    if (barOf(score) >= lowest && !Number.isNaN(score)) found.push({ id: passages[at]!, score })
  }
  return found
}
