import { lowered, raised as power } from "../raised.ts"
import { isBlank, type Item, type Line, lineOf } from "./line.ts"

/** A gap wider than this, in font sizes, separates columns or cells. */
const wideGap = 1.3

type Strip = readonly [from: number, to: number]

/** The largest share of a page's runs that may cross a strip between columns. */
const crossingRuns = 0.06

/** Vertical strips that hardly any run crosses, as narrow as TeX's gutters, which are no wider than gaps between words. */
const stripsOf = (items: ReadonlyArray<Item>): ReadonlyArray<Strip> => {
  const runs = items.filter(({ text }) => text.trim() !== "")
  if (runs.length < 24) return []
  const left = runs.reduce((least, { x }) => Math.min(least, x), Infinity)
  const right = runs.reduce((most, { width, x }) => Math.max(most, x + width), 0)
  const strips: Array<[number, number]> = []
  for (let x = left + (right - left) * 0.15; x < right - (right - left) * 0.15; x++) {
    const crossed = runs.filter((run) => run.x < x && run.x + run.width > x).length
    if (crossed > runs.length * crossingRuns) continue
    const last = strips.at(-1)
    if (last !== undefined && x - last[1] < 1.5) last[1] = x
    else strips.push([x, x])
  }
  return strips.filter(([from, to]) => to - from >= narrowestGutter - 1)
}

/** Joins runs on one baseline to lines; a wide gap ends a line, and so does the gutter between two columns. */
export const linesOf = (items: ReadonlyArray<Item>): ReadonlyArray<Line> => {
  const strips = stripsOf(items)
  const parted = strips.length === 0 ? undefined : linesWithin(items, strips)
  // In narrow columns, gaps between words may look like a gutter.
  if (parted !== undefined && strips.length > 1) {
    if (guttersOf(parted).length === 2) return parted
    const justified = linesWithin(items, strips, justifiedGap)
    if (isProse(justified) && guttersOf(justified).length === 2) return justified
  }
  const lines = linesWithin(items, [])
  const gutters = guttersOf(lines)
  // Beside large type, the gutter is not a wide gap.
  if (gutters.length > 0) return linesWithin(items, gutters)
  return parted !== undefined && guttersOf(parted).length > 0 ? parted : lines
}

/** Widest gap between words of a justified line in a narrow column, in font sizes. */
const justifiedGap = 4

/** Whether most lines are long enough for prose in narrow columns, and most characters are small letters. */
const isProse = (lines: ReadonlyArray<Line>): boolean => {
  const lengths = lines.map(({ text }) => text.length).sort((a, b) => a - b)
  const all = lines.map(({ text }) => text).join("")
  return (lengths[lengths.length >> 1] ?? 0) >= 20 && (all.match(/\p{Ll}/gu)?.length ?? 0) >= all.length * 0.6
}

const linesWithin = (
  items: ReadonlyArray<Item>,
  strips: ReadonlyArray<Strip>,
  widest = wideGap
): ReadonlyArray<Line> => {
  const sorted = [...items].sort((a, b) => a.y - b.y || a.x - b.x)
  const rows: Array<Array<Item>> = []
  for (const item of sorted) {
    const row = rows.at(-1)
    // Superscripts and characters of another font are slightly off the baseline.
    if (row !== undefined && Math.abs(row[0]!.y - item.y) < Math.max(row[0]!.size, item.size) * 0.35) row.push(item)
    else rows.push([item])
  }
  const whole = withRaised(rows).map((row) => withPowers(row.sort((a, b) => a.x - b.x)))
  const starts = whole.map(gapStarts)
  return whole.flatMap((row, i) => split(row, strips, [starts[i - 1] ?? [], starts[i + 1] ?? []].flat(), widest))
}

/** A character below this share of its line's size is raised, if it is no further above the baseline than `above`. */
const raised = { size: 0.8, above: 0.6 }

/** The few letters and digits of a note or a power. */
const mark = /^[\p{L}\p{N}*\u2020\u2021,()+-]{1,5}$/u

/** A note's number is separated from the word before it, or from the note that it begins; a power is not. */
const noteAt = (sign: Item, host: Item): string => {
  const number = sign.text.trim()
  const begins = sign.x < host.x
  const isNote = begins ? host.text.length >= 10 : /\p{L}{2}[.,;:!?)"\u2019\u201d]?$/u.test(host.text.trimEnd())
  if (!/^\d{1,3}$/.test(number) || !isNote) return begins ? sign.text : power(sign.text, host.text)
  return begins ? `[${number}] ` : `[${number}]`
}

/** A character of a row is above or below its line if its baseline is off by this share of the size. */
const off = 0.08

/** Writes small characters off the baseline, right behind a larger run, as powers or in their lowered form. */
const withPowers = (row: ReadonlyArray<Item>): Array<Item> => {
  let host: Item | undefined
  return row.map((item) => {
    if (isBlank(item)) return item
    const isSmall =
      host !== undefined &&
      item.size < host.size * raised.size &&
      Math.abs(item.y - host.y) > host.size * off &&
      item.x - host.x - host.width < host.size * 0.3 &&
      mark.test(item.text.trim())
    if (!isSmall) {
      host = item
      return item
    }
    return { ...item, text: item.y < host!.y ? noteAt(item, host!) : lowered(item.text) }
  })
}

/** Puts raised characters into the rows of their words; fonts raise them further than a baseline may vary. */
const withRaised = (rows: ReadonlyArray<Array<Item>>): ReadonlyArray<Array<Item>> => {
  const merged: Array<Array<Item>> = []
  rows.forEach((row, i) => {
    const below = rows[i + 1]
    const signs = row.filter((item) => !isBlank(item))
    const hosts = below?.filter((item) => !isBlank(item)) ?? []
    const beside = (sign: Item) =>
      hosts.find(
        (host) =>
          sign.size < host.size * raised.size &&
          host.y - sign.y < host.size * raised.above &&
          (Math.abs(sign.x - host.x - host.width) < host.size * 0.3 ||
            (sign.x < host.x && host.x - sign.x - sign.width < host.size * 0.5))
      )
    if (
      below === undefined ||
      signs.length === 0 ||
      !signs.every((sign) => mark.test(sign.text.trim()) && beside(sign))
    )
      merged.push(row)
    else below.push(...signs.map((sign) => ({ ...sign, text: noteAt(sign, beside(sign)!), y: hosts[0]!.y })))
  })
  return merged
}

/** A gap wider than this, in font sizes, separates cells if a neighbouring row has a gap that ends at the same place. */
const cellGap = 0.7

/** The same between ideographs, which are written without spaces. */
const unspacedGap = 0.2

const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]$/u

const leastGap = (before: Item, after: Item): number =>
  Math.max(before.size, after.size) * (unspaced.test(before.text) && unspaced.test(after.text) ? unspacedGap : cellGap)

/** Largest distance between the starts of one column's cells, in points. */
const aligned = 1

/** Where runs begin after a gap that could separate cells. */
const gapStarts = (row: ReadonlyArray<Item>): ReadonlyArray<number> => {
  const starts: Array<number> = []
  let last: Item | undefined
  for (const item of row) {
    if (isBlank(item)) continue
    if (last !== undefined && item.x - last.x - last.width > leastGap(last, item)) starts.push(item.x)
    last = item
  }
  return starts
}

const split = (
  row: ReadonlyArray<Item>,
  strips: ReadonlyArray<Strip>,
  beside: ReadonlyArray<number>,
  widest: number
): ReadonlyArray<Line> => {
  const lines: Array<Line> = []
  let run: Array<Item> = []
  /** Spaces as wide as the gap, which some programs write between two cells. */
  let spaces: Array<Item> = []
  let last: Item | undefined
  for (const item of row) {
    if (isBlank(item)) {
      spaces.push(item)
      continue
    }
    if (last !== undefined) {
      const end = last.x + last.width
      const gap = item.x - end
      const size = Math.max(last.size, item.size)
      const isCell = gap > leastGap(last, item) && beside.some((x) => Math.abs(x - item.x) < aligned)
      if (gap > size * widest || isCell || strips.some(([from, to]) => end <= from + 1.5 && item.x >= to - 1.5)) {
        lines.push(lineOf(run))
        run = []
        spaces = []
      }
    }
    run.push(...spaces, item)
    spaces = []
    last = item
  }
  if (run.length > 0) lines.push(lineOf(run))
  return lines.filter(({ text }) => text.trim() !== "")
}

/** Least width of a gutter, in points. */
const narrowestGutter = 7

/** Largest share of the lines beside a gutter that may cross it: titles, figures and tables over the whole width. */
const crossing = 0.25

/** A column's lines fill at least this share of it; a table's cells do not. */
const filled = 0.55

/** Or enough lines fill it whole, beside figures, formulas and code. */
const full = 0.85
const leastFull = 10

/** Most strips that are tried as gutters in pairs; the least crossed come first. */
const mostTried = 12

/** The gutters between columns, as x from and to, in order; at most two. */
const guttersOf = (lines: ReadonlyArray<Line>): ReadonlyArray<readonly [from: number, to: number]> => {
  if (lines.length < 12) return []
  const left = Math.min(...lines.map(({ x }) => x))
  const right = Math.max(...lines.map(({ right }) => right))
  const candidates: Array<{ from: number; to: number; crossed: number }> = []
  const step = 1
  for (let x = left + (right - left) * 0.15; x < right - (right - left) * 0.15; x += step) {
    const crossed = lines.filter((line) => line.x < x && line.right > x).length
    const last = candidates.at(-1)
    if (crossed > lines.length * crossing) continue
    // A page number may stand within a gutter.
    if (last !== undefined && last.to + step >= x && Math.abs(last.crossed - crossed) <= 1) last.to = x
    else candidates.push({ from: x, to: x, crossed })
  }
  const sound = candidates
    .filter(({ from, to }) => to - from >= narrowestGutter - step)
    .sort((a, b) => a.crossed - b.crossed || b.to - b.from - (a.to - a.from))
  const isApart = (a: Strip, b: Strip): boolean =>
    Math.abs((a[0] + a[1]) / 2 - (b[0] + b[1]) / 2) >= (right - left) * 0.15
  const likely = sound.slice(0, mostTried).map(({ crossed, from, to }) => ({ crossed, strip: [from, to] as const }))
  // Of three columns, the two beside one gutter are not a column that lines fill, so both gutters are tried first.
  const pairs = likely
    .flatMap((one, i) => likely.slice(i + 1).map((other) => ({ one, other })))
    .filter(({ one, other }) => isApart(one.strip, other.strip))
    .map(({ one, other }) => ({
      crossed: one.crossed + other.crossed,
      strips: [one.strip, other.strip].sort((a, b) => a[0] - b[0])
    }))
    .sort((a, b) => a.crossed - b.crossed)
  const pair = pairs.find(({ strips }) => areColumns(lines, strips, left, right))
  if (pair !== undefined) return pair.strips
  const one = sound.find(({ from, to }) => areColumns(lines, [[from, to]], left, right))
  return one === undefined ? [] : [[one.from, one.to]]
}

/** Whether each column between the gutters has enough lines, and lines that fill it. */
const areColumns = (
  lines: ReadonlyArray<Line>,
  gutters: ReadonlyArray<readonly [number, number]>,
  left: number,
  right: number
): boolean => {
  const edges = [left, ...gutters.flat(), right]
  for (let i = 0; i < edges.length; i += 2) {
    const [from, to] = [edges[i]!, edges[i + 1]!]
    const inside = lines.filter((line) => line.x >= from - 2 && line.right <= to + 2)
    if (inside.length < lines.length * 0.15) return false
    const widths = inside.map((line) => (line.right - line.x) / (to - from)).sort((a, b) => a - b)
    const whole = widths.filter((width) => width >= full).length
    const isText = whole >= leastFull && whole >= widths.length * 0.2
    if ((widths[widths.length >> 1] ?? 0) < filled && !isText) return false
  }
  return true
}

const byHeight = (a: Line, b: Line) => a.y - b.y || a.x - b.x

/** Lines of a band that is looked at for columns; fewer may be a table. */
const leastBand = 30

/** The lines from top to bottom, divided by those that cross the place in the middle that fewest cross. */
const bandsOf = (lines: ReadonlyArray<Line>): ReadonlyArray<ReadonlyArray<Line>> => {
  const left = Math.min(...lines.map(({ x }) => x))
  const right = Math.max(...lines.map(({ right }) => right))
  const crossed = (x: number) => (line: Line) => line.x < x && line.right > x
  let best = { x: 0, count: Infinity }
  for (let x = left + (right - left) * 0.35; x < left + (right - left) * 0.65; x += 2) {
    const count = lines.filter(crossed(x)).length
    if (count < best.count) best = { x, count }
  }
  const bands: Array<Array<Line>> = []
  let wasWide: boolean | undefined
  for (const line of [...lines].sort(byHeight)) {
    const isWide = crossed(best.x)(line)
    if (isWide === wasWide) bands.at(-1)!.push(line)
    else bands.push([line])
    wasWide = isWide
  }
  return bands
}

/** Lines in reading order: a line across several columns ends what is above it. */
export const readingOrder = (lines: ReadonlyArray<Line>): ReadonlyArray<ReadonlyArray<Line>> => {
  const gutters = guttersOf(lines)
  if (gutters.length === 0) {
    // A figure or a table over the whole width may hide the columns above or below it.
    const bands = lines.length > leastBand ? bandsOf(lines) : [lines.toSorted(byHeight)]
    const runs: Array<Array<Line>> = []
    let isOpen = false
    for (const band of bands) {
      const inColumns = band.length >= leastBand && band.length < lines.length && guttersOf(band).length > 0
      if (inColumns) runs.push(...readingOrder(band).map((run) => [...run]))
      else if (isOpen) runs.at(-1)!.push(...band)
      else runs.push([...band])
      isOpen = !inColumns
    }
    return runs
  }
  const columnOf = (line: Line): number | undefined => {
    const crossed = gutters.some(([from, to]) => line.x < from && line.right > to)
    return crossed ? undefined : gutters.filter(([from, to]) => line.x >= (from + to) / 2).length
  }
  const runs: Array<ReadonlyArray<Line>> = []
  let columns: Array<Array<Line>> = Array.from({ length: gutters.length + 1 }, () => [])
  let wide: Array<Line> = []
  const flushColumns = () => {
    runs.push(...columns.filter((column) => column.length > 0))
    columns = columns.map(() => [])
  }
  const flushWide = () => {
    if (wide.length > 0) runs.push(wide)
    wide = []
  }
  for (const line of [...lines].sort(byHeight)) {
    const column = columnOf(line)
    if (column === undefined) {
      flushColumns()
      wide.push(line)
    } else {
      flushWide()
      columns[column]!.push(line)
    }
  }
  flushColumns()
  flushWide()
  return runs
}
