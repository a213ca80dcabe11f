import * as Either from "effect/Either"
import { readFileSync } from "node:fs"
import { parentPort, workerData } from "node:worker_threads"
import { packPassages } from "../model/packedPassages.ts"
import { chunk } from "../chunking/chunk.ts"
import { parse } from "../tokenizer/tokenizer.ts"
import type { Done, NumberedJob, ThreadData } from "./thread.ts"

const { tokenizer } = workerData as ThreadData
const { count } = Either.getOrThrow(parse(tokenizer, readFileSync(tokenizer)))

parentPort!.on("message", ({ content, id, options }: NumberedJob) => {
  const passages = packPassages(chunk(content, { ...options, countTokens: count }))
  parentPort!.postMessage({ id, passages } satisfies Done)
})
