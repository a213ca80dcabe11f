import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import vm from "node:vm"

const here = fileURLToPath(import.meta.url)
const target = "BYTECODE_FILE"

/** In a program started by `writeBytecode`: writes the bytecode of the code that ran, at exit. */
const record = (file) => {
  vm.Script = class extends vm.Script {
    constructor(...args) {
      super(...args)
      process.on("exit", () => writeFileSync(file, this.createCachedData()))
    }
  }
  syncBuiltinESMExports()
}

const rpc = (id, method, params) => JSON.stringify({ jsonrpc: "2.0", id, method, params })

const session = [
  rpc(1, "initialize", {
    protocolVersion: "2024-11-05",
    capabilities: {},
    clientInfo: { name: "build", version: "1" }
  }),
  rpc(2, "tools/list", {}),
  rpc(3, "tools/call", { name: "search", arguments: { query: "documents" } })
]

/** Runs the built program like a user, so that V8 compiles what users need, and keeps the bytecode. */
export const writeBytecode = (folder) => {
  const file = join(folder, "program.bytecode")
  const work = mkdtempSync(join(tmpdir(), "clew-build-"))
  const env = { PATH: process.env.PATH, HOME: work, CLEW_EMBEDDING_BACKEND: "builtin", [target]: file }
  const run = (args, input = "") => {
    const { status, stderr } = spawnSync(
      process.execPath,
      ["--import", pathToFileURL(here).href, join(folder, "bin.js"), ...args, "--db", join(work, "index.db")],
      { cwd: work, env, input, encoding: "utf8" }
    )
    if (status !== 0) throw new Error(`clew ${args.join(" ")} ended with ${status}:\n${stderr}`)
  }
  try {
    run(["index", "-"], "# Bees\n\nBees make honey out of nectar. The documents say so.\n")
    run(["query", "who makes honey?"])
    run(["mcp"], `${session.join("\n")}\n`)
    run(["--help"])
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

if (process.env[target] !== undefined) record(process.env[target])
