import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as ScopedRef from "effect/ScopedRef"
import { StoreUnavailable } from "../../Store.ts"
import { inTurns } from "../../runtime/EventLoop.ts"
import { FairQueue, current } from "../../runtime/Turn.ts"
import { namesWanted } from "../../runtime/tracing.ts"
import type { StoreError } from "../port/errors.ts"
import { type Thread, type ThreadDied, fromOutcome } from "./Thread.ts"
import { arriving, leaving } from "./crossing.ts"
import type { Call, Method, Reply } from "./messages.ts"
import { replay } from "./spans.ts"

interface Job {
  readonly call: Call
  readonly client: string
  readonly reply: Deferred.Deferred<Reply, StoreError>
  readonly weight: number
  abandoned: boolean
  /** The thread that runs the call. */
  thread: Thread | undefined
}

export interface PoolOptions {
  /** The most threads; another one starts if a call finds all others busy. */
  readonly size: number
  /** Starts the first thread at once, so that the first call does not wait for it. */
  readonly eager: boolean
  /** Most attempts of a call whose thread dies. */
  readonly attempts: number
  readonly start: Effect.Effect<Thread, ThreadDied | StoreError, Scope.Scope>
  readonly broken: (reason: string) => StoreUnavailable
  /**
   * About how many characters a call leaves in use; default: none. An idle thread frees none, so after too many it ends
   * once it is idle. Only for a pool of one thread.
   */
  readonly weigh?: (method: Method, args: ReadonlyArray<unknown>) => number
}

/** A thread that was left more bytes than this ends after an idle second; starting another takes a tenth of one. */
const bearable = 4 * 1024 * 1024
const idle = Duration.seconds(1)

const noThread: Effect.Effect<Thread | undefined> = Effect.succeed(undefined)

/**
 * Calls the port in another thread. The call of an interrupted caller leaves the queue at once, and its thread becomes
 * free as soon as possible.
 */
export type Pool = (method: Method, args: ReadonlyArray<unknown>) => Effect.Effect<unknown, StoreError>

/**
 * Threads that let clients take turns, and take the calls of each client in their order; a thread that is free takes the
 * next call. A dead thread is replaced when a call needs it, so threads that cannot start only fail the calls that need
 * them.
 */
export const make = ({
  attempts,
  broken,
  eager,
  size,
  start,
  weigh = () => 0
}: PoolOptions): Effect.Effect<Pool, never, Scope.Scope> =>
  Effect.gen(function* () {
    // All threads end in parallel.
    const scope = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.parallel)
    const jobs = new FairQueue<Job>()
    /** Wakes those who wait for a job, the last to become idle last: its caches are warm. */
    const idlers: Array<() => void> = []
    const open = new Set<Job>()
    let [lastId, begun, starting] = [0, 0, 0]

    const woken = Effect.async<void>((resume) => {
      const wake = () => resume(Effect.void)
      idlers.push(wake)
      return Effect.sync(() => {
        const at = idlers.indexOf(wake)
        if (at !== -1) idlers.splice(at, 1)
      })
    })

    const serve = Effect.scoped(
      Effect.gen(function* () {
        const own = yield* ScopedRef.fromAcquire(noThread)
        let [burden, steps] = [0, 0]
        /** Between calls a thread may merge or sweep. */
        const endIfIdle = Effect.flatMap(ScopedRef.get(own), (thread) => {
          const before = steps
          steps = thread?.steps() ?? before
          if (jobs.size > 0 || steps !== before) return Effect.void
          burden = 0
          return ScopedRef.set(own, noThread)
        })
        const alive = Effect.flatMap(ScopedRef.get(own), (thread) =>
          thread?.alive() === true
            ? Effect.succeed(thread)
            : Effect.zipRight(
                ScopedRef.set(own, start),
                Effect.map(ScopedRef.get(own), (started) => started!)
              )
        )
        const attempt = (job: Job) =>
          Effect.flatMap(alive, (thread) => {
            if (job.abandoned) return Effect.interrupt
            job.thread = thread
            return thread.perform(job.call)
          })
        const tried = (job: Job, left: number): Effect.Effect<Reply, StoreError> =>
          Effect.catchAll(attempt(job), (error) =>
            error._tag !== "ThreadDied"
              ? Effect.fail(error)
              : left > 1 && error.stalled !== true && !job.abandoned
                ? tried(job, left - 1)
                : broken(error.reason)
          )
        const answer = (job: Job) =>
          tried(job, attempts).pipe(
            Effect.exit,
            Effect.flatMap((exit) => {
              // Its caller may return only now, when the thread is at the next call.
              job.thread = undefined
              return Deferred.done(job.reply, exit)
            })
          )
        // The first call that needs it gets the reason why it cannot start.
        yield* Effect.exit(alive)
        starting--
        for (;;) {
          const job = jobs.shift()
          if (job === undefined) {
            const isWoken = yield* burden > bearable ? Effect.timeoutOption(woken, idle) : Effect.asSome(woken)
            if (Option.isNone(isWoken)) yield* endIfIdle
          } else {
            burden += job.weight
            yield* answer(job)
            steps = (yield* ScopedRef.get(own))?.steps() ?? 0
          }
        }
      })
    )

    // An interruption between the two would leave a thread counted that never starts.
    const begin = Effect.uninterruptible(
      Effect.suspend(() => {
        begun++
        starting++
        // An uninterruptible caller would pass that on.
        return Effect.forkIn(Effect.interruptible(serve), scope)
      })
    )
    const submit = (job: Job) =>
      Effect.suspend(() => {
        jobs.push(job.client, job)
        const wake = idlers.pop()
        wake?.()
        return wake === undefined && jobs.size > starting && begun < size ? begin : Effect.void
      })

    yield* Scope.addFinalizer(
      scope,
      Effect.suspend(() => Effect.forEach(open, ({ reply }) => Deferred.interrupt(reply), { discard: true }))
    )
    if (eager) yield* begin

    return (method, args) =>
      Effect.gen(function* () {
        const call: Call = {
          id: ++lastId,
          method,
          args: yield* inTurns(() => leaving.args(method, args)),
          spans: yield* namesWanted
        }
        const job: Job = {
          call,
          client: yield* FiberRef.get(current),
          reply: Deferred.unsafeMake<Reply, StoreError>(FiberId.none),
          weight: weigh(method, args),
          abandoned: false,
          thread: undefined
        }
        const { outcome, spans } = yield* Effect.acquireUseRelease(
          Effect.sync(() => open.add(job)),
          () => Effect.zipRight(submit(job), Deferred.await(job.reply)),
          () =>
            Effect.sync(() => {
              open.delete(job)
              jobs.delete(job.client, job)
              job.abandoned = true
              job.thread?.cancel(call.id)
            })
        )
        if (spans.length > 0) yield* replay(spans)
        return arriving.result(method, yield* fromOutcome(outcome))
      })
  })
