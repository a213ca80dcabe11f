import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { layerOf } from "../src/App.ts"
import { FileIndexer } from "../src/files/FileIndexer.ts"
import { CollectionName } from "../src/model/Collection.ts"
import type { GraphUse } from "../src/model/Graph.ts"
import { Search } from "../src/Search.ts"
import { whole } from "../src/Store.ts"
import { temporaryFolder } from "./program.ts"

// Thirty questions over this project's documentation and undici's (MIT, installed with the development dependencies), each
// answered by two documents: `npm run bench -- graphQuestions`. Nothing is tuned to them.

const root = fileURLToPath(new URL("..", import.meta.url))
const folders = { clew: join(root, "docs"), undici: join(root, "node_modules/undici/docs/docs") }
if (!existsSync(folders.undici)) throw new Error(`${folders.undici} is not there; run npm ci`)

const Question = Schema.parseJson(
  Schema.Struct({
    set: Schema.Literal("clew", "undici"),
    question: Schema.String,
    documents: Schema.Array(Schema.String)
  })
)
const questions = readFileSync(join(root, "bench/graph/questions.jsonl"), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => Schema.decodeSync(Question)(line))

const uses: ReadonlyArray<GraphUse> = [false, true, "auto"]

const bench = Effect.gen(function* () {
  const files = yield* FileIndexer
  const search = yield* Search
  const store = yield* whole
  const missed: Array<string> = []
  console.log("set      graph   both found  found of 2  linkage")
  for (const [set, folder] of Object.entries(folders)) {
    const collection = CollectionName.make(set)
    yield* Stream.runDrain(files.run({ paths: [folder], collection, prune: false, dryRun: false }))
    const asked = questions.filter((question) => question.set === set)
    for (const graph of uses) {
      let whole = 0
      let found = 0
      for (const { documents, question } of asked) {
        const { hits } = yield* search.run({ query: question, topK: 10, collection, graph })
        const there = documents.filter((name) => hits.some(({ document }) => document.source.endsWith(`/${name}`)))
        found += there.length
        if (there.length === documents.length) whole++
        else missed.push(`${set}, graph ${graph}: ${question} (${documents.filter((name) => !there.includes(name))})`)
      }
      const linkage = yield* store.linkage(collection)
      console.log(
        `${set.padEnd(8)} ${String(graph).padEnd(7)} ${`${whole} of ${asked.length}`.padEnd(11)} ` +
          `${(found / (2 * asked.length)).toFixed(3).padEnd(11)} ${linkage.toFixed(2)}`
      )
    }
  }
  if (process.argv.includes("--missed")) console.log(missed.join("\n"))
})

const app = layerOf({ store: { path: join(temporaryFolder(), "index.db") }, embedding: { backend: "builtin" } })
await Effect.runPromise(Effect.provide(bench, app))
