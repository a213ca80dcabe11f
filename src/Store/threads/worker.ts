import * as Effect from "effect/Effect"
import { parentPort, workerData } from "node:worker_threads"
import { serve } from "./serving.ts"

Effect.runFork(serve(parentPort!, workerData))
