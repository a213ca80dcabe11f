import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Worker } from "node:worker_threads"
import type { Passage } from "../model/Passage.ts"
import { type PackedPassages, unpackPassages } from "../model/packedPassages.ts"
import { packagedTokenizerFile } from "../packaged/Tokenizer.ts"
import * as Turn from "../runtime/Turn.ts"
import { startWorker } from "../runtime/workers.ts"
import type { Done, Job, NumberedJob, ThreadData } from "./messages.ts"

/** Cuts a document elsewhere. Who stops waiting for it ends it. */
export type ChunkElsewhere = (job: Job) => Effect.Effect<ReadonlyArray<Passage>>

const entry = { source: "Chunker/chunkWorker.ts", built: "chunkWorker.js" }

/** Characters of a document after which the thread is ended: they cost more memory than it takes time to start another. */
const large = 4 * 1024 * 1024

const nobody = () => {}

const spawn = (): Worker => startWorker(entry, { tokenizer: packagedTokenizerFile } satisfies ThreadData)

/** A thread of its own for long documents, one after the other; it is started for the first and ends with the scope. */
export const make: Effect.Effect<ChunkElsewhere, never, Scope.Scope> = Effect.gen(function* () {
  const turn = Turn.make()
  let running: Worker | undefined
  let settle: (outcome: Effect.Effect<PackedPassages>) => void = nobody
  let lastId = 0
  const end = (): void => {
    void running?.terminate()
    running = undefined
  }
  yield* Effect.addFinalizer(() => Effect.sync(end))

  const start = (): Worker => {
    const worker = spawn()
    const broken = (reason: string) => {
      if (running !== worker) return
      end()
      settle(Effect.dieMessage(`Cutting a document broke off: ${reason}`))
    }
    worker.on("message", ({ id, passages }: Done) => {
      // One that has been ended may have had its last answer on the way.
      if (running === worker && id === lastId) settle(Effect.succeed(passages))
    })
    worker.on("error", (error) => broken(String(error)))
    worker.on("exit", (code) => broken(`its thread ended with code ${code}`))
    return worker
  }

  const cut = (job: Job) =>
    Effect.async<PackedPassages>((resume) => {
      const worker = (running ??= start())
      // It keeps the process alive only while it works.
      worker.ref()
      settle = (outcome) => {
        worker.unref()
        // An idle thread never gives back the memory that it took.
        if (job.content.length > large && running === worker) end()
        // It would hold the document.
        settle = nobody
        resume(outcome)
      }
      worker.postMessage({ ...job, id: ++lastId } satisfies NumberedJob)
      return Effect.sync(() => {
        settle = nobody
        end()
      })
    })

  return (job) =>
    // A passage is its span: its text need not cross.
    Effect.map(turn(cut(job)), (packed) => unpackPassages(job.content, packed, (passage) => passage))
})
