import { countBefore } from "../../model/numbers.ts"
import { plainHeading } from "./headings.ts"
import { addCode, addTable } from "./lineUnits.ts"
import { type Block, columns, type Heading, type MarkdownSink } from "./markdown.ts"
import { append, cut, fits, type Measure, type Unit } from "./unit.ts"
import type { PassageSink } from "./passages.ts"
import { addProse, addSpan, eachParagraph } from "./prose.ts"
import { type TableHeaders, tableHeaders } from "./tables.ts"

/** The content below one heading, up to the next heading of any level. */
interface Section {
  /** 0: before the first heading. */
  readonly level: number
  /** Its headings, down to its own. */
  readonly path: ReadonlyArray<string>
  readonly units: Array<Unit>
  /** Whether it contains anything except headings. */
  hasBody: boolean
}

const tokensOf = (units: ReadonlyArray<Unit>): number => units.reduce((sum, unit) => sum + unit.tokens, 0)

/**
 * Cuts a document by its headings. Each section gets its own passages, under its own heading path, with three exceptions:
 * - a heading without text of its own joins the next section, whose path the passage has;
 * - labels, up to a quarter of a passage, belong to the heading that they stand before;
 * - a section of less than an eighth of a passage is joined with the next ones, beside or below it, while they stay
 *   within half a passage; the path is then their common one.
 *
 * A passage that holds a part of one of the `items` has its term in the path, too.
 */
export const addSections = (
  m: Measure,
  scan: (sink: MarkdownSink) => void,
  sink: PassageSink,
  items?: ReturnType<typeof openItems>
): void => {
  let group: Section = { level: 0, path: [], units: [], hasBody: false }
  let section = group

  const flush = () => {
    const { path, units } = group
    sink.add(units, (start, end) => [...path, ...(items?.around(start, end) ?? [])], tables.at)
  }
  const finish = () => {
    if (section === group) return
    const joined = join(m, group, section)
    if (joined === undefined) flush()
    group = joined ?? section
    section = group
  }
  const tables = tableHeaders(m)
  const writer = blockWriter(m, tables)
  const path: Array<{ readonly level: number; readonly title: string }> = []
  /** Labels that no heading or block has followed yet. */
  let held: Block | undefined

  const write = (block: Block | undefined) => {
    if (block === undefined) return
    items?.add(block)
    writer.write(section.units, block)
    section.hasBody = true
  }

  const leave = (level: number) => {
    finish()
    while ((path.at(-1)?.level ?? 0) >= level) path.pop()
  }

  scan({
    block: (block) => {
      const labels = block.kind === "label" ? { ...block, start: held?.start ?? block.start } : undefined
      const fits = labels !== undefined && labels.end - labels.start <= m.width / 4
      if (!fits) {
        write(held)
        write(block)
      }
      held = fits ? labels : undefined
    },
    leave: (level) => {
      leave(level)
      section = { level: path.at(-1)?.level ?? 0, path: titles(path), units: [], hasBody: false }
    },
    heading: (heading) => {
      items?.close()
      leave(heading.level)
      path.push({ level: heading.level, title: plainHeading(m.text.slice(...heading.title)) })
      section = { level: heading.level, path: titles(path), units: [], hasBody: false }
      writer.heading(section.units, { ...heading, start: held?.start ?? heading.start })
      held = undefined
    }
  })
  write(held)
  finish()
  flush()
}

const titles = (path: ReadonlyArray<{ readonly title: string }>): ReadonlyArray<string> =>
  path.map(({ title }) => title).filter((title) => title !== "")

const join = (m: Measure, group: Section, next: Section): Section | undefined => {
  if (group.units.length === 0) return next
  if (!group.hasBody) return { ...next, units: concat(m, group.units, next.units) }
  if (!next.hasBody || next.level < group.level) return undefined
  const tokens = tokensOf(group.units)
  if (tokens >= m.size / 8 || tokens + tokensOf(next.units) > m.size / 2) return undefined
  return {
    level: group.level,
    path: group.level === 0 ? next.path : common(group.path, next.path),
    units: concat(m, group.units, next.units),
    hasBody: true
  }
}

const concat = (m: Measure, units: Array<Unit>, more: ReadonlyArray<Unit>): Array<Unit> => {
  for (const unit of more) append(m, units, unit)
  return units
}

const common = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): ReadonlyArray<string> => {
  const differ = a.findIndex((title, i) => title !== b[i])
  return differ < 0 ? a : a.slice(0, differ)
}

/** Turns blocks into units. Adjacent paragraphs form one flow, everything else is separate. */
const blockWriter = (m: Measure, tables: TableHeaders) => {
  let flow = 1
  let last: Block["kind"] | "heading" = "heading"
  let pending = 0

  const whole = (units: Array<Unit>, { end, start }: Block): boolean => {
    if (end - start > m.longest) return false
    const tokens = m.count(start, end)
    if (!fits(m, tokens + pending, start, end)) return false
    addSpan(m, units, { start, end, cut: cut.block, flow: 0, tokens })
    return true
  }

  return {
    heading: (units: Array<Unit>, { end, start }: Heading) => {
      addSpan(m, units, { start, end, cut: cut.heading, flow: 0 })
      pending = last === "heading" ? pending + tokensOf(units) : tokensOf(units)
      last = "heading"
    },
    write: (units: Array<Unit>, block: Block) => {
      const { depth, end, kind, start } = block
      const above = units.at(-1)
      if (above !== undefined && last === "item" && above.cut < cut.introduction)
        if (kind === "item") above.cut = cut.item + cut.nesting * depth
        else if (depth > 0) above.cut = cut.sentence / 2
      if (kind !== "paragraph" || last !== "paragraph") flow++
      switch (kind) {
        case "paragraph":
          addProse(m, units, { start, end, flow, before: pending })
          break
        case "item":
          addProse(m, units, { start, end, flow, before: pending, cut: introduces(m.text, end) })
          break
        case "text":
          eachParagraph(m.text, start, end, (start, end) => addProse(m, units, { start, end, flow, before: pending }))
          break
        case "label":
          addProse(m, units, { start, end, flow, before: pending, cut: cut.introduction })
          break
        case "rule":
          addSpan(m, units, { start, end, cut: cut.introduction, flow: 0 })
          break
        case "code":
          if (!whole(units, block)) addCode(m, units, start, end)
          break
        case "table":
          if (!whole(units, block)) addTable(m, units, [start, end], tables.add(start, end))
      }
      last = kind
      pending = 0
    }
  }
}

const introduces = (text: string, end: number): number => (text.charAt(end - 1) === ":" ? cut.introduction : cut.block)

/** The longest first line of an item that names what the item is about. */
const longestTerm = 120
/** Most terms of a passage: lists may be deep. */
const mostTerms = 3

interface Item {
  readonly term: string
  readonly level: number
  readonly start: number
  end: number
  readonly outer: Item | undefined
}

/** Lists' items by their first lines, for passages that hold a part of one: an option's further paragraphs do not name it. */
export const openItems = (text: string) => {
  const all: Array<Item> = []
  let open: Item | undefined
  return {
    add: ({ depth, end, kind, start }: Block): void => {
      const level = kind === "item" ? depth : Math.min(8, indentBefore(text, start) >> 1)
      while (open !== undefined && open.level >= level) open = open.outer
      for (let item = open; item !== undefined; item = item.outer) item.end = end
      if (kind !== "item") return
      const line = text.slice(start, Math.min(end, start + 2 * longestTerm)).split(/[\r\n]/, 1)[0]!
      const term = plainHeading(
        line.replace(/^(?:[-*+]|\d{1,9}[.)])\s{1,8}(?:\[[ xX]\]\s)?/, "").replace(/:{1,4}$/, "")
      )
      if (term === "" || term.length > longestTerm) return
      open = { term, level, start, end, outer: open }
      all.push(open)
    },
    close: (): void => {
      open = undefined
    },
    /** The terms of the innermost items of which a span is a part, outermost first. */
    around: (start: number, end: number): ReadonlyArray<string> => {
      const last = all[countBefore(all.length, (at) => all[at]!.start <= start) - 1]
      const terms: Array<string> = []
      for (let item = last; item !== undefined && terms.length < mostTerms; item = item.outer) {
        if (start < item.end && (item.start < start || end < item.end)) terms.push(item.term)
      }
      return terms.reverse()
    }
  }
}

/** The columns of white space before a place in its line. */
const indentBefore = (text: string, place: number): number => {
  let at = place
  while (place - at < 64 && (text[at - 1] === " " || text[at - 1] === "\t")) at--
  return columns(text, at, place)
}
