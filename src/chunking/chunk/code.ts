import { isBlank, type Item, type Program, readItems, type Region } from "./definitions.ts"
import { readLines, syntaxOf } from "./codeLines.ts"
import { closes, lineCut } from "./lineUnits.ts"
import { cut, fits, type Measure, type Unit } from "./unit.ts"
import type { PassageSink } from "./passages.ts"
import { addSpan } from "./prose.ts"

/** Deeper nested definitions are treated as plain lines. */
const deepest = 6

type Range = Pick<Item, "from" | "to">

/**
 * Cuts a program at its definitions, in any language that indents bodies. A definition of a quarter of a passage or
 * more gets its own passages. Smaller neighbours, imports and similar lines are packed together, and anything less than
 * an eighth of a passage joins a neighbour. A definition too large for a passage is cut at its members in the same way,
 * or at its lines. The heading names the enclosing definitions, and the one that makes up at least half of the passage,
 * if any.
 */
export const addCode = (m: Measure, language: string | undefined, sink: PassageSink): void => {
  const syntax = syntaxOf(language)
  const program: Program = { text: m.text, lines: readLines(m, syntax), syntax }
  const { lines } = program
  const tokens = ({ from, to }: Range) => (lines.tokens[to] ?? 0) - (lines.tokens[from] ?? 0)
  const isWhole = (range: Range) => {
    let { from, to } = range
    while (from < to && isBlank(lines, from)) from++
    while (to > from && isBlank(lines, to - 1)) to--
    return from === to || fits(m, tokens(range), lines.start[from] ?? 0, lines.end[to - 1] ?? 0)
  }

  const cutRegion = (region: Region, depth: number): void => {
    const emit = (items: ReadonlyArray<Item>) => {
      if (items.length === 0) return
      const names = namesWithin(program, items)
      sink.add(lineUnits(m, program, items, region.base), (start, end) => [...region.path, ...names(start, end)])
    }
    /** Items too small to stand alone, preceded by the last one that is not. */
    let run: Array<Item> = []
    let standing: ReadonlyArray<Item> = []
    const items = readItems(program, region)
    if (isWhole(region)) return emit(items)
    for (const item of items) {
      const inner = isWhole(item) || depth === deepest ? undefined : innerRegion(program, item, region)
      if (inner === undefined && (item.name === undefined || tokens(item) < m.size / 4)) {
        run.push(item)
        continue
      }
      emit(standing)
      standing = []
      const joins = run.length > 0 && tokens(rangeOf(run)) < m.size / 8
      if (!joins) emit(run)
      const before = joins ? run : []
      run = []
      if (inner !== undefined) cutRegion({ ...inner, from: before[0]?.from ?? inner.from }, depth + 1)
      else if (isWhole(rangeOf([...before, item]))) standing = [...before, item]
      else {
        emit(before)
        standing = [item]
      }
    }
    const joined = [...standing, ...run]
    if (run.length > 0 && tokens(rangeOf(run)) < m.size / 8 && isWhole(rangeOf(joined))) return emit(joined)
    emit(standing)
    emit(run)
  }
  const all = { from: 0, to: lines.length, body: 0 }
  cutRegion({ ...all, base: leastIndent(program, all, -1), path: [] }, 0)
}

const rangeOf = (items: ReadonlyArray<Item>): Range => ({ from: items[0]?.from ?? 0, to: items.at(-1)?.to ?? 0 })

/** The least indentation of lines in code, among those more than `more` columns deep. */
const leastIndent = ({ lines }: Program, { from, to }: Range, more: number): number => {
  let least = Infinity
  for (let n = from; n < to; n++) {
    const indent = lines.indent[n] ?? 0
    if (indent > more && indent < least && lines.inside[n] !== true && !isBlank(lines, n)) least = indent
  }
  return least
}

/** The inside of an item that is too large; undefined if nothing is defined in it, so that it is cut into lines. */
const innerRegion = (program: Program, item: Item, { base, path }: Region): Region | undefined => {
  const { lines } = program
  const inner = leastIndent(program, { from: item.line + 1, to: item.to }, base)
  if (inner === Infinity) return undefined
  let body = item.line + 1
  while (body < item.to && ((lines.indent[body] ?? 0) < inner || isBlank(lines, body))) body++
  const region = {
    from: item.from,
    to: item.to,
    body,
    base: inner,
    path: [...path, ...(item.name === undefined ? [] : [item.name])]
  }
  if (item.name === undefined && readItems(program, region).every(({ name }) => name === undefined)) return undefined
  return region
}

const lineUnits = (
  m: Measure,
  { lines, syntax }: Program,
  items: ReadonlyArray<Item>,
  base: number
): ReadonlyArray<Unit> => {
  const units: Array<Unit> = []
  const begins = new Set(items.map((item) => item.from))
  const { from, to } = rangeOf(items)
  let afterBlank = false
  let afterComment = false
  for (let n = from; n < to; n++) {
    const start = lines.start[n] ?? 0
    const end = lines.end[n] ?? 0
    if (start < end) {
      const last = units.at(-1)
      const together = closes(m.text, start, end) || (afterComment && !afterBlank)
      if (last !== undefined)
        last.cut = begins.has(n)
          ? cut.block
          : lineCut((lines.indent[n] ?? 0) - base, afterBlank, together) + (lines.inside[n] === true ? cut.line : 0)
      afterComment = syntax.lineComments.some((mark) => m.text.startsWith(mark, start))
      const tokens = (lines.tokens[n + 1] ?? 0) - (lines.tokens[n] ?? 0)
      addSpan(m, units, { start, end, cut: cut.block, flow: 0, tokens })
    }
    afterBlank = start === end
  }
  return units
}

/** Names the definition that makes up at least half of a span, if there is one. Ask for spans in order. */
const namesWithin = ({ lines }: Program, items: ReadonlyArray<Item>) => {
  const named = items
    .filter(({ name }) => name !== undefined)
    .map(({ from, name, to }) => ({ start: lines.start[from] ?? 0, end: lines.end[to - 1] ?? 0, name }))
  let first = 0
  return (start: number, end: number): ReadonlyArray<string> => {
    while ((named[first]?.end ?? Infinity) <= start) first++
    const only = named[first]
    const next = named[first + 1]
    if (only?.name === undefined || only.start >= end || (next !== undefined && next.start < end)) return []
    return (Math.min(end, only.end) - Math.max(start, only.start)) * 2 >= end - start ? [only.name] : []
  }
}
