import * as Effect from "effect/Effect"
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import * as Http from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { createParser } from "eventsource-parser"
import { startOllama } from "../test/ollama.ts"

const program = fileURLToPath(new URL("../dist/bin.js", import.meta.url))
const size = { documents: 5000, asks: 100, streams: 100, tokens: 1000, rounds: 4 }

const vocabulary = (
  "harbour lantern river copper engine signal garden winter market bridge ledger valley compass orchard printer " +
  "granite canvas thunder anchor barley candle furnace glacier hammer island jacket kettle ladder mirror needle"
).split(" ")

/** Text that is different for each document and the same at each run. */
const textOf = (n: number): string =>
  Array.from({ length: 80 }, (_, i) => vocabulary[(n * 31 + i * i * 7 + ((n * i) >> 3)) % vocabulary.length]).join(" ")

const quantile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))]!

interface Seen {
  readonly firstSource: number
  readonly took: number
  readonly names: ReadonlyArray<string>
  readonly tokens: ReadonlyArray<string>
}

/** One question over a connection of its own, its events read by a parser that is not ours. */
const ask = (port: number, query: string): Promise<Seen> =>
  new Promise((resolve, reject) => {
    const names: Array<string> = []
    const tokens: Array<string> = []
    let firstSource = Number.NaN
    const began = performance.now()
    const parser = createParser({
      onEvent: ({ data, event = "" }) => {
        if (event === "source" && names.length === 0) firstSource = performance.now() - began
        names.push(event)
        if (event === "token") tokens.push(data)
      }
    })
    const headers = { "content-type": "application/json" }
    const request = Http.request({ host: "127.0.0.1", port, method: "POST", path: "/ask", agent: false, headers }, (response) => {
      response.setEncoding("utf8")
      response.on("data", (text: string) => parser.feed(text))
      response.on("end", () => resolve({ firstSource, took: performance.now() - began, names, tokens }))
      response.on("error", reject)
    })
    request.on("error", reject)
    request.end(JSON.stringify({ query }))
  })

const listening = (server: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    let said = ""
    server.stderr!.setEncoding("utf8").on("data", (text: string) => {
      said += text
      const port = /Listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1]
      if (port !== undefined) resolve(Number(port))
    })
    server.on("exit", () => reject(new Error(said)))
  })

/** Resident megabytes of a process, by Linux's own account. */
const resident = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024

/** The built server with a fast fake model behind it: time to the first source, then many streams at once. */
const main = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "clew-bench-ask-"))
  const answer = Array.from({ length: size.tokens }, (_, n) => `${n} `)
  const run = Effect.gen(function* () {
    const ollama = yield* startOllama(answer)
    const env = {
      PATH: process.env["PATH"],
      HOME: folder,
      CLEW_EMBEDDING_BACKEND: "builtin",
      CLEW_LLM_BACKEND: "ollama",
      CLEW_LLM_URL: ollama.url,
      CLEW_LLM_MODEL: "small",
      CLEW_LOG_LEVEL: "info",
      CLEW_RATE_LIMIT_PER_SECOND: "100000"
    }
    yield* Effect.promise(async () => {
      const lines = Array.from({ length: size.documents }, (_, n) => JSON.stringify({ _id: `d${n}`, text: textOf(n) }))
      writeFileSync(join(folder, "d.jsonl"), lines.join("\n"))
      execFileSync(process.execPath, [program, "index", "d.jsonl", "-q"], { cwd: folder, env })
      const server = spawn(process.execPath, [program, "serve", "--port", "0"], { cwd: folder, env })
      try {
        const port = await listening(server)
        ollama.state.answer = ["short"]
        const firsts: Array<number> = []
        for (let n = 0; n < size.asks + 20; n++) {
          const { firstSource } = await ask(port, `${vocabulary[n % 30]} ${vocabulary[(n * 7) % 30]} ${vocabulary[(n * 11) % 30]}`)
          if (n >= 20) firsts.push(firstSource)
        }
        const ms = (share: number) => quantile(firsts, share).toFixed(1)
        console.log(`first source of ${size.documents} documents: p50 ${ms(0.5)} ms, p95 ${ms(0.95)} ms, most ${ms(1)} ms`)

        ollama.state.answer = answer
        for (let round = 1; round <= size.rounds; round++) {
          const began = performance.now()
          let most = 0
          const watch = setInterval(() => (most = Math.max(most, resident(server.pid!))), 50)
          const seen = await Promise.all(Array.from({ length: size.streams }, (_, n) => ask(port, `river ${vocabulary[n % 30]}`)))
          clearInterval(watch)
          const seconds = (performance.now() - began) / 1000
          const whole = seen.filter(({ names, tokens }) => tokens.join("") === answer.join("") && names.at(-1) === "done")
          const rate = Math.round((size.streams * size.tokens) / seconds)
          console.log(
            `round ${round}: ${whole.length} of ${size.streams} streams whole and in order, ${rate} tokens a second, ` +
              `${most.toFixed(0)} MB resident at most, ${resident(server.pid!).toFixed(0)} MB after`
          )
        }
      } finally {
        server.removeAllListeners("exit")
        server.kill("SIGTERM")
      }
    })
  })
  await Effect.runPromise(Effect.scoped(run)).finally(() => rmSync(folder, { recursive: true, force: true }))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main()
