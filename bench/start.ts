import { spawn } from "node:child_process"
import { join } from "node:path"
import { corpusNamed, median, program, run, temporaryFolder } from "./program.ts"

const rounds = 15

const corpus = corpusNamed("start")
const clew = program()
const db = join(temporaryFolder(), "index.db")
run([clew, "index", corpus, "--quiet", "--db", db])

/** Milliseconds until a server on standard input and output answers `initialize`. */
const initialize = (args: ReadonlyArray<string>): Promise<number> =>
  new Promise((resolve, reject) => {
    const started = performance.now()
    const server = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "ignore"] })
    const params = { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: { name: "bench", version: "1" } }
    server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`)
    server.stdout.once("data", () => {
      const ms = performance.now() - started
      server.stdin.end()
      server.once("exit", () => resolve(ms))
    })
    server.once("error", reject)
  })

const timed = (args: ReadonlyArray<string>) => () => Promise.resolve(run(args).ms)

const commands: ReadonlyArray<readonly [name: string, time: () => Promise<number>]> = [
  ["node -e 0", timed(["-e", "0"])],
  ["clew --help", timed([clew, "--help"])],
  ["clew query --alpha 0", timed([clew, "query", "how is it measured", "--alpha", "0", "--db", db])],
  ["clew query", timed([clew, "query", "how is it measured", "--db", db])],
  ["clew info", timed([clew, "info", "--db", db])],
  ["clew mcp, initialize", () => initialize([clew, "mcp", "--db", db])]
]

// In turn, so that a busy moment of the machine affects all of them.
const times = commands.map((): Array<number> => [])
for (let round = 0; round < rounds; round++) {
  for (const [index, [, time]] of commands.entries()) times[index]?.push(await time())
}
const base = median(times[0] ?? [])
const baseMin = Math.min(...(times[0] ?? []))
for (const [index, [name]] of commands.entries()) {
  const own = times[index] ?? []
  const [mid, min] = [median(own), Math.min(...own)]
  console.log(
    `${name.padEnd(22)} median ${mid.toFixed(0).padStart(5)} ms (×${(mid / base).toFixed(1)})  ` +
      `least ${min.toFixed(0).padStart(5)} ms (×${(min / baseMin).toFixed(1)})`
  )
}
