import { widthOf } from "./wrap.ts"

/** A passage's text as it is shown. */
export interface Shown {
  readonly text: string
  /** The number of lines of the passage before an offset of the text. */
  readonly linesBefore: (offset: number) => number
  /** Whether each row names its columns, so that the table's header need not be shown. */
  readonly isNamed: boolean
}

const isRow = (line: string): boolean => line.trimStart().startsWith("|")

/** The cells of a Markdown row, without padding; a bar behind a backslash belongs to its cell. */
const cellsOf = (row: string): ReadonlyArray<string> => {
  const cells = row
    .trim()
    .split(/(?<!\\)\|/)
    .slice(1)
  if (cells.at(-1)?.trim() === "") cells.pop()
  return cells.map((cell) => cell.replaceAll("\\|", "|").replace(/\s+/g, " ").trim())
}

const isRule = (cells: ReadonlyArray<string>): boolean =>
  cells.some((cell) => cell.includes("-")) && cells.every((cell) => /^[:-]*$/.test(cell))

/** A row as entries of CSV files are stored: `- key: server.port; default: 8484`. */
const named = (names: ReadonlyArray<string>, cells: ReadonlyArray<string>): string => {
  const parts = cells.flatMap((cell, at) => (cell === "" ? [] : [names[at] ? `${names[at]}: ${cell}` : cell]))
  return `- ${parts.join(names.length === 0 && cells.length === 2 ? ": " : "; ")}`
}

/**
 * A passage with its Markdown tables made readable: no lines of dashes, no padding, and rows wider than `width` columns as
 * `name: value`. `header` has the names of the columns if the passage begins within a table.
 */
export const readable = (text: string, width: number, header?: string): Shown => {
  const lines = text.split("\n")
  const shown: Array<string> = []
  /** For each line shown, its place among the passage's. */
  const places: Array<number> = []
  const put = (line: string, place: number) => {
    shown.push(line)
    places.push(place)
  }
  let isNamed = false
  let fence = ""
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!
    const mark = line.trimStart().slice(0, 3)
    if (mark === "```" || mark === "~~~") fence = fence === "" ? mark : fence === mark ? "" : fence
    if (fence !== "" || !isRow(line)) {
      put(line, at)
      continue
    }
    const rows = [cellsOf(line)]
    while (at + rows.length < lines.length && isRow(lines[at + rows.length]!)) {
      rows.push(cellsOf(lines[at + rows.length]!))
    }
    const hasHead = rows[1] !== undefined && isRule(rows[1])
    // A header given without its empty cells may name the wrong columns.
    const given = at === 0 && !hasHead ? (header?.split(" | ") ?? []) : []
    const names = hasHead ? rows[0]! : rows.some(({ length }) => length > given.length) ? [] : given
    const compact = rows.map((cells) => `|${cells.map((cell) => (cell === "" ? " |" : ` ${cell} |`)).join("")}`)
    const isWide = compact.some((row, i) => !isRule(rows[i]!) && widthOf(row) > width)
    if (isWide && given.length > 0 && names === given) isNamed = true
    for (const [i, cells] of rows.entries()) {
      if (isRule(cells) || (hasHead && i === 0 && (rows.length === 2 ? shown.length > 0 : isWide))) continue
      put(isWide ? named(i === 0 && hasHead ? [] : names, cells) : compact[i]!, at + i)
    }
    at += rows.length - 1
  }
  return {
    text: shown.join("\n"),
    isNamed,
    linesBefore: (offset) => {
      let place = 0
      let end = -1
      while (place < shown.length - 1 && (end += shown[place]!.length + 1) < offset) place++
      return places[place] ?? 0
    }
  }
}
