import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "./program.ts"
import { mcpClient, overHttp, overSockets, probe, serveHttp } from "./storms.ts"

const times = Number(process.argv[2] ?? 50_000)
const bin = fileURLToPath(new URL("../dist/bin.js", import.meta.url))
const folder = temporaryFolder()
const db = join(folder, "index.db")
const env = {
  PATH: process.env["PATH"],
  HOME: folder,
  CLEW_EMBEDDING_BACKEND: "builtin",
  CLEW_RATE_LIMIT_PER_SECOND: "1000000"
}

const lines = Array.from({ length: 2000 }, (_, n) =>
  JSON.stringify({ content: `Passage ${n} of the tides, cancelled and asked again ${n % 50}.`, doc_id: `d${n}` })
)
writeFileSync(join(folder, "notes.jsonl"), lines.join("\n"))
spawnSync(process.execPath, [bin, "index", "--db", db, join(folder, "notes.jsonl")], { env })

const report = (door: string, began: number, well: boolean, said = "") => {
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  console.log(
    `${door.padEnd(10)} ${times} cancelled in ${seconds} s: ${well ? "answers" : "ANSWERS NO MORE"}${said === "" ? "" : `; ${said}`}`
  )
  if (!well) process.exitCode = 1
}

const server = serveHttp([bin, "serve", "--db", db], env)
const url = await server.url
for (const [door, storm] of [
  ["HTTP", overHttp],
  ["WebSocket", overSockets]
] as const) {
  const began = performance.now()
  await storm(url, times)
  const probed = await probe(url)
  report(
    door,
    began,
    probed.every(({ ok }) => ok),
    probed.map(({ said }) => said).join(", ")
  )
}
await server.end()

const client = mcpClient(process.execPath, [bin, "mcp", "--db", db], env)
await client.initialize()
const began = performance.now()
await client.storm(times)
const given = await Promise.race([
  client.search("tides").answer,
  new Promise<string>((resolve) => setTimeout(resolve, 10_000, ""))
])
report("MCP", began, given.includes("result"))
await client.end()
