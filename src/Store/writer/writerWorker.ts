import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeWorkerRunner from "@effect/platform-node/NodeWorkerRunner"
import * as WorkerRunner from "@effect/platform/WorkerRunner"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import { workerData } from "node:worker_threads"
import { Store } from "../../Store.ts"
import * as Sqlite from "../Sqlite.ts"
import { argsOf, type Call, Failure, type Outcome, type WriterData } from "./messages.ts"

const { filename } = workerData as WriterData

type Method = (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, typeof Failure.Type>

const perform = (call: Call): Effect.Effect<Outcome, never, Store> =>
  Effect.flatMap(Store, (store) =>
    (store[call.write] as unknown as Method)(...argsOf(call)).pipe(
      Effect.match({
        onSuccess: (value) => ({ value }),
        onFailure: (failure) => ({ failure: Schema.encodeSync(Failure)(failure) })
      })
    )
  )

// A worker's stdout is the process's, which is for results.
WorkerRunner.launch(WorkerRunner.layer(perform)).pipe(
  Effect.provide(
    Layer.mergeAll(
      NodeWorkerRunner.layer,
      Sqlite.layer({ filename, mode: "existing" }),
      Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger))
    )
  ),
  NodeRuntime.runMain
)
