// Asks several built programs the same questions in turn, so that other load on the machine affects all alike.
import * as Schema from "effect/Schema"
import { type ChildProcess, spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import * as Http from "node:http"
import { parseArgs } from "node:util"
import { percentile } from "../src/measuring/Benchmark.ts"

const modes: Readonly<Record<string, object>> = {
  keyword: { hybrid: true, alpha: 0 },
  vector: { hybrid: false },
  rrf: { hybrid: true, fusion: "rrf" },
  score: { hybrid: true, fusion: "score" }
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    modes: { type: "string", default: Object.keys(modes).join(",") },
    rounds: { type: "string", default: "3" },
    queries: { type: "string", default: "150" },
    /** How much CPU time the last program may take, relative to the first. */
    most: { type: "string", default: "Infinity" }
  }
})
const [database, queriesFile, ...programs] = positionals
const asked = values.modes.split(",")
if (
  database === undefined ||
  queriesFile === undefined ||
  programs.length === 0 ||
  asked.some((mode) => !(mode in modes))
) {
  console.error(
    "usage: npm run bench -- builds INDEX QUERIES.jsonl PROGRAM... [--modes keyword,…] [--rounds 3] [--queries 150] [--most 1.1]"
  )
  process.exit(2)
}
const Query = Schema.parseJson(Schema.Struct({ text: Schema.String }))
const queries = readFileSync(queriesFile, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .slice(0, Number(values.queries))
  .map((line) => Schema.decodeSync(Query)(line).text)

interface Server {
  readonly program: string
  readonly child: ChildProcess
  readonly ask: (body: object) => Promise<string>
}

const serve = async (program: string): Promise<Server> => {
  const child = spawn(process.execPath, [program, "serve", "--port", "0", "--db", database], {
    env: { ...process.env, CLEW_RATE_LIMIT_PER_SECOND: "1000000" },
    stdio: ["ignore", "ignore", "pipe"]
  })
  const port = await new Promise<number>((resolve, reject) => {
    let log = ""
    child.once("exit", (code) => reject(new Error(`${program} ended with ${code}: ${log}`)))
    child.stderr.on("data", (chunk) => {
      if (log.length < 10_000) log += String(chunk)
      const found = /Listening on http:\/\/[^:]+:(\d+)/.exec(log)
      if (found !== null) resolve(Number(found[1]))
    })
  })
  const agent = new Http.Agent({ keepAlive: true, maxSockets: 1 })
  const headers = { "content-type": "application/json" }
  const ask = (body: object) =>
    new Promise<string>((resolve, reject) => {
      const options = { host: "127.0.0.1", port, path: "/query", method: "POST", agent, headers }
      const request = Http.request(options, (response) => {
        let all = ""
        response.setEncoding("utf8")
        response.on("data", (chunk) => (all += chunk))
        response.on("end", () => (response.statusCode === 200 ? resolve(all) : reject(new Error(all))))
      })
      request.on("error", reject)
      request.end(JSON.stringify(body))
    })
  return { program, child, ask }
}

/** CPU milliseconds of a process's current threads; Linux only. */
const cpuOf = ({ child: { pid } }: Server): number =>
  readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
    const [used = "0"] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")
    return sum + Number(used) / 1e6
  }, 0)

/** The part of an answer on which two programs should agree. */
const Answer = Schema.parseJson(Schema.Struct({ results: Schema.Array(Schema.Unknown) }))

const servers: Array<Server> = []
let isDearer = false
try {
  for (const program of programs) servers.push(await serve(program))
  for (const mode of asked) {
    const figures = servers.map(() => ({ times: [] as Array<number>, cpu: [] as Array<number> }))
    let differing = 0
    for (let round = 0; round <= Number(values.rounds); round++) {
      for (const query of queries) {
        const answers = new Set<string>()
        const order = servers.map((_, n) => (n + round) % servers.length)
        for (const n of order) {
          const server = servers[n]!
          const [used, from] = [cpuOf(server), performance.now()]
          const answer = await server.ask({ query, top_k: 10, ...modes[mode] })
          // The first round warms up caches and compilers.
          if (round > 0) figures[n]!.times.push(performance.now() - from)
          if (round > 0) figures[n]!.cpu.push(cpuOf(server) - used)
          answers.add(JSON.stringify(Schema.decodeSync(Answer)(answer).results))
        }
        if (round === 0 && answers.size > 1) differing++
      }
    }
    for (const [n, { cpu, times }] of figures.entries()) {
      const at = (of: ReadonlyArray<number>, share: number) => percentile(of, share).toFixed(1)
      console.log(
        `${mode.padEnd(8)} ${programs[n]}  p50 ${at(times, 0.5)} ms  p95 ${at(times, 0.95)} ms  CPU p50 ${at(cpu, 0.5)} ms`
      )
    }
    const [before, after] = [figures[0]!, figures.at(-1)!].map(({ cpu }) => percentile(cpu, 0.5)) as [number, number]
    if (after > before * Number(values.most)) {
      isDearer = true
      console.log(`         ${(after / before).toFixed(2)} times the CPU time, more than ${values.most}`)
    }
    if (servers.length > 1) console.log(`         ${differing} of ${queries.length} answers differ`)
  }
} finally {
  for (const { child } of servers) child.kill("SIGTERM")
}
process.exit(isDearer ? 1 : 0)
