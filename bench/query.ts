import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { layerOf } from "../src/App.ts"
import { percentile } from "../src/measuring/Benchmark.ts"
import { FileIndexer } from "../src/files/FileIndexer.ts"
import { defaultCollection } from "../src/model/Collection.ts"
import type { SearchRequest } from "../src/model/Query.ts"
import { Search } from "../src/Search.ts"
import { corpusNamed, temporaryFolder } from "./program.ts"

const rounds = 3

const corpus = resolve(corpusNamed("query"))
const queriesFile = join(dirname(corpus), "queries.jsonl")
const Query = Schema.parseJson(Schema.Struct({ text: Schema.String }))
const queries = existsSync(queriesFile)
  ? readFileSync(queriesFile, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => Schema.decodeSync(Query)(line).text)
  : ["how is it measured", "effect of temperature", "what is known about the history of this"]

const modes: ReadonlyArray<readonly [name: string, request: Partial<SearchRequest>]> = [
  ["keyword", { alpha: 0 }],
  ["vector", { hybrid: false }],
  ["hybrid rrf", { fusion: "rrf" }],
  ["hybrid score", { fusion: "score" }]
]

const bench = Effect.gen(function* () {
  const files = yield* FileIndexer
  const search = yield* Search
  yield* Stream.runDrain(files.run({ paths: [corpus], collection: defaultCollection, prune: false, dryRun: false }))

  for (const [name, request] of modes) {
    const milliseconds: Array<number> = []
    for (let round = 0; round <= rounds; round++) {
      for (const query of queries) {
        const started = performance.now()
        yield* search.run({ query, topK: 10, ...request })
        // The first round warms the caches.
        if (round > 0) milliseconds.push(performance.now() - started)
      }
    }
    const at = (share: number) => percentile(milliseconds, share).toFixed(1).padStart(6)
    console.log(`${name.padEnd(13)} p50 ${at(0.5)} ms  p95 ${at(0.95)} ms  p99 ${at(0.99)} ms`)
  }
})

const app = layerOf({ store: { path: join(temporaryFolder(), "index.db") }, embedding: { backend: "builtin" } })
await Effect.runPromise(Effect.provide(bench, app))
