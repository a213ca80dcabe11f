import type { PackedPassages } from "../model/packedPassages.ts"
import type { ChunkOptions } from "../text/chunk.ts"

/** What the thread is started with. */
export interface ThreadData {
  /** Path of the tokenizer's file. */
  readonly tokenizer: string
}

export interface Job {
  readonly content: string
  readonly options: Omit<ChunkOptions, "countTokens">
}

/** A job as the thread takes it; its number is its own. */
export interface NumberedJob extends Job {
  readonly id: number
}

export interface Done {
  readonly id: number
  readonly passages: PackedPassages
}
