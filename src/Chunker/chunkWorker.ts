import * as Either from "effect/Either"
import { readFileSync } from "node:fs"
import { parentPort, workerData } from "node:worker_threads"
import { packPassages } from "../model/packedPassages.ts"
import { chunk } from "../chunking/chunk.ts"
import { parse } from "../tokenizer/tokenizer.ts"
import type { Numbered } from "../runtime/workers.ts"
import type { Done, Job, ThreadData } from "./thread.ts"

const { tokenizer } = workerData as ThreadData
const { count } = Either.getOrThrow(parse(tokenizer, readFileSync(tokenizer)))

parentPort!.on("message", ({ content, id, options }: Numbered<Job>) => {
  const passages = packPassages(chunk(content, { ...options, countTokens: count }))
  parentPort!.postMessage({ id, passages } satisfies Numbered<Done>)
})
