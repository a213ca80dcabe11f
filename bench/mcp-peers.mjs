// Checks `clew mcp` with clients that test/mcp does not have: the inspector's CLI and the Python SDK.
// By hand, after `npm run build`: node bench/mcp-peers.mjs [inspector|python]...
// Both are installed from their registries into a temporary folder.
import { execFileSync, spawn, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const here = dirname(fileURLToPath(import.meta.url))
const bin = process.env.TEST_BIN ?? join(here, "..", "dist", "bin.js")
const folder = process.env.PEERS_DIR ?? mkdtempSync(join(tmpdir(), "clew-peers-"))
const db = join(mkdtempSync(join(tmpdir(), "clew-peers-db-")), "index.db")
const server = [process.execPath, bin, "mcp", "--db", db]
process.env.CLEW_EMBEDDING_BACKEND ??= "builtin"

let failed = 0
const check = (peer, what, holds, seen) => {
  if (!holds) failed++
  console.log(
    `${holds ? "ok  " : "FAIL"} ${peer}: ${what}${holds ? "" : `\n     ${JSON.stringify(seen)?.slice(0, 600)}`}`
  )
}

const documents = [
  {
    content: "# Tides\n\nThe moon pulls the sea, and tides rise twice a day.\n",
    metadata: { source: "docs/sea.md", title: "Sea" }
  },
  { content: "Bread needs flour, water, salt and time.", metadata: { source: "notes/bread.txt" } }
]

const seed = () =>
  new Promise((resolve, reject) => {
    const child = spawn(server[0], server.slice(1), { stdio: ["pipe", "pipe", "inherit"] })
    child.stdout.once("data", () => child.stdin.end())
    child.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`the server ended with ${code}`))))
    child.stdin.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "index_documents", arguments: { documents } } })}\n`
    )
  })

const inspector = () => {
  const name = "@modelcontextprotocol/inspector-cli"
  const home = join(folder, "inspector")
  const path = join(home, "node_modules", name, "build", "index.js")
  if (!existsSync(path))
    execFileSync("npm", ["install", "--silent", "--no-audit", "--no-fund", "--prefix", home, name], {
      stdio: "inherit"
    })
  // The published package still looks for its version in the repository in which it was built.
  writeFileSync(
    join(home, "node_modules", "@modelcontextprotocol", "package.json"),
    JSON.stringify({ name: "inspector", version: "0.0.0" })
  )
  const cli = existsSync(path) ? [process.execPath, path] : ["npx", "--prefix", home, "mcp-inspector-cli"]
  const ask = (method, ...args) => {
    const { stderr, stdout } = spawnSync(cli[0], [...cli.slice(1), ...server, "--method", method, ...args], {
      encoding: "utf8",
      env: process.env
    })
    try {
      return JSON.parse(stdout)
    } catch {
      return { stdout, stderr }
    }
  }
  const tools = ask("tools/list")
  check("inspector", "tools/list", tools.tools?.length === 6, tools)
  const call = (tool, ...args) => ask("tools/call", "--tool-name", tool, ...args.flatMap((arg) => ["--tool-arg", arg]))
  const found = call("search", "query=tides", "top_k=1")
  check(
    "inspector",
    "tools/call search",
    found.structuredContent?.results?.[0]?.metadata?.source === "docs/sea.md",
    found
  )
  const prompt = call("get_prompt", "query=tides")
  check("inspector", "tools/call get_prompt", prompt.structuredContent?.prompt?.includes("Question: tides"), prompt)
  const document = call("get_document", "source=docs/sea.md")
  check("inspector", "tools/call get_document", document.structuredContent?.text === documents[0].content, document)
  const sources = call("list_sources")
  check("inspector", "tools/call list_sources", sources.structuredContent?.sources?.length === 2, sources)
  const info = call("collection_info")
  check("inspector", "tools/call collection_info", info.structuredContent?.documents === 2, info)
  const indexed = call("index_documents", `documents=${JSON.stringify([documents[0]])}`)
  check("inspector", "tools/call index_documents", indexed.structuredContent?.unchanged === 1, indexed)
  const wrong = call("search", "query=tides", "top_k=500")
  check(
    "inspector",
    "an argument out of range",
    JSON.stringify(wrong).includes("top_k must be between 1 and 100"),
    wrong
  )
  const resources = ask("resources/list")
  check("inspector", "resources/list", resources.resources?.length === 3, resources)
  const templates = ask("resources/templates/list")
  check("inspector", "resources/templates/list", templates.resourceTemplates?.length === 2, templates)
  const stats = ask("resources/read", "--uri", "service://index/stats")
  check("inspector", "resources/read", stats.contents?.[0]?.text?.includes('"chunks"'), stats)
  const prompts = ask("prompts/list")
  check("inspector", "prompts/list", prompts.prompts?.length === 2, prompts)
  const rag = ask("prompts/get", "--prompt-name", "rag_answer", "--prompt-args", "query=tides")
  check("inspector", "prompts/get", rag.messages?.[0]?.content?.text?.includes("[1]"), rag)
  const level = ask("logging/setLevel", "--log-level", "debug")
  check("inspector", "logging/setLevel", JSON.stringify(level) === "{}", level)
}

const python = () => {
  const venv = join(folder, "venv")
  const interpreter = join(venv, "bin", "python")
  if (!existsSync(interpreter)) {
    execFileSync("python3", ["-m", "venv", venv], { stdio: "inherit" })
    execFileSync(interpreter, ["-m", "pip", "install", "--quiet", "mcp"], { stdio: "inherit" })
  }
  const { stderr, stdout } = spawnSync(
    interpreter,
    [join(here, "mcp-peers.py"), JSON.stringify(documents), ...server],
    {
      encoding: "utf8",
      env: process.env
    }
  )
  const results = stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line))
  for (const { holds, seen, what } of results) check("python", what, holds, seen)
  check("python", "ran to its end", results.at(-1)?.what === "end", stderr.slice(-800))
}

const peers = { inspector, python }
const asked = process.argv.slice(2)
await seed()
for (const [name, run] of Object.entries(peers)) if (asked.length === 0 || asked.includes(name)) run()
rmSync(dirname(db), { recursive: true, force: true })
if (process.env.PEERS_DIR === undefined) rmSync(folder, { recursive: true, force: true })
console.log(failed === 0 ? "All hold" : `${failed} do not hold`)
process.exitCode = failed === 0 ? 0 : 1
