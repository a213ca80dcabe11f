import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Worker } from "node:worker_threads"
import { startWorker } from "../../runtime/workers.ts"
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

/** Takes a file's text out of it. A file that takes too long or too much memory is Unsupported, and the next one is read. */
export type Extract = (path: string, kind: Kind, source: Source) => Effect.Effect<Read, Unsupported>

const entry = { source: "files/Loader/extractWorker.ts", built: "extractWorker.js" }

const spawn = ({ parseMemoryMb }: Limits): Worker =>
  startWorker(entry, {}, { resourceLimits: { maxOldGenerationSizeMb: parseMemoryMb, stackSizeMb: 4 } })

type Settle = (outcome: { readonly read: Read } | { readonly reason: string }) => void

/** A worker that reads foreign formats, one file after the other; started for the first, ended with the scope. */
export const make = (limits: Limits): Effect.Effect<Extract, never, Scope.Scope> =>
  Effect.gen(function* () {
    const turn = yield* Effect.makeSemaphore(1)
    const waiting = new Map<number, Settle>()
    let running: Worker | undefined
    let lastId = 0
    const end = (): void => {
      void running?.terminate()
      running = undefined
    }
    yield* Effect.addFinalizer(() => Effect.sync(end))

    const start = (): Worker => {
      const worker = spawn(limits)
      const broken = (reason: string) => {
        if (running !== worker) return
        running = undefined
        for (const settle of waiting.values()) settle({ reason })
      }
      worker.on("message", (outcome: Outcome) => waiting.get(outcome.id)?.(outcome))
      worker.on("error", (error: Error & { readonly code?: string }) =>
        broken(
          error.code === "ERR_WORKER_OUT_OF_MEMORY"
            ? `reading it takes more memory than limits.parse_memory_mb allows (${limits.parseMemoryMb})`
            : `damaged: ${error.message}`
        )
      )
      worker.on("exit", (code) => broken(`damaged: its reader ended with code ${code}`))
      return worker
    }

    const read = (kind: Kind, source: Source) =>
      Effect.async<{ readonly read: Read } | { readonly reason: string }>((resume) => {
        const id = ++lastId
        const worker = (running ??= start())
        worker.ref()
        waiting.set(id, (outcome) => {
          waiting.delete(id)
          worker.unref()
          resume(Effect.succeed(outcome))
        })
        worker.postMessage({ id, kind, source } satisfies Job)
        // Whoever stops waiting ends the worker: it may be in a loop.
        return Effect.sync(() => {
          waiting.delete(id)
          end()
        })
      })

    return (path, kind, source) =>
      turn
        .withPermits(1)(
          read(kind, source).pipe(
            Effect.timeoutTo({
              duration: limits.parseTimeoutMs,
              onSuccess: (outcome) => outcome,
              onTimeout: () => ({
                reason: `reading it takes longer than limits.parse_timeout_ms allows (${limits.parseTimeoutMs} ms)`
              })
            })
          )
        )
        .pipe(
          Effect.flatMap((outcome) =>
            "read" in outcome ? Effect.succeed(outcome.read) : new Unsupported({ path, reason: outcome.reason })
          )
        )
  })
