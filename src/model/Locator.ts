import * as Schema from "effect/Schema"
import { countBefore } from "./numbers.ts"

/** The position of a passage in a file that is not text, in the terms of its format's readers. */
export const Locator = Schema.Union(
  Schema.TaggedStruct("Page", { page: Schema.Int }),
  Schema.TaggedStruct("Slide", { slide: Schema.Int }),
  /** The address of a row's first cell, such as `A12`. */
  Schema.TaggedStruct("Sheet", { sheet: Schema.String, cell: Schema.String }),
  /** A notebook's cell, from 1. */
  Schema.TaggedStruct("Cell", { cell: Schema.Int }),
  /** Milliseconds from the beginning. */
  Schema.TaggedStruct("Time", { time: Schema.Int }),
  /** A file within an archive, such as a chapter of a book. */
  Schema.TaggedStruct("Part", { part: Schema.String })
)
export type Locator = typeof Locator.Type

/** Hours, minutes and seconds, such as `00:12:31`. */
const timeText = (milliseconds: number): string => {
  const seconds = Math.floor(milliseconds / 1000)
  const two = (value: number) => String(value).padStart(2, "0")
  return `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}

/** The suffix of the file's name with which readers of the format open the place: `#page=3`. */
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

const forms: ReadonlyArray<readonly [RegExp, (...found: ReadonlyArray<string>) => Locator]> = [
  [/^page=(\d{1,9})$/, (page) => ({ _tag: "Page", page: Number(page) })],
  [/^slide=(\d{1,9})$/, (slide) => ({ _tag: "Slide", slide: Number(slide) })],
  [/^cell=(\d{1,9})$/, (cell) => ({ _tag: "Cell", cell: Number(cell) })],
  [
    /^t=(?:(\d{1,4}):)?(\d{1,4}):(\d{1,2})$/,
    (hours = "0", minutes, seconds) => ({
      _tag: "Time",
      time: ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000
    })
  ],
  [/^t=(\d{1,9})s?$/, (seconds) => ({ _tag: "Time", time: Number(seconds) * 1000 })],
  [/^(.+)!([A-Za-z]{1,4}\d{1,9})$/s, (sheet, cell) => ({ _tag: "Sheet", sheet: sheet!, cell: cell!.toUpperCase() })],
  [/^(.+)$/s, (part) => ({ _tag: "Part", part: part! })]
]

/** Parses the result of `fragment`, without its `#`; times may also be seconds. */
export const locatorOf = (text: string): Locator | undefined => {
  for (const [form, make] of forms) {
    const found = form.exec(text)
    if (found !== null) return make(...found.slice(1))
  }
  return undefined
}

/** Sorts places of one kind: by their part, then by the position within it. */
const position = (locator: Locator): readonly [within: string, at: number] => {
  switch (locator._tag) {
    case "Page":
      return ["", locator.page]
    case "Slide":
      return ["", locator.slide]
    case "Sheet":
      return [locator.sheet, Number(locator.cell.replace(/^\D*/, ""))]
    case "Cell":
      return ["", locator.cell]
    case "Time":
      return ["", Math.floor(locator.time / 1000)]
    case "Part":
      return [locator.part, 0]
  }
}

/** The passages of a place: those that begin there, else the one that begins before and continues there. */
export const passagesAt = <P extends { readonly locator?: Locator | undefined }>(
  passages: ReadonlyArray<P>,
  wanted: Locator
): ReadonlyArray<P> => {
  const [within, at] = position(wanted)
  const before = passages.flatMap((passage) => {
    if (passage.locator?._tag !== wanted._tag) return []
    const [other, place] = position(passage.locator)
    return other === within && place <= at ? [{ passage, place }] : []
  })
  const there = before.filter(({ place }) => place === at)
  return (there.length > 0 ? there : before.slice(-1)).map(({ passage }) => passage)
}

/** A source and what is cited in it: lines, or a place in a file that is not text. */
export interface Cited {
  readonly source: string
  readonly at: { readonly startLine: number; readonly endLine: number } | string
}

/** As results show it, and as code hosts do: `a.md#L12-L30`. */
const lineForm = /^(.+)(?::|#L)(\d{1,9})(?:-L?(\d{1,9}))?$/s

const fragmentForm = /^(.+)#([^#]+)$/s

/** Parses a citation as results show it, `a.md:12-30` or `a.pdf#page=3`; a place comes without its `#`. */
export const citedIn = (text: string): Cited | undefined => {
  const [, atPlace, place = ""] = fragmentForm.exec(text) ?? []
  // The time in `talk.srt#t=12:31` is not a line.
  const isTime = locatorOf(place)?._tag === "Time"
  const [, atLine, first, last = first] = (isTime ? undefined : lineForm.exec(text)) ?? []
  if (atLine !== undefined) return { source: atLine, at: { startLine: Number(first), endLine: Number(last) } }
  return atPlace === undefined ? undefined : { source: atPlace, at: place }
}

interface Reference {
  readonly source: string
  readonly cited: Cited | undefined
}

/** What a text may name, as it is written first: a source, a source and a place, or a line and column, `a.ts:12:5`. */
export const referencesIn = (text: string): readonly [Reference, ...ReadonlyArray<Reference>] => {
  const cited = citedIn(text)
  const line = typeof cited?.at === "object" ? citedIn(cited.source) : undefined
  return [
    { source: text, cited: undefined },
    ...[cited, typeof line?.at === "object" ? line : undefined].flatMap((each) =>
      each === undefined ? [] : [{ source: each.source, cited: each }]
    )
  ]
}

/** The lines of a citation in a document; undefined if it has no such place. */
export const linesCited = (
  {
    metadata: { pages },
    passages
  }: {
    readonly metadata: { readonly [key: string]: unknown }
    readonly passages: ReadonlyArray<{
      readonly locator?: Locator | undefined
      readonly startLine: number
      readonly endLine: number
    }>
  },
  { at }: Cited
): { readonly startLine: number; readonly endLine: number } | undefined => {
  if (typeof at !== "string") return at
  const wanted = locatorOf(at)
  if (wanted === undefined || (wanted._tag === "Page" && wanted.page > Number(pages))) return undefined
  const there = passagesAt(passages, wanted)
  return there[0] && { startLine: there[0].startLine, endLine: there.at(-1)!.endLine }
}

/** The start of a stretch of extracted text from another place of its file. */
export interface Mark {
  /** UTF-16 offset into the extracted text. */
  readonly start: number
  readonly locator?: Locator | undefined
  /** Line in the file, from 1, for formats written in text. */
  readonly line?: number | undefined
}

/** How many marks start at or before an offset. */
export const marksUpTo = (marks: ReadonlyArray<Mark>, offset: number): number =>
  countBefore(marks.length, (at) => marks[at]!.start <= offset)

/** The mark for an offset: the last that starts at or before it. */
export const markAt = (marks: ReadonlyArray<Mark>, offset: number): Mark | undefined =>
  marks[marksUpTo(marks, offset) - 1]
