import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath, pathToFileURL } from "node:url"
import v8 from "node:v8"
import vm from "node:vm"
import { isMainThread, parentPort } from "node:worker_threads"
import { maker } from "./compiled.mjs"

const here = fileURLToPath(import.meta.url)
const target = "BYTECODE_FILE"
const threadTarget = "THREAD_BYTECODE_FILE"

const write = (file, script) => writeFileSync(file, Buffer.concat([maker, script.createCachedData()]))

/** In a program started by `writeBytecode`: adds the bytecode of the code that ran to that of earlier runs, at exit. */
const record = (file) => {
  const { setFlagsFromString } = v8
  // V8 takes only bytecode that was written under its own flags, and the launcher sets one.
  v8.setFlagsFromString = () => {}
  recorded((script) => {
    // Else V8 drops what has not run for a while.
    setFlagsFromString("--no-flush-bytecode")
    process.on("exit", () => {
      setFlagsFromString("--flush-bytecode")
      write(file, script)
    })
  })
}

/** The same in a worker thread, which ends without a word: before each of its answers. */
const recordThread = (file) =>
  recorded((script) => {
    const { postMessage } = parentPort
    parentPort.postMessage = (...given) => {
      write(file, script)
      postMessage.apply(parentPort, given)
    }
  })

/** Calls back with each script, once it is compiled. */
const recorded = (compiled) => {
  vm.Script = class extends vm.Script {
    constructor(...args) {
      super(...args)
      if (this.cachedDataRejected) throw new Error("V8 takes no bytecode that an earlier run has written")
      compiled(this)
      // This keeps it, and the launcher must not.
      Object.defineProperty(this, "cachedDataRejected", { value: false })
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

const post = (body) => ({ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })

/** Runs the built program like a user, so that V8 compiles what users need, and keeps the bytecode. */
export const writeBytecode = async (folder) => {
  const file = join(folder, "program.bytecode")
  const work = mkdtempSync(join(tmpdir(), "clew-build-"))
  const env = { PATH: process.env.PATH, HOME: work, CLEW_EMBEDDING_BACKEND: "builtin" }
  const line = (args) => {
    const db = ["--db", join(work, "index.db")]
    return ["--import", pathToFileURL(here).href, join(folder, "bin.js"), ...args, ...db]
  }
  const run = (args, input = "", recording = { [target]: file }) => {
    const options = { cwd: work, env: { ...env, ...recording }, input, encoding: "utf8" }
    const { status, stderr } = spawnSync(process.execPath, line(args), options)
    if (status !== 0) throw new Error(`clew ${args.join(" ")} ended with ${status}:\n${stderr}`)
    for (const file of Object.values(recording)) {
      if (!existsSync(file)) throw new Error(`clew ${args.join(" ")} left no bytecode for ${file}`)
    }
  }
  const serve = async () => {
    const stdio = ["ignore", "ignore", "pipe"]
    const options = { cwd: work, env: { ...env, [target]: file }, stdio }
    const child = spawn(process.execPath, line(["serve", "--port", "0"]), options)
    const ended = once(child, "exit")
    let log = ""
    for await (const text of createInterface(child.stderr)) {
      log += `${text}\n`
      const [, url] = /Listening on (\S+)/.exec(text) ?? []
      if (url === undefined) continue
      await fetch(`${url}/ready`)
      for (const hybrid of [false, true]) await fetch(`${url}/query`, post({ query: "who makes honey?", hybrid }))
      child.kill("SIGTERM")
    }
    const [status] = await ended
    if (status !== 0) throw new Error(`clew serve ended with ${status}:\n${log}`)
  }
  try {
    const bees = "# Bees\n\nBees make honey out of nectar. The documents say so.\n"
    run(["index", "-"], bees)
    // Under the flags that `clew index` gives V8 (launcher.mjs).
    // Little would be written without a thread (Store/SqliteThreaded.ts).
    run(["index", "-"], bees.repeat(1000), { [threadTarget]: join(folder, "storeWorker.bytecode") })
    run(["query", "who makes honey?"])
    run(["mcp"], `${session.join("\n")}\n`)
    await serve()
    run(["--help"])
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

if (isMainThread && process.env[target] !== undefined) record(process.env[target])
if (!isMainThread && process.env[threadTarget] !== undefined) recordThread(process.env[threadTarget])
