import { parentPort, workerData } from "node:worker_threads"
import { type RawFile, acquire, headerOf } from "../../../src/Store/sqlite/file/place.ts"

const { filename, raw } = workerData as { readonly filename: string; readonly raw: RawFile }

parentPort!.postMessage(headerOf(acquire(filename, raw).fd))
