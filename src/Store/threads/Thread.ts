import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { setTimeout } from "node:timers/promises"
import { Worker } from "node:worker_threads"
import { held } from "../sqlite/file/RawFile.ts"
import { type Call, Failure, type Outcome, type Reply, type ThreadData } from "./messages.ts"

/** The thread ended before it had answered: it ran out of memory, or something in it ended it. */
export class ThreadDied extends Data.TaggedError("ThreadDied")<{ readonly reason: string }> {}

/** A thread with a connection of its own, which takes one call at a time. */
export interface Thread {
  readonly alive: () => boolean
  readonly perform: (call: Call) => Effect.Effect<Reply, ThreadDied>
  /** The call of this id may be given up; one that is no longer under way is none the worse for it. */
  readonly cancel: (id: number) => void
}

/** Ending a thread waits for the SQL statement it is in; nobody waits with it for longer than this, in milliseconds. */
const patience = 100

const spawn = (given: ThreadData): Worker => {
  const here = import.meta.url
  const data = { ...given, raw: held(given.filename) }
  // What a thread leaves open stays so: closing it would take the locks of all other threads.
  const trackUnmanagedFds = false
  return here.endsWith(".ts")
    ? new Worker(new URL("../../../scripts/sourceWorker.mjs", here), {
        workerData: { ...data, entry: new URL("./worker.ts", here).href },
        trackUnmanagedFds
      })
    : new Worker(new URL("./storeWorker.js", here), { workerData: data, trackUnmanagedFds })
}

const end = (worker: Worker): Effect.Effect<void> =>
  Effect.promise(async () => {
    worker.ref()
    await Promise.race([worker.terminate(), setTimeout(patience, undefined, { ref: false })])
  })

const decodeFailure = Schema.decodeSync(Failure)

/** What came of a call, as the effect it was. */
export const fromOutcome = (outcome: Outcome): Effect.Effect<unknown, Failure> =>
  "value" in outcome
    ? Effect.succeed(outcome.value)
    : "failure" in outcome
      ? Effect.fail(decodeFailure(outcome.failure))
      : Effect.die(new Error(outcome.defect))

/** Starts a thread, which ends with the scope. It keeps the process alive only while it works. */
export const start = (data: Omit<ThreadData, "cancelled">): Effect.Effect<Thread, ThreadDied | Failure, Scope.Scope> =>
  Effect.gen(function* () {
    const cancelled = new Int32Array(new SharedArrayBuffer(4))
    const worker = yield* Effect.acquireRelease(
      Effect.sync(() => spawn({ ...data, cancelled })),
      end
    )
    let waiting: ((reply: Either.Either<Reply, ThreadDied>) => void) | undefined
    let dead: ThreadDied | undefined
    let reason: string | undefined
    const settle = (reply: Either.Either<Reply, ThreadDied>) => {
      const resume = waiting
      waiting = undefined
      worker.unref()
      resume?.(reply)
    }
    const die = (why: string) => {
      dead ??= new ThreadDied({ reason: reason ?? why })
      settle(Either.left(dead))
    }
    worker.on("message", (reply: Reply) => settle(Either.right(reply)))
    // The end follows.
    worker.on("error", (error) => (reason = error instanceof Error ? error.message : String(error)))
    worker.on("messageerror", (error) => die(error.message))
    worker.on("exit", (code) => die(`its thread ended with code ${code}`))

    const reply = Effect.async<Reply, ThreadDied>((resume) => {
      if (dead !== undefined) return resume(dead)
      worker.ref()
      waiting = resume
    })
    // Whoever starts it may have to end while it starts.
    const started = yield* Effect.interruptible(reply)
    yield* fromOutcome(started.outcome)
    return {
      alive: () => dead === undefined,
      perform: (call) =>
        Effect.suspend(() => {
          worker.postMessage(call)
          return reply
        }),
      cancel: (id) => Atomics.store(cancelled, 0, id)
    }
  })
