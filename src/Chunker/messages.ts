import type { PackedPassages } from "../model/packedPassages.ts"
import type { ChunkOptions } from "../chunking/chunk.ts"

/** The thread's start parameters. */
export interface ThreadData {
  /** Path of the tokenizer's file. */
  readonly tokenizer: string
}

export interface Job {
  readonly content: string
  readonly options: Omit<ChunkOptions, "countTokens">
}

/** A job for the thread, with a unique number. */
export interface NumberedJob extends Job {
  readonly id: number
}

export interface Done {
  readonly id: number
  readonly passages: PackedPassages
}
