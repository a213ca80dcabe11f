// What everyday use costs, of several built programs in turn, so that other load on the machine affects all alike.
import * as Schema from "effect/Schema"
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import * as Http from "node:http"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { percentile } from "../src/measuring/Benchmark.ts"
import { listening, temporaryFolder } from "./program.ts"

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
    starts: { type: "string", default: "9" },
    /** How much CPU time of a question the last program may take, relative to the first. */
    most: { type: "string", default: "Infinity" }
  }
})
const [corpus, queriesFile, ...programs] = positionals
const asked = values.modes.split(",")
if (corpus === undefined || queriesFile === undefined || programs.length === 0 || asked.some((it) => !(it in modes))) {
  console.error(
    "usage: npm run bench -- everyday CORPUS QUERIES.jsonl BEFORE/dist/bin.js AFTER/dist/bin.js " +
      "[--modes keyword,…] [--rounds 3] [--queries 150] [--starts 9] [--most 1.1]"
  )
  process.exit(2)
}
const Query = Schema.parseJson(Schema.Struct({ text: Schema.String }))
const queries = readFileSync(queriesFile, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .slice(0, Number(values.queries))
  .map((line) => Schema.decodeSync(Query)(line).text)

const folder = temporaryFolder()
const databases = programs.map((_, n) => join(folder, `${n}.db`))
const env = { ...process.env, CLEW_EMBEDDING_BACKEND: "builtin", CLEW_RATE_LIMIT_PER_SECOND: "1000000" }

/** A line of the table: a figure of each program, and how the last compares with the first. */
const line = (what: string, figures: ReadonlyArray<number>, unit: string, rest = ""): number => {
  const ratio = figures.at(-1)! / figures[0]!
  const shown = figures.map((figure) => figure.toFixed(figure < 100 ? 1 : 0).padStart(8)).join("")
  console.log(`${what.padEnd(24)}${shown} ${unit.padEnd(3)} ×${ratio.toFixed(2)}${rest}`)
  return ratio
}
const medians = (figures: ReadonlyArray<ReadonlyArray<number>>) => figures.map((of) => percentile(of, 0.5))

// Only the child knows what it used, so it prints it at exit.
const usage =
  "data:text/javascript,process.on('exit',()=>{const u=process.resourceUsage();" +
  "process.stderr.write(`used ${(u.userCPUTime+u.systemCPUTime)/1e6} ${u.maxRSS/1024}`)})"

/** Seconds of processor time and of time, and megabytes at most, of a program. */
const spent = (program: string, ...args: ReadonlyArray<string>) => {
  const from = performance.now()
  const { status, stderr } = spawnSync(process.execPath, ["--import", usage, program, ...args], {
    encoding: "utf8",
    env
  })
  // 3: nothing that is likely to answer.
  if (status !== 0 && status !== 3) throw new Error(stderr)
  const [, cpu, peak] = /used (\S+) (\S+)/.exec(stderr)!
  return { cpu: Number(cpu), peak: Number(peak), wall: (performance.now() - from) / 1000 }
}

const indexing = programs.map((program, n) => spent(program, "index", corpus, "--quiet", "--db", databases[n]!))
for (const [what, of, unit] of [
  ["index, CPU", "cpu", "s"],
  ["index, wall", "wall", "s"],
  ["index, peak memory", "peak", "MB"]
] as const) {
  line(
    what,
    indexing.map((figures) => figures[of]),
    unit
  )
}

interface Server {
  readonly child: ChildProcess
  readonly readyMs: number
  readonly ask: (body: object) => Promise<string>
}

const serve = async (program: string, database: string): Promise<Server> => {
  const from = performance.now()
  const child = spawn(process.execPath, [program, "serve", "--port", "0", "--db", database], {
    env,
    stdio: ["ignore", "ignore", "pipe"]
  })
  const port = await listening(child)
  const agent = new Http.Agent({ keepAlive: true, maxSockets: 1 })
  const send = (method: string, path: string, body = "") =>
    new Promise<string>((resolve, reject) => {
      const headers = { "content-type": "application/json" }
      const request = Http.request({ host: "127.0.0.1", port, path, method, agent, headers }, (response) => {
        let all = ""
        response.setEncoding("utf8")
        response.on("data", (chunk) => (all += chunk))
        response.on("end", () => (response.statusCode === 200 ? resolve(all) : reject(new Error(all))))
      })
      request.on("error", reject)
      request.end(body)
    })
  await send("GET", "/ready")
  return {
    child,
    readyMs: performance.now() - from,
    ask: (body) => send("POST", "/query", JSON.stringify(body))
  }
}

const ended = (child: ChildProcess) => new Promise((resolve) => child.once("exit", resolve))

/** Milliseconds until a server on standard input and output answers `initialize`; without a program, those of Node. */
const initialize = async (program: string, database: string): Promise<number> => {
  const from = performance.now()
  const child = spawn(process.execPath, [program, "mcp", "--db", database], { env, stdio: ["pipe", "pipe", "ignore"] })
  const params = { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: { name: "bench", version: "1" } }
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`)
  await new Promise((resolve) => child.stdout.once("data", resolve))
  const ms = performance.now() - from
  child.stdin.end()
  await ended(child)
  return ms
}

const starts = programs.map(() => ({
  node: [] as Array<number>,
  ready: [] as Array<number>,
  mcp: [] as Array<number>,
  query: [] as Array<number>,
  queryCpu: [] as Array<number>
}))
for (let round = 0; round < Number(values.starts); round++) {
  for (const [n, program] of programs.entries()) {
    const from = performance.now()
    spawnSync(process.execPath, ["-e", "0"])
    starts[n]!.node.push(performance.now() - from)
    starts[n]!.mcp.push(await initialize(program, databases[n]!))
    const { cpu, wall } = spent(program, "query", queries[round % queries.length]!, "--db", databases[n]!)
    starts[n]!.query.push(1000 * wall)
    starts[n]!.queryCpu.push(1000 * cpu)
    const { child, readyMs } = await serve(program, databases[n]!)
    starts[n]!.ready.push(readyMs)
    child.kill("SIGTERM")
    await ended(child)
  }
}
for (const [what, of] of [
  ["node -e 0", "node"],
  ["serve to /ready", "ready"],
  ["mcp to initialize", "mcp"],
  ["clew query", "query"],
  ["clew query, CPU", "queryCpu"]
] as const) {
  line(what, medians(starts.map((figures) => figures[of])), "ms")
}

/** CPU milliseconds of a process's current threads; Linux only. */
const cpuOf = ({ child: { pid } }: Server): number =>
  readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
    const [used = "0"] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")
    return sum + Number(used) / 1e6
  }, 0)

/** The part of an answer on which two programs should agree; each has an index of its own, made at another time. */
const Answer = Schema.parseJson(Schema.Struct({ results: Schema.Array(Schema.Unknown) }))
const agreed = (answer: string): string =>
  JSON.stringify(Schema.decodeSync(Answer)(answer).results, (key, value: unknown) =>
    key === "indexed_at" ? undefined : value
  )

const servers: Array<Server> = []
let isDearer = false
try {
  for (const [n, program] of programs.entries()) servers.push(await serve(program, databases[n]!))
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
          answers.add(agreed(answer))
        }
        if (round === 0 && answers.size > 1) differing++
      }
    }
    const times = figures.map((figure) => figure.times)
    const cpu = medians(figures.map((figure) => figure.cpu))
    line(`${mode}, p50`, medians(times), "ms")
    const late = times.map((of) => percentile(of, 0.99))
    line(`${mode}, p99`, late, "ms")
    const ratio = line(`${mode}, CPU`, cpu, "ms", `  ${differing} of ${queries.length} answers differ`)
    if (ratio > Number(values.most)) {
      isDearer = true
      console.log(`  more than ×${values.most}`)
    }
  }
} finally {
  for (const { child } of servers) child.kill("SIGTERM")
}
process.exit(isDearer ? 1 : 0)
