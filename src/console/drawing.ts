import type { Path } from "./wire.ts"

/** A name of the graph, where it is drawn. */
export interface Node {
  readonly name: string
  readonly documents: number
  x: number
  y: number
  vx: number
  vy: number
}

/** A passage that joins two names. */
export type Edge = Pick<Path["steps"][number], "from" | "to" | "source" | "line" | "locator" | "says"> & {
  readonly relation: string
}

export interface Network {
  readonly nodes: ReadonlyMap<string, Node>
  readonly edges: ReadonlyArray<Edge>
}

export const noNetwork: Network = { nodes: new Map(), edges: [] }

/** Names that are drawn at most. */
const mostNodes = 300

const golden = Math.PI * (3 - Math.sqrt(5))

/** With more names and edges; a new name begins beside the one that it was reached from. */
export const grown = (
  { edges, nodes }: Network,
  more: ReadonlyArray<{ readonly name: string; readonly documents: number }>,
  joined: ReadonlyArray<Edge>
): Network => {
  const all = new Map(nodes)
  for (const { documents, name } of more) {
    if (all.has(name) || all.size >= mostNodes) continue
    const from = joined.find(({ to }) => to === name)
    const near = from === undefined ? undefined : all.get(from.from)
    const angle = all.size * golden
    const far = near === undefined && all.size === 0 ? 0 : 60
    all.set(name, {
      name,
      documents,
      x: (near?.x ?? 0) + far * Math.cos(angle),
      y: (near?.y ?? 0) + far * Math.sin(angle),
      vx: 0,
      vy: 0
    })
  }
  const known = new Set(edges.map(({ from, to }) => `${from}\n${to}`))
  const fresh = joined.filter(
    ({ from, to }) =>
      all.has(from) && all.has(to) && from !== to && !known.has(`${from}\n${to}`) && !known.has(`${to}\n${from}`)
  )
  return { nodes: all, edges: [...edges, ...fresh] }
}

const wanted = 120

/** One step of the forces: names push each other away, edges pull, and all is drawn to the middle. */
export const settle = ({ edges, nodes }: Network, heat: number): void => {
  const all = [...nodes.values()]
  for (const [at, a] of all.entries()) {
    for (const b of all.slice(at + 1)) {
      const [dx, dy] = [b.x - a.x || 0.1, b.y - a.y || 0.1]
      const squared = Math.max(100, dx * dx + dy * dy)
      const push = (9000 * heat) / squared
      const distance = Math.sqrt(squared)
      a.vx -= (push * dx) / distance
      a.vy -= (push * dy) / distance
      b.vx += (push * dx) / distance
      b.vy += (push * dy) / distance
    }
    a.vx -= 0.012 * heat * a.x
    a.vy -= 0.012 * heat * a.y
  }
  for (const { from, to } of edges) {
    const [a, b] = [nodes.get(from)!, nodes.get(to)!]
    const [dx, dy] = [b.x - a.x, b.y - a.y]
    const distance = Math.max(1, Math.hypot(dx, dy))
    const pull = (0.04 * heat * (distance - wanted)) / distance
    a.vx += pull * dx
    a.vy += pull * dy
    b.vx -= pull * dx
    b.vy -= pull * dy
  }
  for (const node of all) {
    node.x += node.vx *= 0.8
    node.y += node.vy *= 0.8
  }
}

/** What the canvas shows: its middle in the drawing's measure, and how large. */
export interface Lens {
  readonly x: number
  readonly y: number
  readonly zoom: number
}

/** The lens in which everything is seen. */
export const fitting = ({ nodes }: Network, width: number, height: number): Lens => {
  const all = [...nodes.values()]
  if (all.length === 0) return { x: 0, y: 0, zoom: 1 }
  const [left, right] = [Math.min(...all.map(({ x }) => x)), Math.max(...all.map(({ x }) => x))]
  const [top, bottom] = [Math.min(...all.map(({ y }) => y)), Math.max(...all.map(({ y }) => y))]
  const zoom = Math.min(width / (right - left + 200), height / (bottom - top + 100), 1.5)
  return { x: (left + right) / 2, y: (top + bottom) / 2, zoom: Math.max(0.1, zoom) }
}

export interface Picked {
  readonly node?: string | undefined
  readonly edge?: Edge | undefined
}

const radius = ({ documents }: Node): number => 4 + Math.min(10, Math.sqrt(documents) * 1.5)

const distanceTo = (x: number, y: number, a: Node, b: Node): number => {
  const [dx, dy] = [b.x - a.x, b.y - a.y]
  const along = Math.max(0, Math.min(1, ((x - a.x) * dx + (y - a.y) * dy) / Math.max(1, dx * dx + dy * dy)))
  return Math.hypot(x - a.x - along * dx, y - a.y - along * dy)
}

/** What is drawn at a point. */
export const at = ({ edges, nodes }: Network, x: number, y: number, zoom: number): Picked => {
  const near = 6 / zoom
  for (const node of [...nodes.values()].toReversed()) {
    if (Math.hypot(node.x - x, node.y - y) <= radius(node) + near) return { node: node.name }
  }
  const edge = edges.find(({ from, to }) => distanceTo(x, y, nodes.get(from)!, nodes.get(to)!) <= near)
  return edge === undefined ? {} : { edge }
}

export interface Colours {
  readonly ink: string
  readonly soft: string
  readonly thread: string
  readonly paper: string
  readonly font: string
}

/** Whether a name is that of a file. */
export const isPath = (name: string): boolean => /[/\\]/.test(name) && !/\s/.test(name)

const longestLabel = 32

/** A name as the drawing has room for: of a path its end. */
const labelOf = (name: string): string =>
  name.length <= longestLabel
    ? name
    : isPath(name)
      ? `…${name.slice(1 - longestLabel)}`
      : `${name.slice(0, longestLabel - 1)}…`

export const draw = (
  context: CanvasRenderingContext2D,
  { edges, nodes }: Network,
  { x, y, zoom }: Lens,
  { edge: pickedEdge, node: pickedNode }: Picked,
  { font, ink, paper, soft, thread }: Colours,
  { height, width }: { readonly width: number; readonly height: number }
): void => {
  context.clearRect(0, 0, width, height)
  context.save()
  context.translate(width / 2, height / 2)
  context.scale(zoom, zoom)
  context.translate(-x, -y)
  for (const edge of edges) {
    const [a, b] = [nodes.get(edge.from)!, nodes.get(edge.to)!]
    const isPicked = edge === pickedEdge || edge.from === pickedNode || edge.to === pickedNode
    context.beginPath()
    context.moveTo(a.x, a.y)
    context.lineTo(b.x, b.y)
    context.strokeStyle = isPicked ? thread : soft
    context.lineWidth = (edge === pickedEdge ? 3 : isPicked ? 1.4 : 0.7) / zoom
    context.stroke()
  }
  context.font = `${12 / zoom}px ${font}`
  context.textAlign = "center"
  for (const node of nodes.values()) {
    const isPicked = node.name === pickedNode
    context.beginPath()
    context.arc(node.x, node.y, radius(node), 0, 2 * Math.PI)
    context.fillStyle = isPicked ? thread : soft
    context.fill()
    context.lineWidth = 2 / zoom
    context.strokeStyle = paper
    context.stroke()
    const label = labelOf(node.name)
    context.lineWidth = 3 / zoom
    context.strokeText(label, node.x, node.y + radius(node) + 14 / zoom)
    context.fillStyle = isPicked ? thread : ink
    context.fillText(label, node.x, node.y + radius(node) + 14 / zoom)
  }
  context.restore()
}
