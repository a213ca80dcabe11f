import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { GraphStore, Store } from "../Store.ts"
import { fileNames, pathKeys } from "../entities/extract.ts"
import { hashOf, keyOf } from "../entities/mention.ts"
import type { Network, NetworkEdge, NetworkNode } from "../entities/network.ts"
import { rareIn } from "../entities/walk.ts"
import type { CollectionName } from "../model/Collection.ts"
import type { GraphEntities, RankedEntity } from "../model/Graph.ts"
import { inTurns, type Steps } from "../runtime/EventLoop.ts"
import { Kept } from "../runtime/Kept.ts"

const page = 1000

const damping = 0.85
const mostIterations = 100
/** What a node's rank may still move, on average, in the last iteration. */
const tolerance = 1e-6

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

  return { ...(yield* inTurns(() => joined(entities, titles))), complete }
})

/** The documents and the entities that join at least two of them. */
function* joined(
  entities: ReadonlyMap<number, Seen>,
  titles: ReadonlyMap<string, { readonly source: string; readonly title: string | undefined }>
): Steps<
  Network & {
    /** Entities that cannot be asked for by the name they have: targets of links that are not in the collection. */
    readonly unknown: ReadonlySet<string>
  }
> {
  const nodes: Array<Omit<NetworkNode, "rank">> = []
  const edges: Array<NetworkEdge> = []
  /** Which of the nodes the edges join, two each. */
  const ends: Array<number> = []
  const numbers = new Map<string, number>()
  const add = (node: Omit<NetworkNode, "rank">) => {
    numbers.set(node.id, nodes.length)
    nodes.push(node)
  }
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
    add({ id, kind: "entity", label: (leading ?? called[0] ?? { name }).name })
    for (const [docId, evidence] of documents) {
      const document = `d${docId}`
      if (!numbers.has(document)) {
        const { source, title } = titles.get(docId)!
        add({ id: document, kind: "document", label: title ?? source, source })
      }
      ends.push(numbers.get(document)!, numbers.get(id)!)
      edges.push({ from: document, to: id, ...evidence })
    }
    yield
  }
  const ranks = yield* pageRanks(nodes.length, ends)
  return {
    nodes: nodes
      .map((node, at): NetworkNode => ({ ...node, rank: ranks[at]! }))
      .sort((a, b) => b.rank - a.rank || (a.id < b.id ? -1 : 1)),
    edges,
    unknown
  }
}

/**
 * PageRank (Page, Brin, Motwani and Winograd 1999) of nodes that each have an edge; edges are two nodes each and lead
 * both ways. The sum is 1.
 */
function* pageRanks(nodes: number, edges: ReadonlyArray<number>): Steps<Float64Array> {
  const degrees = new Float64Array(nodes)
  for (const node of edges) degrees[node]! += 1
  let ranks = new Float64Array(nodes).fill(1 / nodes)
  for (let left = mostIterations; left > 0; left--) {
    const next = new Float64Array(nodes).fill((1 - damping) / nodes)
    for (let at = 0; at < edges.length; at += 2) {
      const [one, other] = [edges[at]!, edges[at + 1]!]
      next[one]! += (damping * ranks[other]!) / degrees[other]!
      next[other]! += (damping * ranks[one]!) / degrees[one]!
    }
    const moved = next.reduce((sum, rank, node) => sum + Math.abs(rank - ranks[node]!), 0)
    ranks = next
    if (moved < nodes * tolerance) break
    yield
  }
  return ranks
}

/** Most passages read for a ranking, which limits the cost of a request. */
const mostRanked = 20_000
/** How long a ranking is cached while the collection's counts and its newest passage are the same, and how many rankings. */
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
    const [newest] = yield* counting.sample(collection, [1])
    const state = `${documents} ${passages} ${newest?.docId} ${newest?.text}`
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
