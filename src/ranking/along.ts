import * as Effect from "effect/Effect"
import { limits } from "../model/Limits.ts"
import type { RankRequest } from "../model/Stored.ts"
import type { Fused } from "./fusion.ts"
import type { Searched, Snapshot, Ways } from "./Snapshot.ts"

const noWays: Ways = new Map()

const unranked = {
  score: 0,
  second: 0,
  vector: undefined,
  keyword: undefined,
  parts: { vector: 0, keyword: 0 }
} as const

/**
 * The passages that the graph leads to from the best of a ranking, best first, and the paths that led there; one that
 * no leg ranked has no score of theirs. Of several collections, only the graph of the one with the best hit is used,
 * since two graphs have nothing in common.
 */
export const along = Effect.fnUntraced(function* <E>(
  snapshot: Snapshot<E>,
  asked: ReadonlyArray<Searched>,
  { graph }: RankRequest,
  ranked: ReadonlyArray<Fused<number>>
) {
  if (graph === undefined || ranked.length < limits.graph.first) return { led: [], ways: noWays }
  const head = ranked.slice(0, limits.graph.first)
  const homes = asked.length === 1 ? undefined : yield* snapshot.homes(head.map(({ key }) => key))
  const walked = homes === undefined ? asked[0]! : asked.find(({ id }) => id === homes.get(head[0]!.key))!
  const hits = homes === undefined ? head : head.filter(({ key }) => homes.get(key) === walked.id)
  const ways = yield* snapshot.expand(walked, graph, hits)
  const known = new Map(ranked.map((hit) => [hit.key, hit]))
  return { led: Array.from(ways.keys(), (key): Fused<number> => known.get(key) ?? { key, ...unranked }), ways }
})
