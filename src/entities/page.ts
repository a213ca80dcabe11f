import type { Network } from "./network.ts"

/** A network with coordinates for every node. */
export interface Placed extends Network {
  readonly places: ReadonlyArray<readonly [x: number, y: number]>
}

/** JSON that is safe inside a script element: no text can close it. */
const embedded = (value: unknown): string =>
  JSON.stringify(value)
    .replace(/</gu, "\\u003c")
    .replace(/[\u2028\u2029]/gu, (sign) => `\\u${sign.codePointAt(0)!.toString(16)}`)

const style = `
  :root { color-scheme: light dark }
  body { margin: 0; font: 14px system-ui, sans-serif; display: grid; grid-template-columns: 1fr 22rem; height: 100vh }
  canvas { width: 100%; height: 100vh; display: block; cursor: grab; background: Canvas }
  aside { overflow: auto; padding: 1rem; border-left: 1px solid color-mix(in srgb, CanvasText 20%, Canvas) }
  input { width: 100%; box-sizing: border-box; font: inherit; padding: .4rem }
  h2 { font-size: 1rem; overflow-wrap: anywhere } ul { padding-left: 1.1rem } li { margin: .2rem 0; overflow-wrap: anywhere }
  button { font: inherit; border: 0; background: none; padding: 0; color: LinkText; cursor: pointer; text-align: left }
  small { opacity: .7 }`

const script = `
  const { nodes, edges, places } = JSON.parse(document.getElementById("data").textContent)
  const canvas = document.querySelector("canvas"), box = canvas.getContext("2d"), side = document.getElementById("about")
  const search = document.querySelector("input"), found = document.getElementById("found")
  const at = new Map(nodes.map((node, i) => [node.id, i])), near = nodes.map(() => [])
  for (const edge of edges) { const a = at.get(edge.from), b = at.get(edge.to); near[a].push([b, edge]); near[b].push([a, edge]) }
  const most = nodes.reduce((max, node) => Math.max(max, node.rank), 1e-12)
  const radius = nodes.map((node) => 3 + 9 * Math.sqrt(node.rank / most))
  let scale = 1, dx = 0, dy = 0, chosen = -1, waiting = false
  const dark = matchMedia("(prefers-color-scheme: dark)")
  const fit = () => {
    let [l, t, r, b] = [Infinity, Infinity, -Infinity, -Infinity]
    for (const [x, y] of places) { l = Math.min(l, x); r = Math.max(r, x); t = Math.min(t, y); b = Math.max(b, y) }
    scale = places.length ? .9 * Math.min(canvas.clientWidth / (r - l + 20), canvas.clientHeight / (b - t + 20)) : 1
    dx = canvas.clientWidth / 2 - scale * (l + r) / 2 || 0; dy = canvas.clientHeight / 2 - scale * (t + b) / 2 || 0
  }
  const draw = () => {
    waiting = false
    const ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight
    if (canvas.width !== w * ratio) canvas.width = w * ratio
    if (canvas.height !== h * ratio) canvas.height = h * ratio
    box.setTransform(ratio, 0, 0, ratio, 0, 0); box.clearRect(0, 0, w, h)
    const ink = dark.matches ? "255,255,255" : "0,0,0", lit = new Set(chosen < 0 ? [] : [chosen, ...near[chosen].map(([n]) => n)])
    const px = (i) => places[i][0] * scale + dx, py = (i) => places[i][1] * scale + dy
    for (const bright of [false, true]) {
      box.beginPath()
      for (const edge of edges) {
        const a = at.get(edge.from), b = at.get(edge.to)
        if (bright !== (a === chosen || b === chosen)) continue
        box.moveTo(px(a), py(a)); box.lineTo(px(b), py(b))
      }
      box.strokeStyle = "rgba(" + ink + (bright ? ",.8)" : ",.12)"); box.stroke()
    }
    box.font = "12px system-ui, sans-serif"
    const labels = []
    nodes.forEach((node, i) => {
      const x = px(i), y = py(i), r = radius[i] * Math.min(1.6, Math.max(.5, scale))
      if (x < -20 || y < -20 || x > w + 20 || y > h + 20) return
      box.globalAlpha = chosen < 0 || lit.has(i) ? 1 : .25
      box.fillStyle = node.kind === "entity" ? "#d9822b" : "#2b7bd9"
      box.beginPath(); box.arc(x, y, r, 0, 7); box.fill()
      if (lit.has(i) || (chosen < 0 && labels.length < 40 && r > 4)) labels.push([node.label, x + r + 3, y + 4])
    })
    box.globalAlpha = 1; box.fillStyle = "rgb(" + ink + ")"
    for (const [label, x, y] of labels.slice(0, 80)) box.fillText(label.length > 40 ? label.slice(0, 39) + "\\u2026" : label, x, y)
  }
  const redraw = () => { if (!waiting) { waiting = true; requestAnimationFrame(draw) } }
  const link = (i) => { const b = document.createElement("button"); b.textContent = nodes[i].label; b.onclick = () => choose(i, true); return b }
  const choose = (i, move) => {
    chosen = i; side.replaceChildren(); canvas.dataset.chosen = i < 0 ? "" : nodes[i].label
    if (i >= 0) {
      const node = nodes[i], title = document.createElement("h2"), list = document.createElement("ul"), sub = document.createElement("small")
      title.textContent = node.label; sub.textContent = node.kind + (node.source ? ", " + node.source : "")
      for (const [n, edge] of near[i].slice(0, 200)) {
        const item = document.createElement("li"), say = document.createElement("small")
        say.textContent = " " + edge.relation + " in " + (nodes[at.get(edge.from)].source || "") + (edge.locator || ":" + edge.line)
        item.append(link(n), say); list.append(item)
      }
      side.append(title, sub, list)
      if (move) { scale = Math.max(scale, 1); dx = canvas.clientWidth / 2 - places[i][0] * scale; dy = canvas.clientHeight / 2 - places[i][1] * scale }
    }
    redraw()
  }
  let from, moved
  canvas.onpointerdown = (e) => { from = [e.clientX - dx, e.clientY - dy]; moved = 0; canvas.setPointerCapture(e.pointerId) }
  canvas.onpointermove = (e) => { if (!from) return; const x = e.clientX - from[0], y = e.clientY - from[1]; moved += Math.abs(x - dx) + Math.abs(y - dy); dx = x; dy = y; redraw() }
  canvas.onpointerup = (e) => {
    from = undefined
    if (moved > 4) return
    const x = e.offsetX, y = e.offsetY
    let best = -1, least = 15
    places.forEach(([a, b], i) => { const d = Math.hypot(a * scale + dx - x, b * scale + dy - y) - radius[i]; if (d < least) { least = d; best = i } })
    choose(best, false)
  }
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault()
    const by = Math.exp(-e.deltaY / 500)
    dx = e.offsetX - (e.offsetX - dx) * by; dy = e.offsetY - (e.offsetY - dy) * by; scale *= by; redraw()
  }, { passive: false })
  search.oninput = () => {
    const text = search.value.trim().toLowerCase()
    found.replaceChildren()
    if (text) nodes.map((node, i) => [node, i]).filter(([node]) => node.label.toLowerCase().includes(text)).slice(0, 20)
      .forEach(([, i]) => { const item = document.createElement("li"); item.append(link(i)); found.append(item) })
  }
  addEventListener("resize", redraw); dark.onchange = redraw
  fit(); redraw()`

/** The network as a self-contained page: pan, zoom, search, click a node for its evidence. It fetches nothing. */
export const toPage = (network: Placed, title: string): string =>
  [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'\">",
    `<title>${title.replace(/[<&]/gu, " ")}</title><style>${style}</style></head>`,
    '<body><canvas></canvas><aside><input type="search" placeholder="Find a document or a name" aria-label="Find"><ul id="found"></ul>',
    `<p><small>${network.nodes.length} nodes, ${network.edges.length} edges; blue documents, orange names. Drag, scroll, click.</small></p>`,
    '<div id="about"></div></aside>',
    `<script type="application/json" id="data">${embedded(network)}</script><script>${script}</script></body></html>`
  ].join("\n")
