import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Passage } from "../model/Passage.ts"
import { unpackPassages } from "../model/packedPassages.ts"
import { packagedTokenizerFile } from "../packaged/Tokenizer.ts"
import { oneByOne, startWorker } from "../runtime/workers.ts"
import type { Done, Job, ThreadData } from "./messages.ts"

/** Cuts a document elsewhere. Who stops waiting for it ends it. */
export type ChunkElsewhere = (job: Job) => Effect.Effect<ReadonlyArray<Passage>>

const entry = { source: "Chunker/chunkWorker.ts", built: "chunkWorker.js" }

/** Characters of a document after which the thread is ended: they cost more memory than it takes time to start another. */
const large = 4 * 1024 * 1024

/** A thread of its own for long documents, one after the other. */
export const make: Effect.Effect<ChunkElsewhere, never, Scope.Scope> = Effect.map(
  oneByOne<Job, Pick<Done, "passages"> | { readonly broken: string }>({
    spawn: () => startWorker(entry, { tokenizer: packagedTokenizerFile } satisfies ThreadData),
    broken: (why) => ({ broken: typeof why === "number" ? `its thread ended with code ${why}` : String(why) }),
    isSpent: ({ content }) => content.length > large
  }),
  (cut) => (job) =>
    Effect.flatMap(cut(job), (outcome) =>
      "broken" in outcome
        ? Effect.dieMessage(`Cutting a document broke off: ${outcome.broken}`)
        : // A passage is its span: its text need not cross.
          Effect.sync(() => unpackPassages(job.content, outcome.passages, (passage) => passage))
    )
)
