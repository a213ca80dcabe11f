import * as Effect from "effect/Effect"
import type { RankRequest } from "../model/Stored.ts"
import type { Fused } from "../text/fusion.ts"
import type { Searched, Snapshot, Ways } from "./Snapshot.ts"

const noWays: Ways = new Map()

/** Hits that keep their places, and from which the graph walk starts. */
const keptPlaces = 5

/**
 * The ranking with passages from the graph after the fifth place, and the paths that led there. Of several collections,
 * only the graph of the one with the best hit is used, since two graphs have nothing in common.
 */
export const along = Effect.fnUntraced(function* <E>(
  snapshot: Snapshot<E>,
  asked: ReadonlyArray<Searched>,
  { graph, limit }: RankRequest,
  ranked: ReadonlyArray<Fused<number>>
) {
  if (graph === undefined || limit <= keptPlaces || ranked.length < keptPlaces) return { order: ranked, ways: noWays }
  const head = ranked.slice(0, keptPlaces)
  const homes = asked.length === 1 ? undefined : yield* snapshot.homes(head.map(({ key }) => key))
  const walked = homes === undefined ? asked[0]! : asked.find(({ id }) => id === homes.get(head[0]!.key))!
  const hits = homes === undefined ? head : head.filter(({ key }) => homes.get(key) === walked.id)
  const ways = yield* snapshot.expand(walked, graph, hits)
  return { order: arranged(ranked, [...ways.keys()]), ways }
})

const unranked = {
  score: 0,
  second: 0,
  vector: undefined,
  keyword: undefined,
  parts: { vector: 0, keyword: 0 }
} as const

/** A ranking with passages inserted after the kept places; a passage that no leg ranked has no score of theirs. */
const arranged = (
  ranked: ReadonlyArray<Fused<number>>,
  placed: ReadonlyArray<number>
): ReadonlyArray<Fused<number>> => {
  if (placed.length === 0) return ranked
  const known = new Map(ranked.map((hit) => [hit.key, hit]))
  const taken = new Set(placed)
  return [
    ...ranked.slice(0, keptPlaces),
    ...placed.map((key) => known.get(key) ?? { key, ...unranked }),
    ...ranked.slice(keptPlaces).filter(({ key }) => !taken.has(key))
  ]
}
