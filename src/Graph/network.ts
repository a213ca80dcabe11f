import * as Effect from "effect/Effect"
import type { CollectionName } from "../model/Collection.ts"
import type { GraphStore } from "../Store.ts"
import { rareIn } from "../entities/measure.ts"
import type { Network, NetworkEdge, NetworkNode } from "../entities/network.ts"

/** Passages read per page. */
const page = 1000

interface Seen {
  readonly name: string
  readonly defines: boolean
  readonly documents: Map<string, Pick<NetworkEdge, "relation" | "line" | "locator">>
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
    const passages = yield* store.graphPage(collection, after, page)
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
          entities.set(entity, {
            name,
            defines: relation === "defines",
            documents: new Map([[docId, evidence]])
          })
        } else {
          if (relation === "defines" && !seen.defines) entities.set(entity, { ...seen, name, defines: true })
          if (!seen.documents.has(docId)) seen.documents.set(docId, evidence)
        }
      }
    }
    const last = passages.at(-1)
    if (last === undefined) break
    after = last.id
  }

  const { UndirectedGraph } = yield* Effect.promise(() => import("graphology"))
  const { pagerank } = yield* Effect.promise(() => import("./pagerank.ts"))
  const graph = new UndirectedGraph()
  const nodes = new Map<string, Omit<NetworkNode, "rank">>()
  const edges: Array<Network["edges"][number]> = []
  const rare = rareIn(titles.size)
  for (const [hash, { defines, documents, name }] of entities) {
    // An entity of only one document joins nothing, nor does one of too many documents that is not a title.
    if (documents.size < 2 || (documents.size > rare && !defines)) continue
    const id = `e${hash}`
    nodes.set(id, { id, kind: "entity", label: name })
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
    complete
  } satisfies Network & { readonly complete: boolean }
})
