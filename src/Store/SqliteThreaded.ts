import * as NodeWorker from "@effect/platform-node/NodeWorker"
import * as Worker from "@effect/platform/Worker"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { Worker as Thread } from "node:worker_threads"
import { Store, StoreUnavailable } from "../Store.ts"
import * as Sqlite from "./Sqlite.ts"
import { Failure, type Outcome, toCall, type Call, type Write, type WriterData, writes } from "./writer/messages.ts"

const spawn = (data: WriterData): Thread => {
  const here = import.meta.url
  return here.endsWith(".ts")
    ? new Thread(new URL("./writer/tsxWorker.mjs", here), {
        workerData: { ...data, entry: new URL("./writer/writerWorker.ts", here).href }
      })
    : new Thread(new URL("./writerWorker.js", here), { workerData: data })
}

const decodeFailure = Schema.decodeSync(Failure)

/** Reads on the caller's thread, writes on one of their own, which starts with the first write. */
export const layer = (options: Sqlite.DatabaseOptions): Layer.Layer<Store, StoreUnavailable> =>
  Layer.scoped(
    Store,
    Effect.gen(function* () {
      const store = yield* Store
      const scope = yield* Effect.scope
      const stopped = (error: unknown) =>
        new StoreUnavailable({ reason: `Writing to ${options.filename} broke off: ${String(error)}; try again` })

      // In a fiber of its own: a caller that goes away while the thread starts takes nobody else along.
      const starting = yield* Worker.makePool<Call, Outcome, never>({ size: 1, concurrency: 1 }).pipe(
        Effect.provide(NodeWorker.layer(() => spawn({ filename: options.filename }))),
        Effect.provideService(Scope.Scope, scope),
        Effect.forkIn(scope),
        Effect.uninterruptible,
        Effect.cached
      )
      const writer = Effect.flatMap(starting, Fiber.join)

      const perform =
        (write: Write) =>
        (...args: ReadonlyArray<unknown>) =>
          Effect.flatMap(writer, (pool) => pool.executeEffect(toCall(write, args))).pipe(
            Effect.mapError(stopped),
            Effect.flatMap((outcome) =>
              "value" in outcome ? Effect.succeed(outcome.value) : Effect.fail(decodeFailure(outcome.failure))
            ),
            Effect.withSpan(`Store.${write}`)
          )

      return {
        ...store,
        ...(Object.fromEntries(writes.map((write) => [write, perform(write)])) as unknown as Pick<
          typeof Store.Service,
          Write
        >)
      }
    })
  ).pipe(Layer.provide(Sqlite.layer(options)))
