import type { Locator } from "./Locator.ts"

/**
 * Where a passage stands in its original: UTF-16 offsets, end exclusive, and 1-based lines, both inclusive.
 */
export interface Span {
  readonly start: number
  readonly end: number
  readonly startLine: number
  readonly endLine: number
}

/** A chunk of a document, the unit of retrieval. `text` is exactly the document's text at the span. */
export interface Passage extends Span {
  readonly text: string
  /** Headings above the passage, outermost first. */
  readonly heading: ReadonlyArray<string>
  /** Where it begins in a file that is no text; the span is then into the text that was taken out of it. */
  readonly locator?: Locator | undefined
  /** The names of its columns, where it begins within a table, below the row that has them. */
  readonly tableHeader?: string | undefined
}

/** A passage's direction in the embedder's space: float32, L2-normalised, as wide as the embedder. */
export type Vector = Float32Array
