// What the HTTP server costs. Needs `npm run build`; each figure is from one run.
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as App from "../src/App.ts"
import { noApiKeys } from "../src/Config/Env.ts"
import { Settings } from "../src/Config/Settings.ts"
import * as Schema from "effect/Schema"
import { Search } from "../src/Search.ts"
import { readCorpus } from "./corpus.ts"
import { listening, corpusNamed } from "./program.ts"

const program = fileURLToPath(new URL("../dist/bin.js", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "clew-bench-"))
const connections = 16

const corpus = readCorpus(corpusNamed("http"))
const documents = corpus.documents.map(({ id, text, title }) => ({
  content: text,
  metadata: { source: id, ...(title === "" ? {} : { title }) }
}))
let made = 0
/** Documents that are not in the corpus, made of its sentences. */
const batch = (size: number, words: number) =>
  Array.from({ length: size }, () => ({ content: corpus.fresh(words), metadata: { source: `fresh/${made++}` } }))

const agent = new Http.Agent({ keepAlive: true, maxSockets: connections })

const ask = (port: number, path: string, body?: unknown): Promise<string> =>
  new Promise((resolve, reject) => {
    const content = body === undefined ? undefined : JSON.stringify(body)
    const headers =
      content === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(content) }
    const request = Http.request(
      { host: "127.0.0.1", port, path, method: content === undefined ? "GET" : "POST", headers, agent },
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

interface Figures {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly longest: number
}

/** Prints a line of figures, with the goal if there is one. */
const report = (name: string, times: ReadonlyArray<number>, seconds?: number, goal?: string): Figures => {
  const figures = {
    perSecond: seconds === undefined ? Number.NaN : times.length / seconds,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    longest: Math.max(...times)
  }
  const rate = seconds === undefined ? "" : `${figures.perSecond.toFixed(0).padStart(7)}/s`
  const { longest, p50, p99 } = figures
  console.log(
    `${name.padEnd(52)}${rate.padStart(10)}  p50 ${p50.toFixed(2)} ms  p99 ${p99.toFixed(2)} ms  longest ${longest.toFixed(1)} ms${goal === undefined ? "" : `  (goal: ${goal})`}`
  )
  return figures
}

/** Keeps every connection busy with one request at a time, for some seconds. */
const load = async (
  name: string,
  seconds: number,
  one: () => Promise<unknown>,
  { atOnce = connections, goal }: { readonly atOnce?: number; readonly goal?: string } = {}
): Promise<Figures> => {
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
  return report(name, times, (performance.now() - started) / 1000, goal)
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
  const port = await listening(child)
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

const bare = async (): Promise<Figures> => {
  const server = Http.createServer((_, response) => {
    response.setHeader("content-type", "application/json")
    response.end('{"status":"ok","version":"0.1.0"}')
  }).listen(0, "127.0.0.1")
  await new Promise((resolve) => server.on("listening", resolve))
  const { port } = server.address() as AddressInfo
  const figures = await load("bare node:http, in the client's own process", 3, () => ask(port, "/"))
  server.closeAllConnections()
  server.close()
  return figures
}

type Documents = ReadonlyArray<{ readonly content: string; readonly metadata: object }>

/** Indexes the result of `part` for each part, until it is empty. */
const fill = async (port: number, part: (n: number) => Documents): Promise<number> => {
  const started = performance.now()
  for (let n = 0, some = part(0); some.length > 0; some = part(++n)) await ask(port, "/index", { documents: some })
  return performance.now() - started
}

const inProcess = async (database: string): Promise<Figures> => {
  const settings = Schema.decodeSync(Settings)({ embedding: { backend: "builtin" }, store: { path: database } })
  return Effect.runPromise(
    Effect.gen(function* () {
      const search = yield* Search
      const times: Array<number> = []
      for (let n = 0; n < 400; n++) {
        const from = performance.now()
        yield* search.run({ query: corpus.query(n), hybrid: true, topK: 5 })
        if (n >= 100) times.push(performance.now() - from)
      }
      return yield* Effect.sync(() => report("query, in process, one at a time", times))
    }).pipe(Effect.provide(App.layer({ settings, apiKeys: noApiKeys, store: "readonly" })))
  )
}

const database = join(folder, "index.db")
try {
  const plain = await bare()
  const first = await serve(database)
  const took = await fill(first.port, (n) => documents.slice(n * 1000, (n + 1) * 1000))
  console.log(`${documents.length} documents indexed over HTTP in ${(took / 1000).toFixed(1)} s`)
  const health = await load("/health", 4, () => ask(first.port, "/health"), { goal: "at least 2000/s" })
  const door = (1 / health.perSecond - 1 / plain.perSecond) * 1e6
  console.log(`/health costs ${door.toFixed(0)} µs more than bare node:http, at the same load`)
  await load("query, hybrid, 16 connections", 4, () => ask(first.port, "/query", query()))
  const alone = await load("query, hybrid, one connection", 4, () => ask(first.port, "/query", query()), { atOnce: 1 })
  await stop(first.child)
  const engine = await inProcess(database)
  console.log(`the door costs a query ${(alone.p50 - engine.p50).toFixed(2)} ms (p50, goal: under 1 ms)`)
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
  report("start to /ready, 100,000 passages", starts, undefined, "under 400 ms")
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exit(0)
