// How long others wait while a server indexes or answers something large; of several built programs in turn.
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, renameSync, writeFileSync } from "node:fs"
import * as Http from "node:http"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { Worker } from "node:worker_threads"
import { percentile } from "../src/measuring/Benchmark.ts"
import { readCorpus } from "./corpus.ts"
import { listening, temporaryFolder } from "./program.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    /** Text to index by each way. */
    megabytes: { type: "string", default: "50" },
    only: { type: "string", default: "" }
  }
})
const [file, ...programs] = positionals
if (file === undefined || programs.length === 0) {
  console.error(
    "usage: npm run bench -- meanwhile CORPUS BEFORE/dist/bin.js AFTER/dist/bin.js [--megabytes 50] [--only globs]"
  )
  process.exit(2)
}
const characters = Number(values.megabytes) * 1e6
const corpus = readCorpus(file)
const folder = temporaryFolder()

const send = (port: number, method: string, path: string, body: Buffer | string = "") =>
  new Promise<string>((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
    const request = Http.request({ host: "127.0.0.1", port, path, method, headers, agent: false }, (response) => {
      let all = ""
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => (all += chunk))
      response.on("end", () => (response.statusCode === 200 ? resolve(all) : reject(new Error(all))))
    })
    request.on("error", reject)
    request.end(body)
  })

const serve = async (program: string, database: string, watched: string) => {
  const args = [program, "serve", "--port", "0", "--db", database, "--watch", watched]
  const child = spawn(process.execPath, args, {
    env: {
      ...process.env,
      CLEW_EMBEDDING_BACKEND: "builtin",
      CLEW_RATE_LIMIT_PER_SECOND: "1000000",
      CLEW_LOG_LEVEL: "info"
    },
    stdio: ["ignore", "ignore", "pipe"]
  })
  process.on("exit", () => child.kill("SIGKILL"))
  const port = await listening(child)
  await send(port, "GET", "/ready")
  return { child, port }
}

const stop = (child: ChildProcess) =>
  new Promise((resolve) => {
    child.once("exit", resolve)
    child.kill("SIGTERM")
  })

/**
 * Asks from a thread of its own, since this one makes and sends large bodies. /health is asked at fixed times, whether or
 * not earlier answers have come, and each is timed from when it was due: a stall shows in each that was due meanwhile.
 */
const client = `
  const { parentPort, workerData: { port, queries, every } } = require("node:worker_threads")
  const Http = require("node:http")
  const ask = (agent, path, body) => new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
    const request = Http.request({ host: "127.0.0.1", port, path, method: body === undefined ? "GET" : "POST", headers, agent }, (response) => {
      response.resume().on("end", () => response.statusCode === 200 ? resolve() : reject(new Error(path + " " + response.statusCode)))
    })
    request.on("error", reject).end(body)
  })
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
  let going = true
  parentPort.once("message", () => { going = false })
  const health = async () => {
    const agent = new Http.Agent({ keepAlive: true })
    const answered = []
    const started = performance.now()
    for (let n = 0; going; n++) {
      const due = started + n * every
      if (due > performance.now()) await pause(due - performance.now())
      answered.push(ask(agent, "/health").then(() => performance.now() - due))
    }
    return Promise.all(answered)
  }
  const questions = async () => {
    const agent = new Http.Agent({ keepAlive: true })
    const times = []
    for (let n = 0; going; n++) {
      const from = performance.now()
      await ask(agent, "/query", JSON.stringify({ query: queries[n % queries.length], hybrid: true }))
      times.push(performance.now() - from)
      await pause(every)
    }
    return times
  }
  Promise.all([health(), questions()]).then(([health, queries]) => { parentPort.postMessage({ health, queries }); process.exit() })
`

const queries = Array.from({ length: 300 }, (_, n) => corpus.query(n))

interface Waited {
  readonly health: ReadonlyArray<number>
  readonly queries: ReadonlyArray<number>
}

const whileDoing = async (name: string, port: number, work: () => Promise<unknown>): Promise<void> => {
  const worker = new Worker(client, { eval: true, workerData: { port, queries, every: 10 } })
  const waited = new Promise<Waited>((resolve, reject) => worker.once("message", resolve).once("error", reject))
  const from = performance.now()
  await work()
  const seconds = (performance.now() - from) / 1000
  worker.postMessage("end")
  for (const [what, times] of Object.entries(await waited)) {
    const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)]
    console.log(
      `${name.padEnd(34)}${seconds.toFixed(1).padStart(6)} s  /${(what === "queries" ? "query" : what).padEnd(7)}` +
        `p50 ${p50.toFixed(1).padStart(6)}  p99 ${p99.toFixed(1).padStart(6)}  longest ${Math.max(...times)
          .toFixed(1)
          .padStart(6)} ms`
    )
  }
}

let made = 0
const bodyOf = (documents: number, words: number): Buffer =>
  Buffer.from(
    JSON.stringify({
      documents: Array.from({ length: documents }, () => ({
        content: corpus.fresh(words),
        metadata: { source: `fresh/${made++}` }
      }))
    })
  )

/** One after the other. */
const inTurn = async <A>(items: Iterable<A>, run: (item: A) => Promise<unknown>): Promise<void> => {
  for (const item of items) await run(item)
}

function* bodies(documents: number, words: number, until: number): Generator<Buffer> {
  for (let sent = 0; sent < until;) {
    const body = bodyOf(documents, words)
    sent += body.length
    yield body
  }
}

/** Files as large as the text that is sent, put in their place at once. */
const writeFiles = (beside: string): string => {
  mkdirSync(beside, { recursive: true })
  for (let n = 0, written = 0; written < characters; n++) {
    const text = Array.from({ length: 8 }, () => corpus.fresh(100)).join("\n\n")
    writeFileSync(join(beside, `${n}.md`), text)
    written += text.length
  }
  return beside
}

const globs = () => Array.from({ length: 1000 }, (_, n) => `*${made++}?*${(n * 7919) % 1000}*`)

const measure = async (program: string, n: number): Promise<void> => {
  console.log(program)
  const watched = join(folder, `watched${n}`)
  mkdirSync(watched)
  const { child, port } = await serve(program, join(folder, `${n}.db`), watched)
  const index = (body: Buffer) => send(port, "POST", "/index", body)
  const documents = corpus.documents.map(({ id, text, title }) => ({ content: text, metadata: { source: id, title } }))
  for (let at = 0; at < documents.length; at += 1000) {
    await index(Buffer.from(JSON.stringify({ documents: documents.slice(at, at + 1000) })))
  }
  const settled = async (before: number): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, 500))
    const { watch } = JSON.parse(await send(port, "GET", "/stats")) as {
      readonly watch?: { readonly last_scan_at?: number; readonly waiting: number }
    }
    if ((watch?.last_scan_at ?? 0) <= before || watch?.waiting !== 0) await settled(before)
  }
  const all: ReadonlyArray<readonly [name: string, work: () => Promise<unknown>]> = [
    ["nothing", () => new Promise((resolve) => setTimeout(resolve, 5000))],
    [
      "a filter of 1,000 globs",
      () =>
        inTurn(Array.from({ length: 60 }), () =>
          send(port, "POST", "/query", JSON.stringify({ query: "cells", filter: { source: globs() } }))
        )
    ],
    ["bodies of 1,000 documents", () => inTurn(bodies(1000, 200, characters), index)],
    ["one document of 5 MB", () => inTurn(bodies(1, 800_000, 1), index)],
    [
      "files that appear in a folder",
      () => {
        const since = Date.now()
        renameSync(writeFiles(join(folder, `files${n}`)), join(watched, "files"))
        return settled(since)
      }
    ]
  ]
  await inTurn(
    all.filter(([name]) => name.includes(values.only)),
    ([name, work]) => whileDoing(name, port, work)
  )
  await stop(child)
}

await inTurn(programs.entries(), ([n, program]) => measure(program, n))
