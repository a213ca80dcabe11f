import type { MarkdownWriter } from "../MarkdownWriter.ts"
import type { Line } from "./line.ts"

/** Joins a word split at a line's end; a hyphen before a capital or a digit belongs to the word. */
const joinLines = (text: string, next: string): string => {
  if (/\p{Ll}-$/u.test(text) && /^\p{Ll}/u.test(next)) return text.slice(0, -1) + next
  if (/[\u00ad]$/u.test(text)) return text.slice(0, -1) + next
  // Scripts without spaces are joined without one.
  if (
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]$/u.test(text) &&
    /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u.test(next)
  )
    return text + next
  return `${text} ${next}`
}

/** What is known of the whole document before its pages are written. */
interface Style {
  /** Heading sizes larger than the text's, with their levels. */
  readonly sizes: ReadonlyMap<number, number>
  /** Level of bold lines that begin with a number. */
  readonly numbered: number
  /** Level of an outline title, by page and title. */
  readonly outline: ReadonlyMap<string, number>
}

export const outlineKey = (page: number, title: string): string =>
  `${page}/${title.replace(/[^\p{L}\p{N}]+/gu, "").toLowerCase()}`

/** Sizes differ if they are half a point apart. */
const rounded = (size: number): number => Math.round(size * 2) / 2

const sectionNumber = /^(?:(?:chapter|appendix|part|section)\s+)?(?:\d{1,3}|[A-Z])(?:\.\d{1,3}){0,5}[.:]?\s+(?=\S)/i

/** A line's level in the outline, whose titles may lack the number that the page shows. */
const outlined = (outline: Style["outline"], page: number, text: string): number | undefined =>
  outline.size === 0
    ? undefined
    : (outline.get(outlineKey(page, text)) ?? outline.get(outlineKey(page, text.replace(sectionNumber, ""))))

const listed = /^[•▪◦‣∙·●○■□–—*|]|…|(?:\. ?){4}/

const longest = 200

/** Whether a line can be a heading: not a list item or an entry of a table of contents. */
const mayHead = ({ text }: Line): boolean => text.length <= longest && /\p{L}{2}/u.test(text) && !listed.test(text)

const numberedHeading = /^(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[IVX]{1,4}\.|Chapter \d+|Abstract|References)(?:\s|$)/

const levelOf = (style: Style, page: number, line: Line): number | undefined => {
  if (!mayHead(line)) return undefined
  const level = outlined(style.outline, page, line.text) ?? style.sizes.get(rounded(line.size))
  if (level !== undefined) return level
  return line.bold && numberedHeading.test(line.text) && line.text.length < 100 ? style.numbered : undefined
}

/** The heading that begins at a line, with the next line if both form one heading. */
const headingAt = (
  style: Style,
  page: number,
  line: Line,
  next: Line | undefined
): { readonly level: number; readonly text: string; readonly lines: number } | undefined => {
  const follows =
    next !== undefined && Math.abs(next.size - line.size) < 0.3 && next.y > line.y && next.y - line.y < line.size * 1.6
  if (follows && mayHead(line)) {
    const text = joinLines(line.text, next.text)
    const level = outlined(style.outline, page, text)
    if (level !== undefined) return { level, text, lines: 2 }
  }
  const level = levelOf(style, page, line)
  if (level === undefined) return undefined
  const goesOn =
    follows && outlined(style.outline, page, line.text) === undefined && levelOf(style, page, next) === level
  return goesOn ? { level, text: joinLines(line.text, next.text), lines: 2 } : { level, text: line.text, lines: 1 }
}

/** Number of characters of each size. */
const charactersBySize = (lines: ReadonlyArray<Line>): ReadonlyMap<number, number> => {
  const counts = new Map<number, number>()
  for (const { size, text } of lines) counts.set(rounded(size), (counts.get(rounded(size)) ?? 0) + text.length)
  return counts
}

/** Headings of one size have less than this share of a document's characters. */
const rare = 0.2

/** Levels of sizes: from the outline if it names lines of that size, else by their order. */
export const styleOf = (pages: ReadonlyArray<ReadonlyArray<Line>>, outline: ReadonlyMap<string, number>): Style => {
  const counts = charactersBySize(pages.flat())
  const body = [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 10
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const found = [...counts]
    .filter(([size, characters]) => size > body * 1.12 && characters < total * rare)
    .map(([size]) => size)
    .sort((a, b) => b - a)
    .slice(0, 5)
  const votes = new Map<number, Array<number>>()
  pages.forEach((lines, index) => {
    for (const line of lines) {
      const level = mayHead(line) ? outlined(outline, index + 1, line.text) : undefined
      if (level !== undefined) votes.set(rounded(line.size), [...(votes.get(rounded(line.size)) ?? []), level])
    }
  })
  const sizes = new Map<number, number>()
  let deepest = 0
  for (const size of found) {
    const levels = (votes.get(size) ?? []).sort((a, b) => a - b)
    // A smaller size has no higher level.
    deepest = levels.length > 0 ? levels[levels.length >> 1]! : Math.min(6, deepest + 1)
    sizes.set(size, deepest)
  }
  return { sizes, numbered: Math.min(6, deepest + 1), outline }
}

/** A line distance above this factor ends a paragraph, as do an indent, a bullet and another size. */
const gapFactor = 1.55

/** A line that ends this share of the column before its edge is the last of its paragraph. */
const shortBy = 0.2

/** The same if nothing else ends a paragraph: items whose bullets are drawn, verses, addresses. */
const farShort = 0.35

const bullet = /^(?:[•▪◦‣∙·●○■□–—*]|\(?\d{1,2}[.)]|\(?[a-z][.)])\s+(?=\S)/

/** A bullet alone, apart from its words. */
const lone = /^(?:[•▪◦‣∙·●○■□–—*-]|\(?\d{1,2}[.)]|\(?[a-z][.)])$/

/** Widest gap between a bullet and its words, in font sizes. */
const bulletGap = 3

/** Joins each bullet that is alone with its words. */
const withBullets = (lines: ReadonlyArray<Line>): ReadonlyArray<Line> => {
  const joined: Array<Line> = []
  for (let at = 0; at < lines.length; at++) {
    const [line, words, next] = [lines[at]!, lines[at + 1], lines[at + 2]]
    const beside = (a: Line, b: Line | undefined) => b !== undefined && Math.abs(a.y - b.y) < a.size * 0.35
    const isItem =
      !line.mono &&
      lone.test(line.text) &&
      words !== undefined &&
      beside(line, words) &&
      !beside(line, next) &&
      !beside(line, joined.at(-1)) &&
      words.x - line.right < line.size * bulletGap
    joined.push(isItem ? { ...words, x: line.x, text: `${line.text} ${words.text}` } : line)
    if (isItem) at++
  }
  return joined
}

/** How a bullet is written: a number unchanged, a letter with its words. */
const itemOf = (text: string): readonly [marker: string, words: string] => {
  const [sign = ""] = bullet.exec(text) ?? []
  const number = /^\(?(\d{1,2})[.)]/.exec(sign)?.[1]
  if (number !== undefined) return [`${number}.`, text.slice(sign.length)]
  return ["-", /^\(?[a-z]/.test(sign) ? text : text.slice(sign.length)]
}

/** Rows of a table: neighbours on one baseline, at least two such rows, one below the other. */
const tableFrom = (
  lines: ReadonlyArray<Line>,
  at: number
): { readonly rows: ReadonlyArray<ReadonlyArray<Line>>; readonly end: number } => {
  const rows: Array<ReadonlyArray<Line>> = []
  let end = at
  while (end < lines.length) {
    const row = [lines[end]!]
    while (end + row.length < lines.length && Math.abs(lines[end + row.length]!.y - row[0]!.y) < row[0]!.size * 0.35)
      row.push(lines[end + row.length]!)
    const last = rows.at(-1)?.[0]
    if (row.length < 2 || (last !== undefined && row[0]!.y - last.y > row[0]!.size * 3)) break
    rows.push(row)
    end += row.length
  }
  return { rows, end }
}

/** The columns of a table: their cells begin at the same place, or are centred above each other. */
const columnsOf = (rows: ReadonlyArray<ReadonlyArray<Line>>): ReadonlyArray<number> => {
  const columns: Array<{ x: number; right: number; rows: Set<number> }> = []
  const cells = rows.flatMap((row, at) => row.map((line) => ({ ...line, at })))
  for (const { at, right, size, x } of cells.sort((a, b) => a.x - b.x)) {
    const last = columns.at(-1)
    const isAbove = last !== undefined && x < last.right && !last.rows.has(at)
    if (last !== undefined && (isAbove || x - last.x <= size * 1.5)) {
      last.right = Math.max(last.right, right)
      last.rows.add(at)
    } else columns.push({ x, right, rows: new Set([at]) })
  }
  return columns.map(({ x }) => x)
}

/** The cells of each row, by the table's columns. */
const cellsOf = (rows: ReadonlyArray<ReadonlyArray<Line>>): ReadonlyArray<ReadonlyArray<string>> => {
  const lefts = columnsOf(rows)
  return rows.map((row) => {
    const cells = lefts.map(() => "")
    for (const line of row) {
      const column = Math.max(
        0,
        lefts.findLastIndex((left) => left <= line.x + 0.01)
      )
      cells[column] = cells[column] === "" ? line.text : `${cells[column]} ${line.text}`
    }
    return cells
  })
}

/** Lines in a monospaced font from here on, at least two. */
const codeFrom = (lines: ReadonlyArray<Line>, at: number): ReadonlyArray<Line> => {
  let end = at
  while (
    end < lines.length &&
    lines[end]!.mono &&
    (end === at || lines[end]!.y - lines[end - 1]!.y < lines[end]!.size * 3)
  )
    end++
  return end - at < 2 ? [] : lines.slice(at, end)
}

/** Indented as on the page. */
const codeText = (lines: ReadonlyArray<Line>): string => {
  const left = lines.reduce((least, { x }) => Math.min(least, x), Infinity)
  let text = ""
  lines.forEach((line, i) => {
    const before = lines[i - 1]
    const same = before !== undefined && Math.abs(before.y - line.y) < line.size * 0.35
    if (same) text += "  "
    else if (i > 0) text += "\n"
    text +=
      (same ? "" : " ".repeat(Math.max(0, Math.min(80, Math.round((line.x - left) / (line.size * 0.55)))))) + line.text
  })
  return text
}

/** The table, code or heading that begins at a line. */
const blockAt = (
  writer: MarkdownWriter,
  style: Style,
  page: number,
  lines: ReadonlyArray<Line>,
  at: number
): { readonly lines: number; readonly write: () => void } | undefined => {
  const table = lines[at]!.mono ? { rows: [], end: at } : tableFrom(lines, at)
  if (table.rows.length >= 2) return { lines: table.end - at, write: () => writer.table(cellsOf(table.rows)) }
  const code = codeFrom(lines, at)
  if (code.length > 0) return { lines: code.length, write: () => writer.code(codeText(code)) }
  const heading = headingAt(style, page, lines[at]!, lines[at + 1])
  return heading && { lines: heading.lines, write: () => writer.heading(heading.level, heading.text) }
}

/** Begins in the middle of a sentence. */
const goesOn = /^\p{Ll}/u

/**
 * Writes a column as paragraphs, items, headings and tables. `wasOpen`: the last column ended in the middle of a
 * sentence, which this one may continue. Whether this one ends so.
 */
export const writeColumn = (
  writer: MarkdownWriter,
  given: ReadonlyArray<Line>,
  page: number,
  style: Style,
  wasOpen: boolean
): boolean => {
  const lines = withBullets(given)
  let first = true
  let isOpen = false
  let text = ""
  let last: Line | undefined
  let item = false
  /** Lines of the block so far. */
  let count = 0
  const flush = () => {
    if (first && wasOpen && !item && goesOn.test(text)) writer.goOn(text, joinLines)
    else if (item) {
      const [marker, words] = itemOf(text)
      const isFirst = bullets.length === 0
      writer.item(words, depthOf(itemX), marker, isFirst)
    } else {
      writer.paragraph(text)
      if (text !== "") bullets = []
    }
    if (text !== "") {
      first = false
      isOpen = /[\p{L}\p{N},;\u00ad-]$/u.test(text)
    }
    text = ""
    item = false
  }
  const leading = typicalLeading(lines)
  const left = lines.reduce((least, { x }) => Math.min(least, x), Infinity)
  const right = lines.reduce((most, line) => Math.max(most, line.right), 0)
  let itemX = 0
  /** Positions of the bullets of the open list, outermost first. */
  let bullets: Array<number> = []
  const depthOf = (x: number): number => {
    bullets = bullets.filter((other) => other < x - 2)
    bullets.push(x)
    return bullets.length - 1
  }
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!
    const whole = blockAt(writer, style, page, lines, at)
    if (whole !== undefined) {
      flush()
      bullets = []
      whole.write()
      first = isOpen = false
      at += whole.lines - 1
      last = undefined
      continue
    }
    const begins =
      last === undefined ||
      line.y - last.y > Math.max(leading, last.size * 1.1) * gapFactor - last.size * 0.3 ||
      line.y < last.y - last.size ||
      bullet.test(line.text) ||
      line.mono !== last.mono ||
      // A line after a short line that is not indented like the item's words does not belong to the item.
      (item && last.right < right - (right - left) * shortBy && line.x < itemX + line.size * 0.5) ||
      // A line far from the edge ends its paragraph, unless the next one begins in the middle of a sentence.
      (last.right < right - (right - left) * farShort && !goesOn.test(line.text)) ||
      // Back to the margin after an indented part.
      (line.x < last.x - line.size * 0.8 && (item || count > 1)) ||
      (!item && line.x > left + line.size * 0.8 && last.x <= left + line.size * 0.5) ||
      Math.abs(line.size - last.size) > 1.5
    if (begins) {
      flush()
      text = line.text
      count = 1
      item = bullet.test(line.text)
      itemX = line.x
    } else {
      text = joinLines(text, line.text)
      count++
    }
    last = line
  }
  flush()
  return isOpen
}

const typicalLeading = (lines: ReadonlyArray<Line>): number => {
  const gaps = lines
    .slice(1)
    .map((line, i) => line.y - lines[i]!.y)
    .filter((gap) => gap > 2 && gap < 60)
    .sort((a, b) => a - b)
  return gaps[gaps.length >> 1] ?? 12
}
