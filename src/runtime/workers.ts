import { Worker, type WorkerOptions } from "node:worker_threads"

/**
 * Starts a worker thread. `source` is its entry below `src`, `built` what the build makes of it, beside this file's
 * bundle.
 */
export const startWorker = (
  { built, source }: { readonly source: string; readonly built: string },
  workerData: object = {},
  options: WorkerOptions = {}
): Worker => {
  const here = import.meta.url
  return here.endsWith(".ts")
    ? new Worker(new URL("../../scripts/sourceWorker.mjs", here), {
        ...options,
        workerData: { ...workerData, entry: new URL(`../${source}`, here).href }
      })
    : new Worker(new URL(`./${built}`, here), { ...options, workerData })
}
