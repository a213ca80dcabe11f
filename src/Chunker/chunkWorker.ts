import * as Either from "effect/Either"
import { readFileSync } from "node:fs"
import { parentPort, workerData } from "node:worker_threads"
import { chunk } from "../text/chunk.ts"
import { parse } from "../text/tokenizer/tokenizer.ts"
import type { Cut, Done, NumberedJob, ThreadData } from "./messages.ts"

const { count } = Either.getOrThrow(parse(readFileSync((workerData as ThreadData).tokenizer)))

parentPort!.on("message", ({ content, id, options }: NumberedJob) => {
  const passages = chunk(content, { ...options, countTokens: count })
  const cuts: ReadonlyArray<Cut> = passages.map(({ end, endLine, heading, start, startLine, tableHeader }) => ({
    heading,
    start,
    end,
    startLine,
    endLine,
    ...(tableHeader === undefined ? {} : { tableHeader })
  }))
  parentPort!.postMessage({ id, cuts } satisfies Done)
})
