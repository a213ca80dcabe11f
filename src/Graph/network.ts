import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { GraphStore, Store } from "../Store.ts"
import { fileNames, pathKeys } from "../entities/extract.ts"
import { hashOf, keyOf } from "../entities/mention.ts"
import type { Network, NetworkEdge, NetworkNode } from "../entities/network.ts"
import { rareIn } from "../entities/walk.ts"
import type { CollectionName } from "../model/Collection.ts"
import type { GraphEntities, RankedEntity } from "../model/Graph.ts"
import { Kept } from "../runtime/Kept.ts"

const page = 1000

interface Seen {
  /** By what it is called where it is first named, or defined. */
  readonly name: string
  /** The documents that it is the title or the file of. */
  readonly definedBy: Set<string>
  readonly documents: Map<string, Pick<NetworkEdge, "relation" | "line" | "locator">>
}

/** The hashes that a name is looked for by: what lists show of a document without a title is its source. */
export const hashesOf = (name: string): ReadonlyArray<number> => [keyOf(name), ...pathKeys(name)].map(hashOf)

/**
 * Entities by what they stand for: those that only one document is called, by its title, its file or the paths of links
 * to it, are one.
 */
const merged = (entities: ReadonlyMap<number, Seen>): ReadonlyArray<ReadonlyMap<number, Seen>> => {
  const groups = new Map<string | number, Map<number, Seen>>()
  for (const [hash, seen] of entities) {
    const [document] = seen.definedBy
    const key = document !== undefined && seen.definedBy.size === 1 ? document : hash
    groups.set(key, (groups.get(key) ?? new Map<number, Seen>()).set(hash, seen))
  }
  return [...groups.values()]
}

/** Reads a collection's graph, whole or its first passages, and ranks its nodes by PageRank. */
export const load = Effect.fn("Graph.load")(function* (
  store: GraphStore["Type"],
  collection: CollectionName,
  mostPassages = Infinity
) {
  const entities = new Map<number, Seen>()
  const titles = new Map<string, { readonly source: string; readonly title: string | undefined }>()
  let after = 0
  let read = 0
  let complete = true
  for (;;) {
    const passages = yield* store.graphPassages(collection, { after, limit: page })
    if (passages.length > 0 && read >= mostPassages) {
      complete = false
      break
    }
    read += passages.length
    for (const { docId, locator, mentions, source, title } of passages) {
      if (!titles.has(docId)) titles.set(docId, { source, title })
      for (const { entity, line, name, relation } of mentions) {
        const evidence = { relation, line, ...(locator === undefined ? {} : { locator }) }
        const seen = entities.get(entity)
        if (seen === undefined) {
          const definedBy = new Set(relation === "defines" ? [docId] : [])
          entities.set(entity, { name, definedBy, documents: new Map([[docId, evidence]]) })
        } else {
          if (relation === "defines" && seen.definedBy.size === 0) entities.set(entity, { ...seen, name })
          if (relation === "defines") seen.definedBy.add(docId)
          if (!seen.documents.has(docId)) seen.documents.set(docId, evidence)
        }
      }
    }
    const last = passages.at(-1)
    if (last === undefined) break
    after = last.id
  }

  const { UndirectedGraph } = yield* Effect.promise(() => import("graphology"))
  const { default: given } = yield* Effect.promise(() => import("graphology-metrics/centrality/pagerank.js"))
  // Its types wrongly nest the default export one level too deep.
  const pagerank = given as unknown as typeof given.default
  const graph = new UndirectedGraph()
  const nodes = new Map<string, Omit<NetworkNode, "rank">>()
  const edges: Array<Network["edges"][number]> = []
  const rare = rareIn(titles.size)
  const unknown = new Set<string>()
  for (const group of merged(entities)) {
    const [hash, { definedBy, name }] = group.entries().next().value!
    const documents = new Map([...group.values()].toReversed().flatMap(({ documents }) => [...documents]))
    // An entity of only one document joins nothing, nor does one of too many documents that is not a title.
    if (documents.size < 2 || (documents.size > rare && definedBy.size === 0)) continue
    const id = `e${hash}`
    const [definer] = definedBy
    const files = definer === undefined ? [] : fileNames(titles.get(definer)!.source)
    // What several documents are called is none of their titles.
    const called = definedBy.size > 1 ? files.filter(({ key }) => hashOf(key) === hash) : [{ name }, ...files]
    const leading = called.find(({ name }) => group.has(hashesOf(name).find((one) => entities.has(one)) ?? -1))
    if (leading === undefined) unknown.add(id)
    nodes.set(id, { id, kind: "entity", label: (leading ?? called[0] ?? { name }).name })
    graph.addNode(id)
    for (const [docId, evidence] of documents) {
      const document = `d${docId}`
      if (!nodes.has(document)) {
        const { source, title } = titles.get(docId)!
        nodes.set(document, { id: document, kind: "document", label: title ?? source, source })
        graph.addNode(document)
      }
      graph.addEdge(document, id)
      edges.push({ from: document, to: id, ...evidence })
    }
  }
  const ranks = graph.order === 0 ? {} : pagerank(graph, { getEdgeWeight: null })
  return {
    nodes: [...nodes.values()]
      .map((node): NetworkNode => ({ ...node, rank: ranks[node.id] ?? 0 }))
      .sort((a, b) => b.rank - a.rank || (a.id < b.id ? -1 : 1)),
    edges,
    complete,
    unknown
  } satisfies Network & {
    readonly complete: boolean
    /** Entities that cannot be asked for by the name they have: targets of links that are not in the collection. */
    readonly unknown: ReadonlySet<string>
  }
})

/** Most passages read for a ranking, which limits the cost of a request. */
const mostRanked = 20_000
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
export const rankingEntities = Effect.fnUntraced(function* (store: GraphStore["Type"], counting: Store["Type"]) {
  const known = new Kept<CollectionName, Ranking>(mostKept)
  const turn = yield* Effect.makeSemaphore(1)

  const rank = Effect.fnUntraced(function* (collection: CollectionName) {
    const { documents, passages } = yield* counting.stats(collection)
    const state = `${documents} ${passages}`
    const at = yield* Clock.currentTimeMillis
    const before = known.get(collection)
    if (before !== undefined && before.state === state && at - before.at < keptFor) return before
    const { complete, edges, nodes, unknown } = yield* load(store, collection, mostRanked)
    const counts = new Map<string, number>()
    for (const { to } of edges) counts.set(to, (counts.get(to) ?? 0) + 1)
    const entities = nodes
      .filter(({ id, kind }) => kind === "entity" && !unknown.has(id))
      .map(({ id, label, rank }) => ({ key: keyOf(label), name: label, documents: counts.get(id) ?? 0, rank }))
      .sort((a, b) => b.rank - a.rank || (a.key < b.key ? -1 : 1))
    const ranking: Ranking = { at, state, complete, entities }
    known.add(collection, ranking)
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
