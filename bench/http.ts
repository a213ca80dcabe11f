// What the HTTP server costs. Wants `npm run build`; each figure is from one run.
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as App from "../src/App.ts"
import { Settings } from "../src/Config/Settings.ts"
import * as Schema from "effect/Schema"
import * as Option from "effect/Option"
import { Search } from "../src/Search.ts"
import { readCorpus } from "./corpus.ts"
import { corpusNamed } from "./program.ts"

const program = fileURLToPath(new URL("../dist/bin.js", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "clew-bench-"))
const connections = 16

const corpus = readCorpus(corpusNamed("http"))
const documents = corpus.documents.map(({ id, text, title }) => ({
  content: text,
  metadata: { source: id, ...(title === "" ? {} : { title }) }
}))
let made = 0
/** Documents that are not in the corpus, of its sentences. */
const batch = (size: number, words: number) =>
  Array.from({ length: size }, () => ({ content: corpus.fresh(words), metadata: { source: `fresh/${made++}` } }))

const agent = new Http.Agent({ keepAlive: true, maxSockets: connections })

const ask = (port: number, path: string, body?: unknown, via: Http.Agent = agent): Promise<string> =>
  new Promise((resolve, reject) => {
    const content = body === undefined ? undefined : JSON.stringify(body)
    const headers =
      content === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(content) }
    const request = Http.request(
      { host: "127.0.0.1", port, path, method: content === undefined ? "GET" : "POST", headers, agent: via },
      (response) => {
        let all = ""
        response.setEncoding("utf8")
        response.on("data", (chunk) => (all += chunk))
        response.on("end", () =>
          response.statusCode === 200 ? resolve(all) : reject(new Error(`${response.statusCode} ${all}`))
        )
      }
    )
    request.on("error", reject)
    request.end(content)
  })

const percentile = (times: ReadonlyArray<number>, share: number): number =>
  [...times].sort((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN

const report = (name: string, times: ReadonlyArray<number>, seconds?: number): void => {
  const rate = seconds === undefined ? "" : `${(times.length / seconds).toFixed(0).padStart(7)}/s`
  console.log(
    `${name.padEnd(52)}${rate.padStart(10)}  p50 ${percentile(times, 0.5).toFixed(2)} ms  p99 ${percentile(times, 0.99).toFixed(2)} ms`
  )
}

/** As many at once as there are connections, for some seconds. */
const load = async (
  name: string,
  seconds: number,
  one: () => Promise<unknown>,
  atOnce = connections
): Promise<void> => {
  for (let n = 0; n < 50; n++) await one()
  const times: Array<number> = []
  const started = performance.now()
  const until = started + seconds * 1000
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (performance.now() < until) {
        const from = performance.now()
        await one()
        times.push(performance.now() - from)
      }
    })
  )
  report(name, times, (performance.now() - started) / 1000)
}

interface Server {
  readonly port: number
  readonly child: ChildProcess
  /** From the start of the process to the first answer of /ready, in milliseconds. */
  readonly took: number
}

const serve = async (database: string, env: Readonly<Record<string, string>> = {}): Promise<Server> => {
  const started = performance.now()
  const child = spawn(process.execPath, [program, "serve", "--port", "0", "--db", database], {
    env: {
      ...process.env,
      CLEW_EMBEDDING_BACKEND: "builtin",
      CLEW_RATE_LIMIT_PER_SECOND: "1000000",
      CLEW_LOG_FORMAT: "json",
      ...env
    },
    stdio: ["ignore", "ignore", "pipe"]
  })
  const port = await new Promise<number>((resolve) => {
    let log = ""
    child.stderr.on("data", (chunk) => {
      if (log.length < 10_000) log += String(chunk)
      const found = /Listening on http:\/\/[^:]+:(\d+)/.exec(log)
      if (found !== null) resolve(Number(found[1]))
    })
  })
  await ask(port, "/ready")
  return { port, child, took: performance.now() - started }
}

const stop = (child: ChildProcess): Promise<unknown> =>
  new Promise((resolve) => {
    child.on("exit", resolve)
    child.kill("SIGTERM")
  })

let asked = 0
const query = () => ({ query: corpus.query(asked++), hybrid: true, top_k: 5 })

const bare = async (): Promise<void> => {
  const server = Http.createServer((_, response) => {
    response.setHeader("content-type", "application/json")
    response.end('{"status":"ok","version":"0.1.0"}')
  }).listen(0, "127.0.0.1")
  await new Promise((resolve) => server.on("listening", resolve))
  const { port } = server.address() as AddressInfo
  await load("bare node:http, in the client's own process", 3, () => ask(port, "/"))
  server.closeAllConnections()
  server.close()
}

/** How long /health and queries take while a batch of a thousand is indexed, several times over. */
const whileIndexing = async (port: number): Promise<void> => {
  const idle: Array<number> = []
  const own = new Http.Agent({ keepAlive: true, maxSockets: 1 })
  const timed = async (into: Array<number>, path: string, body?: unknown): Promise<void> => {
    const from = performance.now()
    await ask(port, path, body, own)
    into.push(performance.now() - from)
  }
  for (let n = 0; n < 200; n++) await timed(idle, "/query", query())
  report("query, alone, nothing else going on", idle)
  const health: Array<number> = []
  const queries: Array<number> = []
  const indexing: Array<number> = []
  for (let round = 0; round < 3; round++) {
    const body = { documents: batch(1000, 200) }
    const from = performance.now()
    const state = { going: true }
    const done = ask(port, "/index", body).finally(() => {
      state.going = false
      indexing.push(performance.now() - from)
    })
    while (state.going) {
      await timed(health, "/health")
      await timed(queries, "/query", query())
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await done
  }
  report("POST /index, 1000 documents", indexing)
  report("/health meanwhile", health)
  report("query meanwhile", queries)
}

type Documents = ReadonlyArray<{ readonly content: string; readonly metadata: object }>

/** Indexes what `part` gives for each part, until it gives nothing. */
const fill = async (port: number, part: (n: number) => Documents): Promise<number> => {
  const started = performance.now()
  for (let n = 0, some = part(0); some.length > 0; some = part(++n)) await ask(port, "/index", { documents: some })
  return performance.now() - started
}

const inProcess = async (database: string): Promise<void> => {
  const settings = Schema.decodeSync(Settings)({ embedding: { backend: "builtin" }, store: { path: database } })
  const apiKeys = { service: Option.none(), embedding: Option.none(), llm: Option.none() }
  await Effect.runPromise(
    Effect.gen(function* () {
      const search = yield* Search
      const times: Array<number> = []
      for (let n = 0; n < 400; n++) {
        const from = performance.now()
        yield* search.run({ query: corpus.query(n), hybrid: true, topK: 5 })
        if (n >= 100) times.push(performance.now() - from)
      }
      yield* Effect.sync(() => report("query, in process, one at a time", times))
    }).pipe(Effect.provide(App.layer({ settings, apiKeys, store: "readonly" })))
  )
}

const database = join(folder, "index.db")
try {
  await bare()
  const first = await serve(database)
  const took = await fill(first.port, (n) => documents.slice(n * 1000, (n + 1) * 1000))
  console.log(`${documents.length} documents indexed over HTTP in ${(took / 1000).toFixed(1)} s`)
  await load("/health", 4, () => ask(first.port, "/health"))
  await load("query, hybrid, 16 connections", 4, () => ask(first.port, "/query", query()))
  await load("query, hybrid, one connection", 4, () => ask(first.port, "/query", query()), 1)
  await whileIndexing(first.port)
  await stop(first.child)
  await inProcess(database)
  const large = join(folder, "large.db")
  const filling = await serve(large)
  await fill(filling.port, (n) => (n < 100 ? batch(1000, 40) : []))
  await stop(filling.child)
  const starts: Array<number> = []
  for (let n = 0; n < 5; n++) {
    const { child, took } = await serve(large)
    starts.push(took)
    await stop(child)
  }
  report("start to /ready, 100,000 passages", starts)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exit(0)
