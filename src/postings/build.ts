import type { Language } from "../terms/languages.ts"
import type { Block } from "./block.ts"
import type { Head } from "./head.ts"
import { Runs } from "./runs.ts"
import { field, Segmenter } from "./Segmenter.ts"

/** A passage in the form from which its terms are made. */
export interface KeywordRow {
  readonly id: number
  readonly title: string
  readonly heading: string
  readonly text: string
  /** Its document's language; default English. It must be loaded. */
  readonly language?: Language | undefined
}

let segmenter: Segmenter | undefined

/** Makes a segment of passages, given in order of their ids. */
export const buildSegment = (rows: ReadonlyArray<KeywordRow>): Head & { readonly blocks: ReadonlyArray<Block> } => {
  // After an error the kernel may be in any state.
  const current = segmenter === undefined || segmenter.isLarge ? new Segmenter() : segmenter
  segmenter = undefined
  current.begin()
  const lengths = new Uint32Array(rows.length)
  for (const [ordinal, { heading, language, text, title }] of rows.entries()) {
    current.passage(ordinal, language)
    current.scan(title, field.title)
    current.scan(heading, field.heading)
    current.scan(text, field.text)
    lengths[ordinal] = current.length
  }
  const blocks = current.blocks()
  segmenter = current
  return { ids: Runs.of(rows.map((row) => row.id)), lengths, firsts: blocks.map((block) => block.first), blocks }
}
