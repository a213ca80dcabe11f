import * as Schema from "effect/Schema"

/** Where a passage stands in a file that is no text, in the words of its format's own readers. */
export const Locator = Schema.Union(
  Schema.TaggedStruct("Page", { page: Schema.Int }),
  Schema.TaggedStruct("Slide", { slide: Schema.Int }),
  /** The address of a row's first cell, as in `A12`. */
  Schema.TaggedStruct("Sheet", { sheet: Schema.String, cell: Schema.String }),
  /** A notebook's cell, from 1. */
  Schema.TaggedStruct("Cell", { cell: Schema.Int }),
  /** Milliseconds from the beginning. */
  Schema.TaggedStruct("Time", { time: Schema.Int }),
  /** A file within an archive, such as a chapter of a book. */
  Schema.TaggedStruct("Part", { part: Schema.String })
)
export type Locator = typeof Locator.Type

/** Hours, minutes and seconds, as in `00:12:31`. */
export const timeText = (milliseconds: number): string => {
  const seconds = Math.floor(milliseconds / 1000)
  const two = (value: number) => String(value).padStart(2, "0")
  return `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}

/** What follows the file's name, so that the format's readers open it at the place: `#page=3`. */
export const fragment = (locator: Locator): string => {
  switch (locator._tag) {
    case "Page":
      return `#page=${locator.page}`
    case "Slide":
      return `#slide=${locator.slide}`
    case "Sheet":
      return `#${locator.sheet}!${locator.cell}`
    case "Cell":
      return `#cell=${locator.cell}`
    case "Time":
      return `#t=${timeText(locator.time)}`
    case "Part":
      return `#${locator.part}`
  }
}

/** From here on an extracted text comes from another place of its file. */
export interface Mark {
  /** UTF-16 offset into the extracted text. */
  readonly start: number
  readonly locator?: Locator | undefined
  /** Line in the file, from 1, for formats written in text. */
  readonly line?: number | undefined
}

/** The mark that holds at an offset: the last that starts at or before it. */
export const markAt = (marks: ReadonlyArray<Mark>, offset: number): Mark | undefined => {
  let [low, high] = [0, marks.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (marks[middle]!.start <= offset) low = middle + 1
    else high = middle
  }
  return marks[low - 1]
}
