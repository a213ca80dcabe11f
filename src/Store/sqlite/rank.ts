import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { CollectionName } from "../../model/Collection.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { Scored } from "../../model/Scored.ts"
import { limits } from "../../model/Limits.ts"
import type { Hit } from "../../model/SearchResult.ts"
import type { RankRequest } from "../../model/Stored.ts"
import { byRank, fuse, type Fused, type Leg, type Ranked } from "../../text/fusion.ts"
import { namesGain, namesIn } from "../../text/names.ts"
import { parsed, present } from "../../model/Damaged.ts"
import { byEmbedder, searched, type Searched, union } from "./asked.ts"
import type { Searching } from "./Database.ts"
import { along } from "./graph/along.ts"
import * as keyword from "./keyword.ts"
import { type PassageRow, toPassage } from "./passage.ts"
import { inList, list } from "./rows.ts"
import { tied, TieOrder } from "./ties.ts"
import * as vectors from "./vectors.ts"

/** What a hit shows, by passage id. */
interface HitRow extends PassageRow {
  readonly id: number
  readonly collection_id: number
  readonly doc_id: DocumentId
  readonly source: string | null
  readonly title: string | null
  readonly metadata: string
  readonly line: number | null
}

const toHit = (row: HitRow, collection: CollectionName, { keyword, score, vector }: Fused<number>): Hit => ({
  score,
  vector,
  keyword,
  passage: toPassage(row, row.line),
  collection,
  document: {
    docId: row.doc_id,
    source: row.source ?? row.doc_id,
    ...(row.title === null ? {} : { title: row.title }),
    metadata: parsed<Hit["document"]["metadata"]>(row.metadata, () => `the metadata of document ${row.doc_id}`)
  }
})

/** Both legs, their fusion and the hits' texts, over all collections asked; to be run in one snapshot. */
export const rank = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, searching: Searching, request: RankRequest) {
  const asked = yield* Effect.withSpan(searched(sql, searching, request), "Store.mask")
  if (asked.length === 0) return []
  const asks = asked.some(({ vector }) => vector !== undefined)
  const both = asks && request.keyword !== undefined
  const depth = both ? limits.legDepth : Math.max(limits.legDepth, request.limit)
  const groups = byEmbedder(asked)
  // Scores of different embedders say nothing to each other; ranks do.
  const method = groups.length > 1 ? "rrf" : request.fusion
  const crosswise = both && method === "score"

  const nearest = asks
    ? yield* Effect.withSpan(
        Effect.forEach(groups, (group) => near(sql, searching, group, depth)),
        "Store.vector"
      )
    : []
  const matching = request.keyword
    ? yield* Effect.withSpan(
        keyword.search(
          sql,
          asked.map(({ id }) => id),
          request.keyword,
          {
            depth,
            mask: union(asked),
            near: request.near,
            also: crosswise ? idsOf(nearest.flat()) : [],
            passages: asked.reduce((sum, { passages }) => sum + passages, 0)
          }
        ),
        "Store.keyword"
      )
    : []
  const unseen = crosswise ? without(matching, nearest.flat()) : []
  const nearToo = unseen.length === 0 ? [] : yield* scoresOf(sql, asked, unseen)

  const ties = new TieOrder(sql)
  const legs = nearest.map(toCandidates)
  const matched = request.keyword === undefined ? [] : yield* naming(sql, request.keyword, toCandidates(matching))
  const ranked = both ? depth : request.limit
  yield* ties.learn([...legs, matched].flatMap((leg) => tied(leg, ranked)))
  const together = legs.length > 1 ? byRank(legs.map((leg) => leg.sort(ties.best).slice(0, depth))) : (legs[0] ?? [])
  if (legs.length > 1) yield* ties.learn(tied(together, ranked))
  const vectorLeg = toLeg(together.sort(ties.best), nearToo, depth)
  const keywordLeg = toLeg(matched.sort(ties.best), [], depth)
  const { alpha, rrfK } = request
  const order = both
    ? yield* Effect.withSpan(
        Effect.sync(() => fuse(vectorLeg, keywordLeg, { alpha, method, k: rrfK, tieOrder: ties.compare })),
        "Store.fuse"
      )
    : asks
      ? alone("vector", vectorLeg)
      : alone("keyword", keywordLeg)
  const complete = (yield* ties.learn(tied(order, request.limit))) ? order.toSorted(ties.best) : order
  const led = yield* Effect.withSpan(along(sql, searching.linkages, asked, request, complete), "Store.graph")
  const best = led.order.slice(0, request.limit)

  const rows = yield* sql.unsafe<HitRow>(
    `SELECT p.id, p.ordinal, p.text, p.heading, p.start, p."end", p.start_line, p.end_line, p.locator, p.table_header,
            d.collection_id, d.doc_id, d.source, d.title, d.metadata, d.line
     FROM passages AS p JOIN documents AS d ON d.id = p.document_id WHERE p.id ${inList}`,
    [list(best.map((hit) => hit.key))]
  )
  const found = new Map(rows.map((row) => [row.id, row]))
  const names = new Map(asked.map(({ id, name }) => [id, name]))
  return best.map((hit): Hit => {
    const row = present(found.get(hit.key), () => `passage ${hit.key}, or its document,`)
    const name = present(names.get(row.collection_id), () => `the collection of passage ${hit.key}`)
    const via = led.ways.get(hit.key)
    return via === undefined ? toHit(row, name, hit) : { ...toHit(row, name, hit), via }
  })
})

/** The best of the keyword leg that are looked at for names; they can only rise. */
const lookedAt = 30

/** Puts passages first that name what the query names as it is written, and before them those that define it. */
const naming = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  query: string,
  sorted: ReadonlyArray<Ranked<number>>
) {
  const names = namesIn(query)
  const best = sorted.slice(0, lookedAt)
  if (names.length === 0 || best.length < 2) return [...sorted]
  const rows = yield* sql.unsafe<{ readonly id: number; readonly heading: string; readonly text: string }>(
    `SELECT id, heading, text FROM passages WHERE id ${inList}`,
    [list(best.map(({ key }) => key))]
  )
  const gains = new Map(rows.map((row) => [row.id, namesGain(names, row)]))
  const risen = best.map(({ key, score }) => ({ key, score: score * (1 + (gains.get(key) ?? 0)) }))
  return [...risen.sort((a, b) => b.score - a.score), ...sorted.slice(lookedAt)]
})

/** The nearest passages of collections with one embedder. */
const near = (sql: SqlClient.SqlClient, searching: Searching, group: ReadonlyArray<Searched>, depth: number) =>
  Effect.map(
    Effect.forEach(group, ({ id, mask, passages, vector }) =>
      vector === undefined ? Effect.succeed([]) : vectors.search(sql, searching, id, vector, { depth, mask, passages })
    ),
    (found) => found.flat()
  )

/** The similarity of passages of any of the collections. */
const scoresOf = (sql: SqlClient.SqlClient, asked: ReadonlyArray<Searched>, ids: ReadonlyArray<number>) =>
  Effect.map(
    Effect.forEach(asked, ({ id, vector }) =>
      vector === undefined ? Effect.succeed([]) : vectors.score(sql, id, vector, ids)
    ),
    (found) => found.flat()
  )

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
    second: score,
    vector: undefined,
    keyword: undefined,
    [name]: { rank: index + 1, score }
  }))
