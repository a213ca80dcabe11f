import forceAtlas2 from "graphology-layout-forceatlas2"
import { UndirectedGraph } from "graphology"
import type { Network } from "../entities/network.ts"
import type { Placed } from "../entities/page.ts"

/** The angle between neighbouring nodes on the initial sunflower spiral. */
const golden = Math.PI * (3 - Math.sqrt(5))

const assign = forceAtlas2 as unknown as typeof forceAtlas2.default

/** Computes coordinates for every node of a network (ForceAtlas2, Jacomy et al. 2014), deterministically. */
export const placed = (network: Network): Placed => {
  const graph = new UndirectedGraph()
  for (const [index, { id }] of network.nodes.entries()) {
    const away = 10 * Math.sqrt(index + 1)
    graph.addNode(id, { x: away * Math.cos(index * golden), y: away * Math.sin(index * golden) })
  }
  for (const { from, to } of network.edges) graph.mergeEdge(from, to)
  if (graph.order > 1) {
    const settings = { ...assign.inferSettings(graph), barnesHutOptimize: graph.order > 500 }
    assign.assign(graph, { iterations: graph.order > 2000 ? 100 : 200, settings })
  }
  return {
    ...network,
    places: network.nodes.map(({ id }) => [
      Math.round(graph.getNodeAttribute(id, "x") as number),
      Math.round(graph.getNodeAttribute(id, "y") as number)
    ])
  }
}
