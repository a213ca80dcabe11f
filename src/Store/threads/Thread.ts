import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as LogLevel from "effect/LogLevel"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { setTimeout as delay } from "node:timers/promises"
import type { Worker } from "node:worker_threads"
import { held } from "../sqlite/file/place.ts"
import { startWorker } from "../../runtime/workers.ts"
import type { StoreError } from "../port/errors.ts"
import { type Call, Outcome, type Reply, type Said, type ThreadData } from "./messages.ts"

/** How long a call may go without progress before its thread is abandoned, however long the whole call takes. */
interface Limits {
  /** Idle: longer than anyone waits for another process's lock. */
  readonly waiting: Duration.Duration
  /** Busy with one SQL statement, which shows no progress: an exact search of a large index, a merge on a slow disk. */
  readonly working: Duration.Duration
}

export const limits: Limits = { waiting: Duration.minutes(1), working: Duration.minutes(15) }

/** How often a call's progress is checked. */
const look = Duration.seconds(5)

/** Completes with the seconds, once a call has made no progress for too long; watches one call after another. */
export const standstill = (
  thread: {
    /** The call that the thread performs; undefined: it waits for one. */
    readonly call: () => number | undefined
    /** A number that changes with each step. */
    readonly steps: () => number
    /** The share of the time since the last call that the thread was busy. */
    readonly utilization: () => number
  },
  { waiting, working }: Limits
): Effect.Effect<number> =>
  Effect.gen(function* () {
    const state = () => ({ call: thread.call(), step: thread.steps() })
    let [before, waited, worked] = [state(), Duration.zero, Duration.zero]
    thread.utilization()
    for (;;) {
      yield* Effect.sleep(look)
      const isAtWork = thread.utilization() > 0.5
      const now = state()
      if (now.call === undefined || now.call !== before.call || now.step !== before.step) {
        ;[before, waited, worked] = [now, Duration.zero, Duration.zero]
      } else if (isAtWork) worked = Duration.sum(worked, look)
      else waited = Duration.sum(waited, look)
      const all = Duration.sum(waited, worked)
      if (Duration.greaterThanOrEqualTo(waited, waiting) || Duration.greaterThanOrEqualTo(all, working)) {
        return Duration.toSeconds(all)
      }
    }
  })

/** The thread ended before it answered: it ran out of memory, or something in it ended it, or it made no progress. */
export class ThreadDied extends Data.TaggedError("ThreadDied")<{
  readonly reason: string
  /** It made no progress, and the same call would hang again. */
  readonly stalled?: boolean
}> {}

/** A thread with its own connection, which takes one call at a time. */
export interface Thread {
  readonly alive: () => boolean
  /** A number that changes with each step of its work. */
  readonly steps: () => number
  readonly perform: (call: Call) => Effect.Effect<Reply, ThreadDied>
  /** Cancels the call with this id; has no effect if the call has ended. */
  readonly cancel: (id: number) => void
}

/** Ending a thread waits for its current SQL statement; callers wait no longer than this, in milliseconds. */
const patience = 100

const entry = { source: "Store/threads/worker.ts", built: "storeWorker.js" }

/**
 * The young generation of a thread's heap. V8 would let it grow to 48 MB per thread, and never shrinks it while calls
 * arrive.
 */
const youngMb = 12

/** Starts the worker of a thread. */
export class Spawning extends Context.Reference<Spawning>()("clew/Store/Spawning", {
  defaultValue:
    () =>
    (given: ThreadData): Worker =>
      startWorker(
        entry,
        { ...given, raw: held(given.filename) },
        {
          // Descriptors that a thread leaves open stay open: closing them would release the locks of all other threads.
          trackUnmanagedFds: false,
          resourceLimits: { maxYoungGenerationSizeMb: youngMb }
        }
      )
}) {}

const end = (worker: Worker): Effect.Effect<void> =>
  Effect.promise(async () => {
    worker.ref()
    await Promise.race([worker.terminate(), delay(patience, undefined, { ref: false })])
  })

/** The share of the time since the last call that a thread was busy; where the runtime does not tell (Deno), all of it. */
export const utilizationOf = ({ performance }: { readonly performance: Partial<Worker["performance"]> }) => {
  let before = performance.eventLoopUtilization?.()
  return (): number => {
    const now = performance.eventLoopUtilization?.()
    const { utilization } = performance.eventLoopUtilization?.(now, before) ?? { utilization: 1 }
    before = now
    return utilization
  }
}

/** Turns the outcome of a call back into an effect. */
export const fromOutcome = Schema.decodeSync(Outcome)

/** Listens to a worker that starts, from its first step on: who starts it may be suspended before it waits. */
const attend = (worker: Worker, say: (said: Said) => void) => {
  type Answer = Either.Either<Reply, ThreadDied>
  let started: Answer | undefined
  let waiting: { readonly id: number; readonly resume: (reply: Answer) => void } | undefined
  waiting = { id: 0, resume: (reply) => (started = reply) }
  let dead: ThreadDied | undefined
  let reason: string | undefined
  const settle = (reply: Answer) => {
    const waiter = waiting
    waiting = undefined
    worker.unref()
    waiter?.resume(reply)
  }
  const die = (died: ThreadDied) => {
    dead ??= died
    settle(Either.left(dead))
  }
  worker.on("message", (reply: Reply | Said) => {
    if ("said" in reply) say(reply)
    else if (reply.id === waiting?.id) settle(Either.right(reply))
  })
  // The `exit` event follows.
  worker.on("error", (error) => (reason = error instanceof Error ? error.message : String(error)))
  worker.on("messageerror", (error) => die(new ThreadDied({ reason: error.message })))
  worker.on("exit", (code) => die(new ThreadDied({ reason: reason ?? `its thread ended with code ${code}` })))
  return {
    worker,
    die,
    alive: () => dead === undefined,
    call: () => waiting?.id,
    started: Effect.async<Reply, ThreadDied>((resume) => {
      if (started === undefined) waiting = { id: 0, resume }
      else resume(started)
    }),
    // Sends and waits in one step: a fiber may be suspended between two steps, and the thread could answer meanwhile.
    perform: (call: Call) =>
      Effect.async<Reply, ThreadDied>((resume) => {
        if (dead !== undefined) return resume(dead)
        worker.postMessage(call)
        worker.ref()
        waiting = { id: call.id, resume }
      })
  }
}

/**
 * Starts a thread, which ends with the scope. It keeps the process alive only while it works. A thread that makes no
 * progress counts as dead.
 */
export const start = (
  data: Omit<ThreadData, "cancelled" | "steps">,
  within: Limits = limits
): Effect.Effect<Thread, ThreadDied | StoreError, Scope.Scope> =>
  Effect.gen(function* () {
    const cancelled = new Int32Array(new SharedArrayBuffer(4))
    const steps = new Int32Array(new SharedArrayBuffer(4))
    const run = Runtime.runFork(yield* Effect.runtime())
    const say = ({ level, said }: Said) => run(Effect.logWithLevel(LogLevel.fromLiteral(level), said))
    const spawn = yield* Spawning
    const { alive, call, die, perform, started, worker } = yield* Effect.acquireRelease(
      Effect.sync(() => attend(spawn({ ...data, cancelled, steps }), say)),
      ({ worker }) => end(worker)
    )
    const died = (seconds: number) =>
      die(new ThreadDied({ reason: `its thread made no progress for ${seconds} s and was abandoned`, stalled: true }))
    const progress = { call, steps: () => steps[0]!, utilization: utilizationOf(worker) }
    // One watcher a thread, since nearly all calls end before its first look.
    yield* Effect.forkScoped(Effect.interruptible(Effect.map(standstill(progress, within), died)))
    // The caller may be interrupted while the thread starts.
    yield* fromOutcome((yield* Effect.interruptible(started)).outcome)
    return { alive, perform, steps: () => steps[0]!, cancel: (id) => Atomics.store(cancelled, 0, id) }
  })
