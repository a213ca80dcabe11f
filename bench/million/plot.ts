/** A method's medians by size. */
export interface Line {
  readonly name: string
  readonly points: ReadonlyArray<{ readonly size: number; readonly ms: number }>
}

const frame = { width: 760, height: 420, left: 56, right: 230, top: 16, bottom: 40 }
const colors = ["#1b6ca8", "#c8553d", "#2a9d5c", "#8a4fbe", "#b8860b", "#4a4a4a", "#d14f8f", "#1f9e9e"]

const decades = (from: number, to: number): ReadonlyArray<number> =>
  Array.from({ length: Math.round(to - from) + 1 }, (_, n) => 10 ** (from + n))

const label = (value: number): string =>
  value >= 1e6 ? `${value / 1e6}M` : value >= 1e3 ? `${value / 1e3}k` : String(Number(value.toPrecision(1)))

/** Passages against the median in milliseconds, on logarithmic axes. */
export const plot = (lines: ReadonlyArray<Line>): string => {
  const all = lines.flatMap(({ points }) => points)
  const bounds = (values: ReadonlyArray<number>) => {
    const logs = values.map((value) => Math.log10(Math.max(value, 0.01)))
    const [low, high] = [Math.floor(Math.min(...logs)), Math.ceil(Math.max(...logs))]
    return [low, high === low ? low + 1 : high] as const
  }
  const [x0, x1] = bounds(all.map(({ size }) => size))
  const [y0, y1] = bounds(all.map(({ ms }) => ms))
  const inner = { width: frame.width - frame.left - frame.right, height: frame.height - frame.top - frame.bottom }
  const x = (size: number) => (frame.left + ((Math.log10(size) - x0) / (x1 - x0)) * inner.width).toFixed(1)
  const y = (ms: number) =>
    (frame.top + (1 - (Math.log10(Math.max(ms, 0.01)) - y0) / (y1 - y0)) * inner.height).toFixed(1)
  const right = frame.left + inner.width
  const bottom = frame.top + inner.height
  const grid = [
    ...decades(x0, x1).map(
      (size) =>
        `<path d="M${x(size)} ${frame.top}V${bottom}" class="g"/><text x="${x(size)}" y="${bottom + 18}" text-anchor="middle">${label(size)}</text>`
    ),
    ...decades(y0, y1).map(
      (ms) =>
        `<path d="M${frame.left} ${y(ms)}H${right}" class="g"/><text x="${frame.left - 8}" y="${y(ms)}" dy="4" text-anchor="end">${label(ms)}</text>`
    )
  ]
  const drawn = lines.map(({ name, points }, n) => {
    const color = colors[n % colors.length]!
    const path = points.map(({ ms, size }, at) => `${at === 0 ? "M" : "L"}${x(size)} ${y(ms)}`).join("")
    const dots = points.map(({ ms, size }) => `<circle cx="${x(size)}" cy="${y(ms)}" r="3"/>`).join("")
    const row = frame.top + 10 + n * 20
    return (
      `<g stroke="${color}" fill="${color}"><path d="${path}" fill="none" stroke-width="2"/>${dots}` +
      `<path d="M${right + 20} ${row}h18" stroke-width="3"/></g><text x="${right + 44}" y="${row}" dy="4">${name}</text>`
    )
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${frame.width} ${frame.height}" font-family="sans-serif" font-size="12">`,
    "<style>.g{stroke:#ddd;fill:none}</style>",
    `<rect width="${frame.width}" height="${frame.height}" fill="#fff"/>`,
    ...grid,
    ...drawn,
    `<text x="${frame.left + inner.width / 2}" y="${frame.height - 6}" text-anchor="middle">passages</text>`,
    `<text x="14" y="${frame.top + inner.height / 2}" text-anchor="middle" transform="rotate(-90 14 ${frame.top + inner.height / 2})">p50, ms</text>`,
    "</svg>\n"
  ].join("\n")
}
