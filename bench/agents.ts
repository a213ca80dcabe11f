// Many agents on one index: what each process of `clew mcp` costs that has joined the first one's engine.
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { percentile } from "../src/measuring/Benchmark.ts"

const [index, agents = "10", question = "how are limits of the rate set?"] = process.argv.slice(2)
if (index === undefined) {
  console.error("usage: npm run bench -- agents INDEX [AGENTS] [QUESTION]")
  process.exit(2)
}
const bin = fileURLToPath(new URL("../dist/bin.js", import.meta.url))

/** Starts a process and waits for its answer to `initialize`. */
const start = async () => {
  const from = performance.now()
  const child = spawn(process.execPath, [bin, "mcp", "--db", index], { stdio: ["pipe", "pipe", "inherit"] })
  const waiting = new Map<number, () => void>()
  let rest = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) waiting.get((JSON.parse(line) as { readonly id: number }).id)?.()
  })
  let last = 0
  const request = (method: string, params: object) =>
    new Promise<void>((resolve) => {
      waiting.set(++last, resolve)
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: last, method, params })}\n`)
    })
  const clientInfo = { name: "bench", version: "1" }
  await request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo })
  const ms = performance.now() - from
  const ask = () => request("tools/call", { name: "search", arguments: { query: question } })
  await ask()
  return { ask, child, ms }
}

/** Resident memory in MB. */
const memory = (pid: number | undefined) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024

const inTurn = async <A>(
  times: number,
  run: () => Promise<A>,
  done: ReadonlyArray<A> = []
): Promise<ReadonlyArray<A>> => (times === 0 ? done : inTurn(times - 1, run, [...done, await run()]))

const timed = (run: () => Promise<void>) => async () => {
  const from = performance.now()
  await run()
  return performance.now() - from
}

const first = await start()
const joined = await inTurn(Number(agents), start)
const median = (figures: ReadonlyArray<number>) => percentile(figures, 0.5).toFixed(1)
// In turns, so that other load on the machine affects both alike.
const rounds = await inTurn(100, async () => [await timed(first.ask)(), await timed(joined[0]!.ask)()] as const)
console.log(`start to initialize     ${first.ms.toFixed(0)} ms, joined ${median(joined.map(({ ms }) => ms))}`)
console.log(
  `a question, median      ${median(rounds.map(([direct]) => direct))} ms, joined ${median(rounds.map(([, by]) => by))}`
)
console.log(
  `resident memory         ${memory(first.child.pid).toFixed(0)} MB, joined ${median(joined.map(({ child }) => memory(child.pid)))}`
)
first.child.kill("SIGKILL")
const over = await timed(async () => void (await Promise.all(joined.map(({ ask }) => ask()))))()
console.log(`after kill -9 of the first, until all others have an answer: ${over.toFixed(0)} ms`)
for (const { child } of joined) child.kill()
