/** A document, or an entity that joins documents. */
export interface NetworkNode {
  readonly id: string
  readonly kind: "document" | "entity"
  readonly label: string
  /** A document's source. */
  readonly source?: string | undefined
  /** PageRank. */
  readonly rank: number
}

export interface NetworkEdge {
  /** A document. */
  readonly from: string
  /** An entity. */
  readonly to: string
  readonly relation: string
  /** The line of the document with the evidence. */
  readonly line: number
  /** The place in a document that is not text, as it follows its source. */
  readonly locator?: string | undefined
}

/** A graph of documents and the entities that join them, nodes by falling rank. */
export interface Network {
  readonly nodes: ReadonlyArray<NetworkNode>
  readonly edges: ReadonlyArray<NetworkEdge>
}

/** The highest-ranked nodes, and the edges between them. */
export const largest = ({ edges, nodes }: Network, count: number): Network => {
  const kept = nodes.slice(0, count)
  const ids = new Set(kept.map(({ id }) => id))
  return { nodes: kept, edges: edges.filter(({ from, to }) => ids.has(from) && ids.has(to)) }
}

const escapes: Readonly<Record<string, string>> = { "<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;" }

/** XML 1.0 allows no control characters, not even escaped. */
const xml = (text: string): string =>
  text
    // oxlint-disable-next-line no-control-regex
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/gu, " ")
    .replace(/\p{Cs}/gu, "\ufffd")
    .replace(/[<>&"]/gu, (sign) => escapes[sign]!)

/** GraphML, with the keys that Gephi reads as label and weight. */
export const toGraphMl = ({ edges, nodes }: Network): string =>
  [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
    ...["label", "kind", "source"].map(
      (name) => `<key id="${name}" for="node" attr.name="${name}" attr.type="string"/>`
    ),
    '<key id="rank" for="node" attr.name="rank" attr.type="double"/>',
    '<key id="relation" for="edge" attr.name="relation" attr.type="string"/>',
    '<key id="line" for="edge" attr.name="line" attr.type="int"/>',
    '<key id="locator" for="edge" attr.name="locator" attr.type="string"/>',
    '<graph edgedefault="undirected">',
    ...nodes.map(
      ({ id, kind, label, rank, source }) =>
        `<node id="${xml(id)}"><data key="label">${xml(label)}</data><data key="kind">${kind}</data>` +
        `${source === undefined ? "" : `<data key="source">${xml(source)}</data>`}<data key="rank">${rank}</data></node>`
    ),
    ...edges.map(
      ({ from, line, locator, relation, to }) =>
        `<edge source="${xml(from)}" target="${xml(to)}"><data key="relation">${relation}</data><data key="line">${line}</data>` +
        `${locator === undefined ? "" : `<data key="locator">${xml(locator)}</data>`}</edge>`
    ),
    "</graph>",
    "</graphml>"
  ].join("\n")

/** JSON in D3's node-link layout. */
export const toNodeLink = ({ edges, nodes }: Network): string =>
  JSON.stringify({
    directed: false,
    multigraph: false,
    nodes,
    links: edges.map(({ from, to, ...evidence }) => ({ source: from, target: to, ...evidence }))
  })

const quoted = (text: string): string => JSON.stringify(text.replace(/\s+/gu, " "))

/** Graphviz's DOT. */
export const toDot = ({ edges, nodes }: Network): string =>
  [
    "graph clew {",
    ...nodes.map(
      ({ id, kind, label }) =>
        `  ${quoted(id)} [label=${quoted(label)}, shape=${kind === "entity" ? "ellipse" : "box"}];`
    ),
    ...edges.map(({ from, relation, to }) => `  ${quoted(from)} -- ${quoted(to)} [label=${quoted(relation)}];`),
    "}"
  ].join("\n")
