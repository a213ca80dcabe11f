import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { DocumentId } from "../../model/Document.ts"
import { limits } from "../../model/Limits.ts"
import type { Hit } from "../../model/SearchResult.ts"
import type { RankRequest } from "../../model/Stored.ts"
import { fuse, type Fused, type Leg, type Ranked } from "../../text/fusion.ts"
import * as collections from "./collections.ts"
import type { Searching } from "./Database.ts"
import * as keyword from "./keyword.ts"
import { type PassageRow, toPassage } from "./passage.ts"
import { inList, list } from "./rows.ts"
import { tied, TieOrder } from "./ties.ts"
import * as vectors from "./vectors.ts"

/** A passage with a leg's score. */
export interface Scored {
  readonly id: number
  readonly score: number
}

/** What a hit shows, by passage id. */
interface HitRow extends PassageRow {
  readonly id: number
  readonly doc_id: DocumentId
  readonly source: string | null
  readonly title: string | null
  readonly metadata: string
  readonly line: number | null
}

const toHit = (row: HitRow, { keyword, score, vector }: Fused<number>): Hit => ({
  score,
  vector,
  keyword,
  passage: toPassage(row, row.line),
  document: {
    docId: row.doc_id,
    source: row.source ?? row.doc_id,
    ...(row.title === null ? {} : { title: row.title }),
    metadata: JSON.parse(row.metadata) as Hit["document"]["metadata"]
  }
})

/** Both legs, their fusion and the hits' texts; to be run in one snapshot. */
export const rank = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, searching: Searching, request: RankRequest) {
  const { id: collection, passages } = yield* collections.find(sql, request.collection)
  const mask = yield* Effect.withSpan(searching.masks.of(sql, collection, request.filter), "Store.mask")
  if (mask?.count === 0) return []
  const both = request.vector !== undefined && request.keyword !== undefined
  const depth = both ? limits.legDepth : Math.max(limits.legDepth, request.limit)
  const crosswise = both && request.fusion === "score"

  const near = request.vector
    ? yield* Effect.withSpan(
        vectors.search(sql, searching, collection, request.vector, { depth, mask, passages }),
        "Store.vector"
      )
    : []
  const matching = request.keyword
    ? yield* Effect.withSpan(
        keyword.search(sql, collection, request.keyword, { depth, mask, also: crosswise ? idsOf(near) : [] }),
        "Store.keyword"
      )
    : []
  const unseen = crosswise ? without(matching, near) : []
  const nearToo =
    unseen.length > 0 && request.vector ? yield* vectors.score(sql, collection, request.vector, unseen) : []

  const ties = new TieOrder(sql)
  const legs = [toCandidates(near), toCandidates(matching)] as const
  yield* ties.learn(legs.flatMap((leg) => tied(leg, both ? depth : request.limit)))
  const vectorLeg = toLeg(legs[0].sort(ties.best), nearToo, depth)
  const keywordLeg = toLeg(legs[1].sort(ties.best), [], depth)
  const { alpha, fusion: method } = request
  const order = both
    ? yield* Effect.withSpan(
        Effect.sync(() => fuse(vectorLeg, keywordLeg, { alpha, method, tieOrder: ties.compare })),
        "Store.fuse"
      )
    : request.vector
      ? alone("vector", vectorLeg)
      : alone("keyword", keywordLeg)
  const best = ((yield* ties.learn(tied(order, request.limit))) ? order.toSorted(ties.best) : order).slice(
    0,
    request.limit
  )

  const rows = yield* sql.unsafe<HitRow>(
    `SELECT p.id, p.ordinal, p.text, p.heading, p.start, p."end", p.start_line, p.end_line,
            d.doc_id, d.source, d.title, d.metadata, d.line
     FROM passages AS p JOIN documents AS d ON d.id = p.document_id WHERE p.id ${inList}`,
    [list(best.map((hit) => hit.key))]
  )
  const found = new Map(rows.map((row) => [row.id, row]))
  return best.map((hit) => toHit(found.get(hit.key)!, hit))
})

const idsOf = (scored: ReadonlyArray<Scored>): ReadonlyArray<number> => scored.map((hit) => hit.id)

const without = (some: ReadonlyArray<Scored>, others: ReadonlyArray<Scored>): ReadonlyArray<number> => {
  const known = new Set(idsOf(others))
  return idsOf(some).filter((id) => !known.has(id))
}

/** By falling scores. */
const toCandidates = (scored: ReadonlyArray<Scored>): Array<Ranked<number>> =>
  scored.map(({ id, score }) => ({ key: id, score })).sort((a, b) => b.score - a.score)

/** The best `depth` of a leg's passages as its ranking; the others keep their scores, for fusing by score. */
const toLeg = (sorted: ReadonlyArray<Ranked<number>>, others: ReadonlyArray<Scored>, depth: number): Leg<number> => {
  const scores = new Map([
    ...sorted.slice(depth).map(({ key, score }) => [key, score] as const),
    ...others.map(({ id, score }) => [id, score] as const)
  ])
  return { ranked: sorted.slice(0, depth), scoreOf: (id) => scores.get(id) }
}

const alone = (name: "vector" | "keyword", leg: Leg<number>): ReadonlyArray<Fused<number>> =>
  leg.ranked.map(({ key, score }, index) => ({
    key,
    score,
    vector: undefined,
    keyword: undefined,
    [name]: { rank: index + 1, score }
  }))
