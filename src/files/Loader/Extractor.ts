import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { oneByOne, startWorker } from "../../runtime/workers.ts"
import { Unsupported } from "../Loader.ts"
import type { Source } from "./extract/extract.ts"
import type { Read } from "./extract/Extracted.ts"
import type { Kind } from "./extract/kinds.ts"

export interface Job {
  readonly id: number
  readonly kind: Kind
  readonly source: Source
}

export type Outcome = { readonly id: number; readonly read: Read } | { readonly id: number; readonly reason: string }

export interface Limits {
  /** Longest time for one file, in milliseconds. */
  readonly parseTimeoutMs: number
  /** Most memory for one file, in MiB. */
  readonly parseMemoryMb: number
}

/** Extracts a file's text. A file that takes too much time or memory is Unsupported, and the next one is read. */
export type Extract = (path: string, kind: Kind, source: Source) => Effect.Effect<Read, Unsupported>

const entry = { source: "files/Loader/extractWorker.ts", built: "extractWorker.js" }

type Answer = { readonly read: Read } | { readonly reason: string }

/** A worker that extracts foreign formats, one file at a time. */
export const make = ({ parseMemoryMb, parseTimeoutMs }: Limits): Effect.Effect<Extract, never, Scope.Scope> =>
  Effect.map(
    oneByOne<Omit<Job, "id">, Answer>({
      spawn: () =>
        startWorker(entry, {}, { resourceLimits: { maxOldGenerationSizeMb: parseMemoryMb, stackSizeMb: 4 } }),
      broken: (why) => ({
        reason:
          typeof why === "number"
            ? `damaged: its reader ended with code ${why}`
            : "code" in why && why.code === "ERR_WORKER_OUT_OF_MEMORY"
              ? `reading it takes more memory than limits.parse_memory_mb allows (${parseMemoryMb})`
              : `damaged: ${why.message}`
      }),
      within: Effect.timeoutTo({
        duration: parseTimeoutMs,
        onSuccess: (answer: Answer) => answer,
        onTimeout: (): Answer => ({
          reason: `reading it takes longer than limits.parse_timeout_ms allows (${parseTimeoutMs} ms)`
        })
      })
    }),
    (read) => (path, kind, source) =>
      Effect.flatMap(read({ kind, source }), (answer) =>
        "read" in answer ? Effect.succeed(answer.read) : new Unsupported({ path, reason: answer.reason })
      )
  )
