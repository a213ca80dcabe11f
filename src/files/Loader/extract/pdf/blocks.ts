import type { MarkdownWriter } from "../MarkdownWriter.ts"
import type { Line } from "./layout.ts"

/** What is known of the whole document before its pages are written. */
export interface Style {
  /** Size of most of its text. */
  readonly body: number
  /** Sizes larger than it that headings have, largest first. */
  readonly headings: ReadonlyArray<number>
  /** Level of a title of the outline, by page and title. */
  readonly outline: ReadonlyMap<string, number>
}

export const outlineKey = (page: number, title: string): string => `${page}/${title.replace(/\W+/gu, "").toLowerCase()}`

/** Ends a paragraph: a gap, an indent, a bullet, another size. */
const gapFactor = 1.55

const bullet = /^(?:[•▪◦‣∙·●○■□–—*]|\(?\d{1,2}[.)]|\(?[a-z][.)])\s+(?=\S)/

/** Joins a word that is parted at a line's end; a hyphen before a capital or a digit is the word's own. */
export const joinLines = (text: string, next: string): string => {
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

const levelOf = (style: Style, page: number, line: Line): number => {
  const outlined = style.outline.get(outlineKey(page, line.text))
  if (outlined !== undefined) return outlined
  const at = style.headings.findIndex((size) => Math.abs(size - line.size) < 0.3)
  if (line.text.length > 200 || !/\p{L}{2}/u.test(line.text)) return 0
  if (at >= 0) return at + 1
  const numbered = /^(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[IVX]{1,4}\.|Chapter \d+|Abstract|References)(?:\s|$)/.test(
    line.text
  )
  return line.bold && numbered && line.text.length < 100 ? Math.min(6, style.headings.length + 1) : 0
}

/** Rows of a table: neighbours of one baseline, at least two such rows, one below the other. */
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

/** Cells of each row in the columns that their left edges make over the whole table. */
const cellsOf = (rows: ReadonlyArray<ReadonlyArray<Line>>): ReadonlyArray<ReadonlyArray<string>> => {
  const lefts: Array<number> = []
  for (const { size, x } of rows.flat().sort((a, b) => a.x - b.x)) {
    if (lefts.length === 0 || x - lefts.at(-1)! > size * 1.5) lefts.push(x)
  }
  const columnOf = (x: number) =>
    lefts.reduce((best, left, i) => (Math.abs(left - x) < Math.abs(lefts[best]! - x) ? i : best), 0)
  return rows.map((row) => {
    const cells = lefts.map(() => "")
    for (const line of row) {
      const column = columnOf(line.x)
      cells[column] = cells[column] === "" ? line.text : `${cells[column]} ${line.text}`
    }
    return cells
  })
}

/** Lines of one font width from here on, at least two. */
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

/** Indented as it stands on the page. */
const codeText = (lines: ReadonlyArray<Line>): string => {
  const left = Math.min(...lines.map(({ x }) => x))
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

/** Writes the lines of a column as paragraphs, items, headings and tables. */
export const writeColumn = (writer: MarkdownWriter, lines: ReadonlyArray<Line>, page: number, style: Style): void => {
  let text = ""
  let last: Line | undefined
  let item = false
  /** Lines of the block so far. */
  let count = 0
  const flush = () => {
    if (item) writer.item(text.replace(bullet, ""), 0, "-", true)
    else writer.paragraph(text)
    text = ""
    item = false
  }
  const leading = typicalLeading(lines)
  const left = Math.min(...lines.map(({ x }) => x))
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!
    const table = line.mono ? { rows: [], end: at } : tableFrom(lines, at)
    if (table.rows.length >= 2) {
      flush()
      writer.table(cellsOf(table.rows))
      at = table.end - 1
      last = undefined
      continue
    }
    const code = codeFrom(lines, at)
    if (code.length > 0) {
      flush()
      writer.code(codeText(code))
      at += code.length - 1
      last = undefined
      continue
    }
    const level = levelOf(style, page, line)
    if (level > 0) {
      flush()
      // A heading of two lines is one.
      const next = lines[at + 1]
      const goesOn =
        next !== undefined &&
        Math.abs(next.size - line.size) < 0.3 &&
        next.y - line.y < line.size * 1.6 &&
        levelOf(style, page, next) === level &&
        style.outline.get(outlineKey(page, line.text)) === undefined
      writer.heading(level, goesOn ? joinLines(line.text, next.text) : line.text)
      if (goesOn) at++
      last = undefined
      continue
    }
    const begins =
      last === undefined ||
      line.y - last.y > Math.max(leading, last.size * 1.1) * gapFactor - last.size * 0.3 ||
      line.y < last.y - last.size ||
      bullet.test(line.text) ||
      // Back to the margin after what was set in.
      (line.x < last.x - line.size * 0.8 && (item || count > 1)) ||
      (!item && line.x > left + line.size * 0.8 && last.x <= left + line.size * 0.5) ||
      Math.abs(line.size - last.size) > 1.5
    if (begins) {
      flush()
      text = line.text
      count = 1
      item = bullet.test(line.text)
    } else {
      text = joinLines(text, line.text)
      count++
    }
    last = line
  }
  flush()
}

const typicalLeading = (lines: ReadonlyArray<Line>): number => {
  const gaps = lines
    .slice(1)
    .map((line, i) => line.y - lines[i]!.y)
    .filter((gap) => gap > 2 && gap < 60)
    .sort((a, b) => a - b)
  return gaps[gaps.length >> 1] ?? 12
}
