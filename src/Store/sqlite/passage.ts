import type { Passage } from "../../model/Passage.ts"

/** A passage as its table holds it. */
export interface PassageRow {
  readonly ordinal: number
  readonly text: string
  readonly heading: string
  readonly start: number
  readonly end: number
  readonly start_line: number
  readonly end_line: number
}

/** `line` is the document's, where the whole of it stands on one line of its file: every passage is cited by it. */
export const toPassage = (row: PassageRow, line: number | null): Passage & { readonly ordinal: number } => ({
  ordinal: row.ordinal,
  text: row.text,
  heading: JSON.parse(row.heading) as ReadonlyArray<string>,
  start: row.start,
  end: row.end,
  startLine: line ?? row.start_line,
  endLine: line ?? row.end_line
})
