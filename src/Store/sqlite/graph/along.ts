import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { ViaStep } from "../../../model/Graph.ts"
import type { RankRequest } from "../../../model/Stored.ts"
import type { Fused } from "../../../text/fusion.ts"
import type { Searched } from "../asked.ts"
import { inList, list } from "../rows.ts"
import { expand } from "./expand.ts"
import type { Linkages } from "./linkage.ts"

type Ways = ReadonlyMap<number, ReadonlyArray<ViaStep>>

const noWays: Ways = new Map()

/** Hits that keep their places, and that the graph is walked from. */
const keptPlaces = 5

/**
 * The ranking with what the graph leads to in the places after the fifth, and the ways that led there. Of several
 * collections the graph of the one with the best hit is walked, since graphs of two have nothing in common.
 */
export const along = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  linkages: Linkages,
  asked: ReadonlyArray<Searched>,
  { graph, limit }: RankRequest,
  ranked: ReadonlyArray<Fused<number>>
) {
  if (graph === undefined || limit <= keptPlaces || ranked.length < keptPlaces) return { order: ranked, ways: noWays }
  const head = ranked.slice(0, keptPlaces)
  const homes = asked.length === 1 ? undefined : yield* homesOf(sql, head)
  const walked = homes === undefined ? asked[0]! : asked.find(({ id }) => id === homes.get(head[0]!.key))!
  const hits = homes === undefined ? head : head.filter(({ key }) => homes.get(key) === walked.id)
  const { documents, id: collection, mask, vector } = walked
  const ways: Ways = yield* expand(sql, linkages, { ...graph, collection, documents, mask, vector, hits })
  return { order: arranged(ranked, [...ways.keys()]), ways }
})

/** The collection of each passage. */
const homesOf = (sql: SqlClient.SqlClient, hits: ReadonlyArray<Fused<number>>) =>
  Effect.map(
    sql.unsafe<{ readonly id: number; readonly collection: number }>(
      `SELECT p.id, d.collection_id AS collection FROM passages AS p JOIN documents AS d ON d.id = p.document_id
       WHERE p.id ${inList}`,
      [list(hits.map(({ key }) => key))]
    ),
    (rows) => new Map(rows.map(({ collection, id }) => [id, collection]))
  )

/** A ranking with passages put in after the places that are kept; one that no leg ranked has no score of theirs. */
const arranged = (
  ranked: ReadonlyArray<Fused<number>>,
  placed: ReadonlyArray<number>
): ReadonlyArray<Fused<number>> => {
  if (placed.length === 0) return ranked
  const known = new Map(ranked.map((hit) => [hit.key, hit]))
  const taken = new Set(placed)
  return [
    ...ranked.slice(0, keptPlaces),
    ...placed.map((key) => known.get(key) ?? { key, score: 0, second: 0, vector: undefined, keyword: undefined }),
    ...ranked.slice(keptPlaces).filter(({ key }) => !taken.has(key))
  ]
}
