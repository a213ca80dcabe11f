import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ChunkOptions } from "../chunking/chunk.ts"
import type { Passage } from "../model/Passage.ts"
import { type PackedPassages, unpackPassages } from "../model/packedPassages.ts"
import { packagedTokenizerFile } from "../packaged/Tokenizer.ts"
import { oneByOne, startWorker } from "../runtime/workers.ts"

/** The thread's start parameters. */
export interface ThreadData {
  /** Path of the tokenizer's file. */
  readonly tokenizer: string
}

export interface Job {
  readonly content: string
  readonly options: Omit<ChunkOptions, "countTokens">
}

export interface Done {
  readonly passages: PackedPassages
}

/** Splits a document in another thread. Interruption ends the job. */
type ChunkElsewhere = (job: Job) => Effect.Effect<ReadonlyArray<Passage>>

const entry = { source: "Chunker/chunkWorker.ts", built: "chunkWorker.js" }

/** After a document of this many characters the thread ends: its memory costs more than starting another. */
const large = 4 * 1024 * 1024

/** A thread of its own for long documents, one after the other. */
export const make: Effect.Effect<ChunkElsewhere, never, Scope.Scope> = Effect.map(
  oneByOne<Job, Done | { readonly broken: string }>({
    spawn: () => startWorker(entry, { tokenizer: packagedTokenizerFile } satisfies ThreadData),
    broken: (why) => ({ broken: typeof why === "number" ? `its thread ended with code ${why}` : String(why) }),
    isSpent: ({ content }) => content.length > large
  }),
  (cut) => (job) =>
    Effect.flatMap(cut(job), (outcome) =>
      "broken" in outcome
        ? Effect.dieMessage(`Splitting a document into passages failed: ${outcome.broken}`)
        : // A passage is sent as its span, without its text.
          Effect.sync(() => unpackPassages(job.content, outcome.passages, (passage) => passage))
    )
)
