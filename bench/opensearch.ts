import * as Effect from "effect/Effect"
import { mkdirSync, readFileSync, rmSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { percentile } from "../src/measuring/Benchmark.ts"
import { mean } from "../src/measuring/evaluation.ts"
import { defaultCollection } from "../src/model/Collection.ts"
import { startCluster } from "../test/opensearch/cluster/start.ts"
import { besideEachOther } from "./beside.ts"
import { documents, requestOf } from "./million/clew.ts"
import { type Data, prepare, topK } from "./million/data.ts"
import { type RankedRequest, ranked } from "../test/ranked.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    work: { type: "string" },
    urls: { type: "string" },
    size: { type: "string", default: "100000" },
    queries: { type: "string", default: "100" },
    nodes: { type: "string", default: "3" },
    parallel: { type: "string", default: "3" },
    "no-graph": { type: "boolean", default: false }
  }
})
const corpora = positionals.map((given) => resolve(given.endsWith(".jsonl") ? dirname(given) : given))
const size = Number(values.size)
if (values.work === undefined || corpora.length === 0 || !(size >= 1000)) {
  console.error(
    `usage: npm run bench -- opensearch --work DIR [--urls http://…,http://…] [--size 100000] [--queries 100]
         [--nodes 3] [--parallel 3] [--no-graph] CORPUS...

A CORPUS is a folder in BEIR layout. Without --urls, a cluster of so many nodes is started here, which takes a JDK and
Maven. The passages also go into an index file in DIR, beside which all is measured.`
  )
  process.exit(2)
}
const work = resolve(values.work)
mkdirSync(work, { recursive: true })
const cluster = values.urls === undefined ? await startCluster(Number(values.nodes)) : undefined
const ended = async (code: number) => {
  await cluster?.stop()
  process.exit(code)
}
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void ended(1))

const file = join(work, `beside-opensearch-${size}.db`)
for (const part of ["", "-wal", "-shm"]) rmSync(`${file}${part}`, { force: true })
const prefix = `bench-${Date.now().toString(36)}`
const replicas = Math.min(1, (cluster?.nodes.length ?? 2) - 1)
const stores = {
  SQLite: { path: file },
  OpenSearch: {
    path: file,
    urls: cluster?.urls ?? values.urls!.split(","),
    index_prefix: prefix,
    replicas,
    refresh: "interval"
  }
} as const
type Name = keyof typeof stores
const names = Object.keys(stores) as ReadonlyArray<Name>

const on = besideEachOther<Name>(stores, !values["no-graph"])

/** Seconds of processor time that the nodes have taken; their own ticks are a hundredth of a second. */
const serverSeconds = (): number =>
  (cluster?.nodes ?? []).reduce((sum, { process: { pid } }) => {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ")
    return sum + (Number(stat[11]) + Number(stat[12])) / 100
  }, 0)

const clientSeconds = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1e6
}

const told = (what: string, sqlite: number, opensearch: number, digits = 1) =>
  console.log(`| ${what} | ${sqlite.toFixed(digits)} | ${opensearch.toFixed(digits)} |`)

const batch = 500

const build = (data: Data) =>
  on("create", (both) =>
    Effect.gen(function* () {
      const spent = { SQLite: 0, OpenSearch: 0 }
      const cpu = { server: 0, client: 0 }
      const starts = Array.from({ length: Math.ceil(size / batch) }, (_, at) => at * batch)
      for (const name of names) {
        yield* both[name].createCollection(defaultCollection, data.identity)
        const [began, server, client] = [performance.now(), serverSeconds(), clientSeconds()]
        yield* Effect.forEach(
          starts,
          (from) => both[name].put(defaultCollection, documents(data, from, Math.min(batch, size - from))),
          { concurrency: name === "SQLite" ? 1 : Number(values.parallel), discard: true }
        )
        spent[name] = performance.now() - began
        if (name === "OpenSearch") {
          cpu.server = serverSeconds() - server
          cpu.client = clientSeconds() - client
        }
      }
      return { spent, cpu }
    })
  )

const legs: ReadonlyArray<readonly [string, RankedRequest]> = [
  ["keyword", { vector: undefined }],
  ["vector", { keyword: undefined }],
  ["hybrid", {}],
  ["hybrid, 10 % left", { filter: { ten: true } }],
  ["vector, 1 % left", { keyword: undefined, filter: { one: true } }]
]

try {
  const data = await Effect.runPromise(
    prepare({ method: "opensearch", size, corpora, work, queries: Number(values.queries) })
  )
  const { cpu, spent } = await build(data)
  console.log(
    `\n${size.toLocaleString("en")} passages, ${data.queries.length} queries, ${cluster?.nodes.length ?? "?"} nodes, ${replicas + 1} copies of 3 shards\n`
  )
  console.log("| | SQLite | OpenSearch |\n|---|---:|---:|")
  told("indexing, passages/s", (1000 * size) / spent.SQLite, (1000 * size) / spent.OpenSearch, 0)
  if (cluster !== undefined) {
    console.log(`| processor time of the nodes a passage, ms | | ${((1000 * cpu.server) / size).toFixed(2)} |`)
  }
  console.log(`| processor time of Clew a passage, ms | | ${((1000 * cpu.client) / size).toFixed(2)} |`)
  await on("readonly", (both) =>
    Effect.gen(function* () {
      const sizes = yield* Effect.forEach(names, (name) => both[name].stats())
      told("bytes a passage", sizes[0]!.databaseBytes / size, sizes[1]!.databaseBytes / size, 0)
      // The first rounds fill the caches and let the nodes compile what they run; only the last one is measured.
      for (const [at, [what, request]] of [...legs, ...legs, ...legs].entries()) {
        const times: Record<Name, Array<number>> = { SQLite: [], OpenSearch: [] }
        const overlaps: Array<number> = []
        let server = 0
        for (const query of data.queries) {
          const found: Record<Name, ReadonlyArray<string>> = { SQLite: [], OpenSearch: [] }
          for (const name of names) {
            const [began, before] = [performance.now(), serverSeconds()]
            const hits = yield* ranked(both[name], requestOf(query, request))
            found[name] = hits.map(({ document }) => document.docId)
            times[name].push(performance.now() - began)
            if (name === "OpenSearch") server += serverSeconds() - before
          }
          const same = found.SQLite.slice(0, topK).filter((id) => found.OpenSearch.includes(id)).length
          overlaps.push(same / Math.max(1, Math.min(topK, found.SQLite.length)))
        }
        if (at < 2 * legs.length) continue
        for (const share of [0.5, 0.95]) {
          told(`${what} p${100 * share} ms`, percentile(times.SQLite, share), percentile(times.OpenSearch, share))
        }
        if (cluster !== undefined) {
          console.log(
            `| ${what}, processor time of the nodes ms | | ${((1000 * server) / data.queries.length).toFixed(0)} |`
          )
        }
        console.log(`| ${what}, the same among the first ${topK} | | ${mean(overlaps).toFixed(3)} |`)
      }
    })
  )
  await ended(0)
} catch (error) {
  console.error(error)
  await ended(1)
}
