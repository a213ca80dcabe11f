import { joinLines } from "./joinLines.ts"
import type { Line } from "./line.ts"

/** What is known of the whole document before its pages are written. */
export interface Style {
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

const alone = /^(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[IVX]{1,4}\.|Chapter \d+|Abstract|References)(?:\s|$)/

const levelOf = (style: Style, page: number, line: Line): number | undefined => {
  if (!mayHead(line)) return undefined
  const level = outlined(style.outline, page, line.text) ?? style.sizes.get(rounded(line.size))
  if (level !== undefined) return level
  return line.bold && alone.test(line.text) && line.text.length < 100 ? style.numbered : undefined
}

/** The heading that begins at a line, with the next line if both form one heading. */
export const headingAt = (
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
