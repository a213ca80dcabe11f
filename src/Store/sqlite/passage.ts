import * as Schema from "effect/Schema"
import { Locator } from "../../model/Locator.ts"
import type { Passage } from "../../model/Passage.ts"
import { damaged, parsed } from "../../model/Damaged.ts"

/** A passage's columns. */
export interface PassageRow {
  readonly ordinal: number
  readonly text: string
  readonly heading: string
  readonly start: number
  readonly end: number
  readonly start_line: number
  readonly end_line: number
  readonly locator: string | null
  readonly table_header: string | null
}

const isLocator = Schema.is(Locator)

/** The locator in a row, stored as JSON. */
export const locatorOf = (json: string): Locator => {
  const locator = parsed<unknown>(json, () => "the locator of a passage")
  return isLocator(locator) ? locator : damaged("the locator of a passage is invalid")
}

/** The headings above a passage. */
export const headingOf = (json: string): ReadonlyArray<string> => {
  const heading = parsed<unknown>(json, () => "the heading of a passage")
  return Array.isArray(heading) && heading.every((part) => typeof part === "string")
    ? heading
    : damaged("the heading of a passage is not a list of strings")
}

/** `line` is the document's if all of it is on one line of its file: every passage is cited by that line. */
export const toPassage = (row: PassageRow, line: number | null): Passage & { readonly ordinal: number } => ({
  ordinal: row.ordinal,
  text: row.text,
  heading: headingOf(row.heading),
  start: row.start,
  end: row.end,
  startLine: line ?? row.start_line,
  endLine: line ?? row.end_line,
  ...(row.locator === null ? {} : { locator: locatorOf(row.locator) }),
  ...(row.table_header === null ? {} : { tableHeader: row.table_header })
})
