import * as Effect from "effect/Effect"
import { execFileSync, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import * as Http from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { createParser } from "eventsource-parser"
import { startOllama } from "../test/ollama.ts"
import { readCorpus } from "./corpus.ts"
import { listening, corpusNamed } from "./program.ts"

const program = fileURLToPath(new URL("../dist/bin.js", import.meta.url))
const size = { asks: 50, streams: 100, tokens: 300, rounds: 3 }

const corpus = readCorpus(corpusNamed("ask"))

const quantile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))]!

interface Seen {
  readonly firstSource: number
  readonly took: number
  readonly names: ReadonlyArray<string>
  readonly tokens: ReadonlyArray<string>
}

/** Asks one question over a new connection; an independent parser reads its events. */
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
        if (event === "error") console.log(data)
      }
    })
    const headers = { "content-type": "application/json" }
    const request = Http.request(
      { host: "127.0.0.1", port, method: "POST", path: "/ask", agent: false, headers },
      (response) => {
        response.setEncoding("utf8")
        response.on("data", (text: string) => parser.feed(text))
        response.on("end", () => resolve({ firstSource, took: performance.now() - began, names, tokens }))
        response.on("error", reject)
      }
    )
    request.on("error", reject)
    request.end(JSON.stringify({ query }))
  })

/** Resident megabytes of a process, as Linux reports them. */
const resident = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024

/** CPU milliseconds of a process, in Linux's ticks of ten. */
const cpu = (pid: number): number => {
  const [user = "0", system = "0"] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ").slice(11, 13)
  return 10 * (Number(user) + Number(system))
}

/** The built server with a fast fake model: time to the first source, then many streams at once. */
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
      const lines = corpus.documents.map(({ id, text, title }) => JSON.stringify({ _id: id, title, text }))
      writeFileSync(join(folder, "d.jsonl"), lines.join("\n"))
      execFileSync(process.execPath, [program, "index", "d.jsonl", "-q"], { cwd: folder, env })
      const server = spawn(process.execPath, [program, "serve", "--port", "0"], { cwd: folder, env })
      try {
        const port = await listening(server)
        ollama.state.answer = ["short"]
        const firsts: Array<number> = []
        let used = 0
        for (let n = 0; n < size.asks + 20; n++) {
          const { firstSource } = await ask(port, corpus.query(n))
          if (n === 19) used = cpu(server.pid!)
          if (n >= 20) firsts.push(firstSource)
        }
        const ms = (share: number) => quantile(firsts, share).toFixed(1)
        console.log(
          `first source of ${corpus.documents.length} documents: p50 ${ms(0.5)} ms, p95 ${ms(0.95)} ms, most ${ms(1)} ms; ` +
            `the server's CPU for the whole request ${((cpu(server.pid!) - used) / size.asks).toFixed(1)} ms`
        )

        ollama.state.answer = answer
        for (let round = 1; round <= size.rounds; round++) {
          const began = performance.now()
          const before = cpu(server.pid!)
          let most = 0
          const watch = setInterval(() => (most = Math.max(most, resident(server.pid!))), 50)
          const seen = await Promise.all(Array.from({ length: size.streams }, (_, n) => ask(port, corpus.query(n))))
          clearInterval(watch)
          const seconds = (performance.now() - began) / 1000
          const whole = seen.filter(
            ({ names, tokens }) => tokens.join("") === answer.join("") && names.at(-1) === "done"
          )
          for (const { names, tokens } of seen) {
            if (names.at(-1) !== "done" || tokens.length !== size.tokens) {
              console.log(
                `broken: ${tokens.length} tokens, then ${names.at(-1)}, first ${tokens[0]}, last ${tokens.at(-1)}`
              )
            }
          }
          const rate = Math.round((size.streams * size.tokens) / seconds)
          console.log(
            `round ${round}: ${whole.length} of ${size.streams} streams whole and in order, ${rate} tokens a second, ` +
              `${((1000 * (cpu(server.pid!) - before)) / size.streams / size.tokens).toFixed(0)} µs of the server's CPU a token, ` +
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
