import type { Locator } from "./Locator.ts"

/** A part of a text: UTF-16 offsets, end exclusive. */
export interface TextSpan {
  readonly start: number
  readonly end: number
}

/** The span of a passage in its original, with its 1-based lines, both inclusive. */
export interface Span extends TextSpan {
  readonly startLine: number
  readonly endLine: number
}

/** A chunk of a document, the unit of retrieval. `text` is exactly the document's text at the span. */
export interface Passage extends Span {
  readonly text: string
  /** Headings above the passage, outermost first. */
  readonly heading: ReadonlyArray<string>
  /** Where it begins in a file that is not text; the span then refers to the extracted text. */
  readonly locator?: Locator | undefined
  /** The names of the columns, if the passage begins within a table, below the header row. */
  readonly tableHeader?: string | undefined
}

/** An embedding: float32, L2-normalised, with the embedder's dimensions. */
export type Vector = Float32Array

/** A passage by its id in the index, with a leg's score. */
export interface Scored {
  readonly id: number
  readonly score: number
}

/** The order of falling numbers. Their difference would be an object for each comparison. */
export const falling = (a: number, b: number): number => (a > b ? -1 : a < b ? 1 : 0)

type Score = Pick<Scored, "score">

export const byScore = ({ score: a }: Score, { score: b }: Score): number => (a > b ? -1 : a < b ? 1 : 0)

/** By falling scores, equals by rising ids. */
export const byScoreAndId = (a: Scored, b: Scored): number =>
  a.score > b.score ? -1 : a.score < b.score ? 1 : a.id - b.id

/** The passages that a filter leaves, by their ids in the index. */
export interface Mask {
  /** Passage id i is included if bits[i >>> 5] >>> (i & 31) & 1; ids beyond the last word are not. */
  readonly bits: Uint32Array
  /** The number of included passages. */
  readonly count: number
}

/** A word of a question, and how rare it is. */
export interface RareWord {
  readonly word: string
  readonly rarity: number
}

/** A text that many questions are compared with; what was made of it may be kept as long as what it is of. */
export interface KeptText {
  readonly of: object
  readonly text: () => string
}
