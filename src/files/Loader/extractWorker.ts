import { readFileSync } from "node:fs"
import { parentPort, workerData } from "node:worker_threads"
import { NotExtracted } from "../../extraction/Extracted.ts"
import { extract } from "../../extraction/extract.ts"
import { type Numbered, tellNumber } from "../../runtime/workers.ts"
import type { Answer, Job, ThreadData } from "./Extractor.ts"
import { whyNot } from "./failure.ts"

const { cmaps, thread } = workerData as ThreadData
tellNumber(thread)

const answer = async ({ kind, source }: Job): Promise<Answer> => {
  try {
    return { read: await extract(kind, source, { cmaps: () => readFileSync(cmaps) }) }
  } catch (error) {
    // A failure of the library itself means that the file is damaged.
    return error instanceof NotExtracted ? { reason: error.message, isLimit: error.isLimit } : whyNot(error)
  }
}

parentPort!.on("message", ({ id, ...job }: Numbered<Job>) => {
  void answer(job).then((outcome) => parentPort!.postMessage({ ...outcome, id }))
})
