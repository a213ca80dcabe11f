import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Logger from "effect/Logger"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import * as Scheduler from "effect/Scheduler"
import type { MessagePort } from "node:worker_threads"
import { type Stores, whole } from "../../Store.ts"
import { arriving, leaving } from "./crossing.ts"
import type { StoreError } from "../port/errors.ts"
import { type Call, Outcome, type Reply, type Said, type ThreadData } from "./messages.ts"
import { recorder } from "./spans.ts"
import { Cancelled } from "../sql/Cancelled.ts"
import * as Sqlite from "../Sqlite.ts"
import { stacked } from "../../runtime/stacked.ts"

type Operation = (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, StoreError>

const toOutcome = Schema.encodeSync(Outcome)

/** Opens the database and performs the calls that come over the port, one at a time, until it is interrupted. */
export const serve = (port: MessagePort, { cancelled, steps, ...options }: ThreadData): Effect.Effect<void> => {
  let current: { readonly id: number; readonly fiber: Fiber.RuntimeFiber<unknown, unknown> } | undefined

  const isCancelled = () => current !== undefined && Atomics.load(cancelled, 0) === current.id

  /** A busy thread receives no messages, so every step of an effect checks the shared flag and leaves a sign of life. */
  const attentive: Scheduler.Scheduler = {
    scheduleTask: (task, priority, fiber) => Scheduler.defaultScheduler.scheduleTask(task, priority, fiber),
    shouldYield: (fiber) => {
      steps[0]!++
      if (isCancelled()) {
        const { fiber: given } = current!
        current = undefined
        given.unsafeInterruptAsFork(FiberId.none)
      }
      return Scheduler.defaultScheduler.shouldYield(fiber)
    }
  }

  const post = (reply: Reply): void => {
    try {
      port.postMessage(reply)
    } catch (error) {
      port.postMessage({ id: reply.id, outcome: toOutcome(Exit.die(error)), spans: [] } satisfies Reply)
    }
  }

  const perform = ({ args, id, method, spans: wanted }: Call) =>
    Effect.gen(function* () {
      const store = yield* whole
      const { spans, tracer } = recorder(yield* Effect.tracer, `Store.${method}`, wanted)
      const call = Effect.suspend(() => (store[method] as unknown as Operation)(...arriving.args(method, args)))
      const exit = yield* call.pipe(
        Effect.map((value) => leaving.result(method, value)),
        Effect.withTracer(tracer),
        Effect.provideService(Cancelled, () => {
          steps[0]!++
          return Atomics.load(cancelled, 0) === id
        }),
        Effect.exit
      )
      return { id, outcome: toOutcome(exit), spans: spans() } satisfies Reply
    })

  const listen = Effect.gen(function* () {
    const run = Runtime.runFork(yield* Effect.runtime<Stores>())
    port.on("message", (call: Call) => {
      const fiber = run(perform(call), { scheduler: attentive, immediate: false })
      current = { id: call.id, fiber }
      fiber.addObserver((exit) => {
        current = undefined
        post(Exit.isSuccess(exit) ? exit.value : { id: call.id, outcome: toOutcome(exit), spans: [] })
      })
    })
    post({ id: 0, outcome: toOutcome(Exit.void), spans: [] })
    return yield* Effect.never
  })

  // Logged by the thread that started this one, which knows where and how.
  const log = Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ cause, logLevel, message }) => {
      const why = Cause.isEmpty(cause) ? "" : `: ${Cause.pretty(cause)}`
      port.postMessage({ level: logLevel._tag, said: `${String(message)}${why}` } satisfies Said)
    })
  )

  return listen.pipe(
    Effect.provide(stacked(log, Sqlite.layer({ ...options, inThread: true }))),
    Effect.catchAllCause((cause) =>
      Effect.sync(() => post({ id: 0, outcome: toOutcome(Exit.failCause(cause)), spans: [] }))
    ),
    Effect.withScheduler(attentive)
  )
}
