import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as FiberHandle from "effect/FiberHandle"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import * as Scope from "effect/Scope"
import * as ScopedRef from "effect/ScopedRef"
import { StoreUnavailable } from "../../Store.ts"
import { inTurns } from "../../runtime/EventLoop.ts"
import * as Client from "../../runtime/Turn.ts"
import { FairQueue } from "../../runtime/Turn.ts"
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

/** Taken from the queue in turn, like a job. */
const rest = Symbol("rest")

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
    const jobs = new FairQueue<Job | typeof rest>()
    /** Those who take the next job, the last to become idle last: its caches are warm. */
    const takers: Array<(job: Job | typeof rest) => void> = []
    const open = new Set<Job>()
    let [lastId, begun, starting] = [0, 0, 0]

    const next = Effect.async<Job | typeof rest>((resume) => {
      const first = jobs.shift()
      if (first !== undefined) return resume(Effect.succeed(first))
      const take = (job: Job | typeof rest) => resume(Effect.succeed(job))
      takers.push(take)
      return Effect.sync(() => {
        const at = takers.indexOf(take)
        if (at !== -1) takers.splice(at, 1)
      })
    })

    const offer = (job: Job | typeof rest): void => {
      const take = takers.pop()
      if (take === undefined) jobs.push(job === rest ? "" : job.client, job)
      else take(job)
    }

    const serve = Effect.scoped(
      Effect.gen(function* () {
        const own = yield* ScopedRef.fromAcquire(noThread)
        const resting = yield* FiberHandle.make()
        let burden = 0
        const end = Effect.suspend(() => {
          burden = 0
          return ScopedRef.set(own, noThread)
        })
        let steps = 0
        const restLater = Effect.flatMap(ScopedRef.get(own), (thread) => {
          steps = thread?.steps() ?? 0
          return FiberHandle.run(
            resting,
            Effect.delay(
              Effect.sync(() => offer(rest)),
              idle
            )
          )
        })
        // Between calls a thread may merge or sweep.
        const endIfIdle = Effect.flatMap(ScopedRef.get(own), (thread) =>
          thread === undefined || thread.steps() === steps ? end : restLater
        )
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
        return yield* Effect.forever(
          Effect.flatMap(next, (job) => {
            if (job === rest) return burden > bearable && jobs.size === 0 ? endIfIdle : Effect.void
            burden += job.weight
            const answered = job.abandoned ? Effect.void : answer(job)
            if (burden <= bearable) return answered
            return FiberHandle.clear(resting).pipe(Effect.zipRight(answered), Effect.zipRight(restLater))
          })
        )
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
        offer(job)
        return jobs.size > starting && begun < size ? begin : Effect.void
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
          client: yield* FiberRef.get(Client.current),
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
