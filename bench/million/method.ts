// One method at one size, in a separate process, so that its memory can be measured.
import * as Effect from "effect/Effect"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { brute } from "./brute.ts"
import { clew } from "./clew.ts"
import { prepare, type Task } from "./data.ts"
import { fts5 } from "./fts5.ts"
import type { Result, Truth } from "./result.ts"
import { usearch } from "./usearch.ts"
import { vec0 } from "./vec0.ts"

const task = JSON.parse(process.argv[2]!) as Task
const data = await Effect.runPromise(prepare(task))
const truthFile = join(task.work, `truth-${data.source.hash}-${task.size}-${task.queries}.json`)
const truth = existsSync(truthFile) ? (JSON.parse(readFileSync(truthFile, "utf8")) as Truth) : {}

const perform = async (): Promise<Result> => {
  switch (task.method) {
    case "brute": {
      const { truth: found, ...result } = await brute(data, task)
      writeFileSync(truthFile, JSON.stringify(found))
      return result
    }
    case "clew":
      return clew(data, task, truth)
    case "vec0":
      return vec0(data, task, truth)
    case "fts5":
      return fts5(data, task)
    default:
      return usearch(data, task, truth)
  }
}

writeFileSync(join(task.work, "result.json"), JSON.stringify(await perform()))
process.exit(0)
