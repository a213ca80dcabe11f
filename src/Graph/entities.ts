import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { CollectionName } from "../model/Collection.ts"
import type { GraphEntities, RankedEntity } from "../model/Graph.ts"
import type { GraphStore, Store } from "../Store.ts"
import { keyOf } from "../entities/key.ts"
import { load } from "./network.ts"

/** Most passages read for a ranking, which limits the cost of a request. */
const mostPassages = 20_000
/** How long a ranking is cached while the collection's counts are unchanged, and how many rankings. */
const keptFor = 60_000
const mostKept = 4

interface Ranking {
  readonly at: number
  readonly state: string
  readonly complete: boolean
  readonly entities: ReadonlyArray<RankedEntity & { readonly key: string }>
}

/** Pages of a collection's entities by PageRank. Rankings are computed one at a time, and serve the following pages. */
export const make = Effect.fnUntraced(function* (store: GraphStore["Type"], counting: Store["Type"]) {
  const known = new Map<CollectionName, Ranking>()
  const turn = yield* Effect.makeSemaphore(1)

  const rank = Effect.fnUntraced(function* (collection: CollectionName) {
    const { documents, passages } = yield* counting.stats(collection)
    const state = `${documents} ${passages}`
    const at = yield* Clock.currentTimeMillis
    const before = known.get(collection)
    if (before !== undefined && before.state === state && at - before.at < keptFor) return before
    const { complete, edges, nodes } = yield* load(store, collection, mostPassages)
    const counts = new Map<string, number>()
    for (const { to } of edges) counts.set(to, (counts.get(to) ?? 0) + 1)
    const entities = nodes
      .filter(({ kind }) => kind === "entity")
      .map(({ id, label, rank }) => ({ key: keyOf(label), name: label, documents: counts.get(id) ?? 0, rank }))
      .sort((a, b) => b.rank - a.rank || (a.key < b.key ? -1 : 1))
    const ranking: Ranking = { at, state, complete, entities }
    known.delete(collection)
    known.set(collection, ranking)
    for (const name of [...known.keys()].slice(0, -mostKept)) known.delete(name)
    return ranking
  })

  return Effect.fn("Graph.entities")(function* (
    collection: CollectionName,
    { limit, offset, prefix }: { readonly limit: number; readonly offset: number; readonly prefix?: string | undefined }
  ) {
    const { complete, entities } = yield* turn.withPermits(1)(rank(collection))
    const beginning = prefix === undefined ? "" : keyOf(prefix)
    const matching = beginning === "" ? entities : entities.filter(({ key }) => key.startsWith(beginning))
    const end = offset + limit
    return {
      entities: matching.slice(offset, end).map(({ documents, name, rank }) => ({ name, documents, rank })),
      complete,
      ...(matching.length > end ? { next_cursor: String(end) } : {})
    } satisfies GraphEntities
  })
})
