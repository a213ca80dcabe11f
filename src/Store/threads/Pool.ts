import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as ScopedRef from "effect/ScopedRef"
import { StoreUnavailable } from "../../Store.ts"
import { inTurns } from "../../runtime/EventLoop.ts"
import { namesWanted } from "../../runtime/tracing.ts"
import { arriving, leaving } from "./crossing.ts"
import type { StoreError } from "../port/errors.ts"
import type { Call, Method, Reply } from "./messages.ts"
import { replay } from "./spans.ts"
import { fromOutcome, type Thread, type ThreadDied } from "./Thread.ts"

interface Job {
  readonly call: Call
  readonly reply: Deferred.Deferred<Reply, StoreError>
  /** The thread ends after this call. */
  readonly isLast: boolean
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
   * Whether a call leaves so much memory in use that its thread should end: an idle thread frees none. Default: never.
   */
  readonly exhausts?: (method: Method, args: ReadonlyArray<unknown>) => boolean
}

const nobody: Effect.Effect<Thread | undefined> = Effect.succeed(undefined)

/**
 * Calls the port in another thread. An interrupted caller returns at once, and its thread becomes free as soon as
 * possible.
 */
export type Pool = (method: Method, args: ReadonlyArray<unknown>) => Effect.Effect<unknown, StoreError>

/**
 * Threads that take calls in order, each taking the next when it is free. A dead thread is replaced when a call needs
 * it, so threads that cannot start only fail the calls that need them.
 */
export const make = ({
  attempts,
  broken,
  eager,
  exhausts = () => false,
  size,
  start
}: PoolOptions): Effect.Effect<Pool, never, Scope.Scope> =>
  Effect.gen(function* () {
    // All threads end in parallel.
    const scope = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.parallel)
    const jobs = yield* Queue.unbounded<Job>()
    const open = new Set<Job>()
    let [lastId, begun, free, queued] = [0, 0, 0, 0]

    const next = Effect.suspend(() => {
      free++
      return Effect.ensuring(
        Queue.take(jobs),
        Effect.sync(() => free--)
      )
    })

    const serve = Effect.scoped(
      Effect.gen(function* () {
        const own = yield* ScopedRef.fromAcquire(nobody)
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
        const answer = (job: Job) =>
          attempt(job).pipe(
            Effect.retry({
              times: attempts - 1,
              while: (error) => error._tag === "ThreadDied" && error.stalled !== true && !job.abandoned
            }),
            Effect.catchTag("ThreadDied", ({ reason }) => broken(reason)),
            Effect.exit,
            Effect.flatMap((exit) => {
              // Its caller may return only now, when the thread is at the next call.
              job.thread = undefined
              return Deferred.done(job.reply, exit)
            })
          )
        // The first call that needs it gets the reason why it cannot start.
        yield* Effect.exit(alive)
        return yield* Effect.forever(
          Effect.flatMap(next, (job) => {
            queued--
            if (job.abandoned) return Effect.void
            return job.isLast ? Effect.zipRight(answer(job), ScopedRef.set(own, nobody)) : answer(job)
          })
        )
      })
    )

    // An interruption between the two would leave a thread counted that never starts.
    const begin = Effect.uninterruptible(
      Effect.suspend(() => {
        begun++
        // An uninterruptible caller would pass that on.
        return Effect.forkIn(Effect.interruptible(serve), scope)
      })
    )
    const submit = (job: Job) =>
      Effect.suspend(() => {
        queued++
        Queue.unsafeOffer(jobs, job)
        return queued > free && begun < size ? begin : Effect.void
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
          reply: yield* Deferred.make<Reply, StoreError>(),
          isLast: exhausts(method, args),
          abandoned: false,
          thread: undefined
        }
        const { outcome, spans } = yield* Effect.acquireUseRelease(
          Effect.sync(() => open.add(job)),
          () => Effect.zipRight(submit(job), Deferred.await(job.reply)),
          () =>
            Effect.sync(() => {
              open.delete(job)
              job.abandoned = true
              job.thread?.cancel(call.id)
            })
        )
        yield* replay(spans)
        return arriving.result(method, yield* fromOutcome(outcome))
      })
  })
