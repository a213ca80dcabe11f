import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import { closeSync, openSync, statSync, writeSync } from "node:fs"
import { join } from "node:path"
import { layerOf } from "../src/App.ts"
import type { GraphUse } from "../src/model/Graph.ts"
import { Search } from "../src/Search.ts"
import { whole } from "../src/Store.ts"
import { CollectionName } from "../src/model/Collection.ts"
import { readCorpus } from "./corpus.ts"
import { corpusNamed, median, program, temporaryFolder } from "./program.ts"

// What the graph costs: `npm run bench -- graph CORPUS [PASSAGES] [ROUNDS]`. A smaller corpus is repeated, each time with
// another ending on its names, so that a name stays as rare as in the corpus.

const corpus = readCorpus(corpusNamed("graph"))
const passages = Number(process.argv[3] ?? 10_000)
const rounds = Number(process.argv[4] ?? 3)
const clew = program()
const folder = temporaryFolder()

const endings = "abcdefghijklmnopqrstuvwxyz"
const renamed = (text: string, copy: number): string =>
  copy === 0
    ? text
    : text.replace(
        /(?<=\p{L} )\p{Lu}\p{Ll}{2,}/gu,
        (name) => `${name}${endings[copy % 26]}${endings[Math.floor(copy / 26) % 26]}o`
      )

const file = join(folder, "corpus.jsonl")
const out = openSync(file, "w")
let documents = 0
let copies = 0
for (; documents < passages; copies++) {
  for (const { id, text, title } of corpus.documents) {
    if (documents >= passages) break
    // A title is one name: all its words get the copy's ending.
    const own = renamed(`a ${title}`, copies).slice(2)
    writeSync(out, `${JSON.stringify({ _id: `${copies}-${id}`, title: own, text: renamed(text, copies) })}\n`)
    documents++
  }
}
closeSync(out)

const told =
  "data:text/javascript,process.on('exit',()=>{const{user,system}=process.cpuUsage();" +
  "process.stderr.write(`told ${(user+system)/1e6} ${process.resourceUsage().maxRSS/1000}`)})"

/** Runs the program; returns its CPU seconds, wall time and peak memory in MB. */
const measured = (args: ReadonlyArray<string>, graph: boolean) => {
  const started = performance.now()
  const { status, stderr } = spawnSync(process.execPath, ["--import", told, clew, ...args], {
    encoding: "utf8",
    env: { ...process.env, CLEW_EMBEDDING_BACKEND: "builtin", CLEW_GRAPH_ENABLED: String(graph) }
  })
  if (status !== 0) throw new Error(stderr)
  const [, cpu = 0, megabytes = 0] = (/told (\S+) (\S+)/.exec(stderr) ?? []).map(Number)
  return { cpu, megabytes, seconds: (performance.now() - started) / 1000 }
}

const database = (graph: boolean) => join(folder, `${graph}.db`)
const shares: Array<number> = []
for (let round = 0; round < rounds; round++) {
  const cpu = [false, true].map((graph) => {
    const last = round === rounds - 1
    const db = last ? database(graph) : join(folder, `${graph}-${round}.db`)
    const { cpu, megabytes, seconds } = measured(["index", file, "--quiet", "--db", db], graph)
    console.log(
      `graph ${graph}: ${documents} documents indexed in ${seconds.toFixed(1)} s, ${cpu.toFixed(1)} s of processor, ` +
        `peak ${megabytes.toFixed(0)} MB, ${(statSync(db).size / 1e6).toFixed(1)} MB on disk`
    )
    return cpu
  })
  shares.push(cpu[1]! / cpu[0]!)
}
const size = statSync(database(true)).size / statSync(database(false)).size
console.log(`with the graph ${median(shares).toFixed(3)} times the processor's time, ${size.toFixed(3)} times the size`)

const built = measured(["graph", "build", "--quiet", "--db", database(false)], true)
console.log(
  `graph build: ${built.seconds.toFixed(1)} s, ${built.cpu.toFixed(1)} s of processor, peak ${built.megabytes.toFixed(0)} MB`
)

const questions = Array.from({ length: 300 }, (_, n) => renamed(corpus.query(n), Math.floor((n * copies) / 300)))
const uses: ReadonlyArray<GraphUse> = [false, true, "auto"]

const bench = Effect.gen(function* () {
  const search = yield* Search
  const store = yield* whole
  const started = performance.now()
  const linkage = yield* store.linkage(CollectionName.make("default"))
  console.log(`linkage ${linkage.toFixed(2)} in ${(performance.now() - started).toFixed(1)} ms`)
  const milliseconds = new Map(uses.map((use) => [use, new Array<number>()]))
  let led = 0
  for (const [at, query] of questions.entries()) {
    // In turn; the first round only warms the caches.
    for (const round of [0, 1, 2]) {
      for (const graph of uses) {
        const started = performance.now()
        const { hits } = yield* search.run({ query, topK: 10, graph })
        if (round > 0 && at >= 20) milliseconds.get(graph)!.push(performance.now() - started)
        if (round === 0 && graph === true && hits.some(({ via }) => via !== undefined)) led++
      }
    }
  }
  for (const [use, taken] of milliseconds) {
    const sorted = taken.toSorted((a, b) => a - b)
    const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))]!.toFixed(2)
    console.log(`graph ${use}: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms`)
  }
  console.log(`${led} of ${questions.length} questions were led somewhere`)
})

const app = layerOf({ store: { path: database(true) }, embedding: { backend: "builtin" } })
await Effect.runPromise(Effect.provide(bench, app))
