import * as Effect from "effect/Effect"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { percentile } from "../src/measuring/Benchmark.ts"
import { mean } from "../src/measuring/evaluation.ts"
import { defaultCollection } from "../src/model/Collection.ts"
import type { Filter } from "../src/model/Filter.ts"
import { serverIn } from "../test/Store/postgres/server.ts"
import { best, dots } from "./million/brute.ts"
import { besideEachOther } from "./beside.ts"
import { documents, requestOf } from "./million/clew.ts"
import { type Data, passageAt, prepare, topK } from "./million/data.ts"
import { median, program } from "./program.ts"
import { serveHttp } from "./storms.ts"
import { type RankedRequest, ranked } from "../test/ranked.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    work: { type: "string" },
    url: { type: "string" },
    size: { type: "string", default: "100000" },
    queries: { type: "string", default: "200" },
    servers: { type: "string", default: "10" },
    "no-graph": { type: "boolean", default: false },
    fresh: { type: "boolean", default: false }
  }
})
const corpora = positionals.map((given) => resolve(given.endsWith(".jsonl") ? dirname(given) : given))
const size = Number(values.size)
if (values.work === undefined || corpora.length === 0 || !(size >= 1000)) {
  console.error(
    `usage: npm run bench -- postgres --work DIR [--url postgres://…] [--size 100000] [--queries 200] [--servers 10]
         [--no-graph] [--fresh] CORPUS...

A CORPUS is a folder in BEIR layout. DIR keeps the vectors and both indexes for the next run; --fresh makes the indexes
again. Without --url, Debian's PostgreSQL runs in DIR.`
  )
  process.exit(2)
}
const work = resolve(values.work)
mkdirSync(work, { recursive: true })

/** What a server of its own is given, for a machine with 4 GB or more. */
const tuned = "shared_buffers = 512MB\nmax_wal_size = 4GB\nmaintenance_work_mem = 256MB\n"
const folder = join(work, "server")
mkdirSync(folder, { recursive: true })
const own = values.url === undefined ? serverIn(folder, { more: tuned }) : undefined
process.on("exit", () => own?.stop())
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1))

const file = join(work, `beside-${size}.db`)
const stores = {
  SQLite: { path: file },
  PostgreSQL: { path: file, url: own?.url ?? values.url!, schema: `bench_${size}` }
} as const
type Name = keyof typeof stores
const names = Object.keys(stores) as ReadonlyArray<Name>

const on = besideEachOther<Name>(stores, !values["no-graph"])

/** Messages that the driver sends, each with one statement or several. */
let sent = 0
const { prototype } = (
  createRequire(import.meta.url)("pg") as {
    readonly Client: { readonly prototype: { query: (...args: Array<unknown>) => unknown } }
  }
).Client
const { query: send } = prototype
prototype.query = function (...args) {
  sent++
  return send.apply(this, args)
}

const batch = 500
/** Passages that one store takes before the other: long enough for its merging to count. */
const stretch = 5000

const build = (data: Data) =>
  on("create", (both) =>
    Effect.gen(function* () {
      const spent: Record<Name, number> = { SQLite: 0, PostgreSQL: 0 }
      for (const name of names) yield* both[name].createCollection(defaultCollection, data.identity)
      for (let from = 0; from < size; from += stretch) {
        for (const name of names) {
          const until = Math.min(size, from + stretch)
          for (let at = from; at < until; at += batch) {
            const made = documents(data, at, Math.min(batch, until - at))
            const began = performance.now()
            yield* both[name].put(defaultCollection, made)
            spent[name] += performance.now() - began
          }
          const began = performance.now()
          yield* both[name].settle()
          spent[name] += performance.now() - began
        }
      }
      return spent
    })
  )

const filters = {
  "no filter": [{}, () => true],
  "50 %": [{ half: true }, ({ half }) => half],
  "10 %": [{ ten: true }, ({ ten }) => ten],
  "1 %": [{ one: true }, ({ one }) => one],
  "0.1 %": [{ one: true, ten: true }, ({ one, ten }) => one && ten]
} as const satisfies Record<string, readonly [Filter, (metadata: ReturnType<typeof passageAt>["metadata"]) => boolean]>

/** The nearest passages of each query under each filter, by comparing every vector. */
const truths = (data: Data) => {
  const all = data.vectors(0, size)
  const kept = Object.values(filters).map(([, keeps]) => ({ keeps, allowed: new Uint8Array(size) }))
  for (let at = 0; at < size; at++) {
    const { metadata } = passageAt(data.source, at)
    for (const { allowed, keeps } of kept) allowed[at] = Number(keeps(metadata))
  }
  const scores = new Float32Array(size)
  return data.queries.map(({ vector }) => {
    dots(all, vector, scores)
    return kept.map(({ allowed }) => best(scores, allowed))
  })
}

const data = await Effect.runPromise(
  prepare({ method: "postgres", size, corpora, work, queries: Number(values.queries) })
)
const figures = join(work, `beside-${size}.json`)
if (values.fresh || !existsSync(figures)) {
  for (const part of ["", "-wal", "-shm"]) rmSync(`${file}${part}`, { force: true })
  const { Client } = createRequire(import.meta.url)("pg") as {
    readonly Client: new (url: string) => Record<"connect" | "end", () => Promise<void>> & {
      readonly query: (text: string) => Promise<unknown>
    }
  }
  const client = new Client(stores.PostgreSQL.url)
  await client.connect()
  await client.query(`DROP SCHEMA IF EXISTS "${stores.PostgreSQL.schema}" CASCADE`)
  await client.end()
  writeFileSync(figures, JSON.stringify(await build(data)))
}
const built = JSON.parse(readFileSync(figures, "utf8")) as Record<Name, number>

console.log(`\n${size.toLocaleString("en")} passages, ${data.queries.length} queries\n`)
console.log("| | SQLite | PostgreSQL | ratio |\n|---|---:|---:|---:|")
const told = (what: string, [a, b]: readonly [number, number], digits = 1) =>
  console.log(`| ${[what, a.toFixed(digits), b.toFixed(digits), (b / a).toFixed(2)].join(" | ")} |`)

told("indexing, passages/s", [(1000 * size) / built.SQLite, (1000 * size) / built.PostgreSQL], 0)

const found = truths(data)
await on("readonly", (both) =>
  Effect.gen(function* () {
    const timed = Effect.fnUntraced(function* (
      what: string,
      request: RankedRequest,
      truth?: ReadonlyArray<ReadonlyArray<number>>
    ) {
      const times: Record<Name, Array<number>> = { SQLite: [], PostgreSQL: [] }
      const recalls: Record<Name, Array<number>> = { SQLite: [], PostgreSQL: [] }
      let [fewest, statements] = [topK, 0]
      // The first round warms the caches.
      for (const round of [0, 1]) {
        for (const [at, query] of data.queries.entries()) {
          for (const name of at % 2 === 0 ? names : names.toReversed()) {
            const [began, before] = [performance.now(), sent]
            const hits = yield* ranked(both[name], requestOf(query, request))
            if (round === 0) continue
            times[name].push(performance.now() - began)
            statements = Math.max(statements, sent - before)
            fewest = Math.min(fewest, hits.length)
            const wanted = truth?.[at]
            if (wanted === undefined) continue
            const same = hits.filter(({ document }) => wanted.includes(Number(document.docId.slice(1)))).length
            recalls[name].push(same / wanted.length)
          }
        }
      }
      for (const share of [0.5, 0.95]) {
        told(`${what} p${100 * share} ms`, [percentile(times.SQLite, share), percentile(times.PostgreSQL, share)])
      }
      if (truth !== undefined) told(`${what} recall@10`, [mean(recalls.SQLite), mean(recalls.PostgreSQL)], 3)
      console.error(`  ${what}: at most ${statements} messages to the server a query, at least ${fewest} results`)
    })
    // A server makes finer codes in the background, after its first search.
    for (const name of names) {
      const bytes = Effect.map(both[name].stats(), ({ engines }) => engines.map(({ value }) => value).join(" "))
      for (const query of data.queries) yield* ranked(both[name], requestOf(query, {}))
      for (let before = "", same = 0; same < 5;) {
        yield* Effect.sleep("1 second")
        const now = yield* bytes
        same = now === before ? same + 1 : 0
        before = now
      }
    }
    yield* timed("keyword", { vector: undefined })
    yield* timed("vector", { keyword: undefined })
    yield* timed("hybrid", {})
    for (const [at, [name, [filter]]] of Object.entries(filters).entries()) {
      const truth = found.map((each) => each[at]!)
      yield* timed(`vector, ${name}`, { keyword: undefined, filter }, truth)
      if (at > 0) yield* timed(`hybrid, ${name}`, { filter })
    }
  })
)

const memoryOf = (pid: number): number => {
  const line = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))
  return Number(line?.[1] ?? 0) / 1024
}

/** Servers of the built program: from the start of the first query to its answer, and each one's memory after 20. */
const serving = async (name: Name, count: number) => {
  const { path, ...inPostgres } = { url: undefined, schema: undefined, ...stores[name] }
  const env = {
    PATH: process.env["PATH"],
    HOME: work,
    CLEW_EMBEDDING_BACKEND: "builtin",
    CLEW_RATE_LIMIT_PER_SECOND: "1000000",
    ...(inPostgres.url === undefined
      ? { CLEW_STORE_PATH: path }
      : { CLEW_STORE_URL: inPostgres.url, CLEW_STORE_SCHEMA: inPostgres.schema })
  }
  const servers: Array<ReturnType<typeof serveHttp>> = []
  const firsts: Array<number> = []
  const ask = async (url: string, n: number) => {
    const began = performance.now()
    const body = JSON.stringify({ query: data.queries[n % data.queries.length]!.text, hybrid: true })
    const response = await fetch(`${url}/query`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body
    })
    if (!response.ok) throw new Error(await response.text())
    await response.text()
    return performance.now() - began
  }
  for (let n = 0; n < count; n++) {
    const server = serveHttp([program(), "serve", "--read-only"], env)
    servers.push(server)
    const url = await server.url
    firsts.push(await ask(url, n))
    for (let again = 0; again < 20; again++) await ask(url, again)
  }
  const memory = servers.map(({ pid }) => memoryOf(pid!))
  await Promise.all(servers.map(({ end }) => end()))
  return { first: median(firsts), each: median(memory), all: memory.reduce((sum, one) => sum + one, 0) }
}
const count = Number(values.servers)
const [sqlite, postgres] = [await serving("SQLite", count), await serving("PostgreSQL", count)]
told("first query of a server ms", [sqlite.first, postgres.first], 0)
told("memory of a server MB", [sqlite.each, postgres.each], 0)
told(`memory of ${count} servers MB`, [sqlite.all, postgres.all], 0)
process.exit(0)
