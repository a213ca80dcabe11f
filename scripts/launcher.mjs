#!/usr/bin/env node
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { setFlagsFromString } from "node:v8"
import { compiled } from "./compiled.js"

const filename = join(dirname(fileURLToPath(import.meta.url)), "program.cjs")

/** Each WebAssembly memory reserves 10 GB of addresses, unless Node checks bounds in software, which is slower. */
const boundsChecked = "--disable-wasm-trap-handler"

/** This process's limits, as Linux reports them. */
const limits = () => {
  try {
    return readFileSync("/proc/self/limits", "latin1")
  } catch (error) {
    // Not even this file could be opened.
    return error.code === "EMFILE" ? "Max open files 0" : ""
  }
}

/** Whether the address space of this process is limited (ulimit -v). */
const isTight = (limits) => {
  const [, limit] = /^Max address space +(\S+)/m.exec(limits) ?? []
  return limit !== undefined && limit !== "unlimited"
}

/** Files that the program opens at once, including those of Node and its threads: 40 were counted, where indexing failed at times. */
const openFiles = 64

/** The limit of open files, if it is too low (ulimit -n): later errors would not name it. */
const tooFew = (limits) => {
  const [, limit] = /^Max open files +(\d+)/m.exec(limits) ?? []
  return limit !== undefined && Number(limit) < openFiles ? limit : undefined
}

const isTold = () =>
  process.execArgv.includes(boundsChecked) || (process.env.NODE_OPTIONS ?? "").includes(boundsChecked)

/** The commands that run until somebody ends them, or measure how fast that would be. */
const lasting = new Set(["serve", "console", "mcp", "watch", "benchmark", "compare"])

/** Runs the program in another process, and exits with its code. */
const relaunch = async () => {
  const { spawn } = await import("node:child_process")
  const { constants } = await import("node:os")
  const child = spawn(process.execPath, [boundsChecked, ...process.execArgv, ...process.argv.slice(1)], {
    stdio: "inherit"
  })
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
  // A terminal sends SIGINT to both processes.
  process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"))
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}

const isLasting = process.argv.some((word) => lasting.has(word))

const isMcp = process.argv[2] === "mcp"

/** Whether most of what other commands need runs, too. */
const isTypical = isLasting || process.argv.some((word) => ["index", "query", "ask"].includes(word))

const run = (meeting) => {
  const { keep, script } = compiled(filename)
  // Later versions of V8 do not have all of the flags below, and say so on stderr. A server of MCP for many would take
  // longer to reach the memory that it stays at.
  const isTuned =
    keep === undefined && process.versions.v8.startsWith("11.") && !(isMcp && process.argv.includes("--http"))
  if (keep !== undefined) {
    if (isTypical) process.on("exit", (code) => code === 0 && keep())
    // Before the program fills the heap, which would keep the size it has then; V8 takes no bytecode that was compiled or
    // is read after it has got a flag.
  } else if (isMcp) setFlagsFromString("--optimize-for-size")
  if (isTuned) {
    // Most of what V8 optimises by default does not run often enough afterwards to be worth it in a process of seconds
    // or one agent's, and much of it not in a server before it has answered a thousand questions. The default is 67,584.
    setFlagsFromString(`--interrupt-budget=${isLasting && !isMcp ? 135168 : 1000000}`)
    // Loading the program leaves much: with a young generation that starts small and doubles, V8 moves it many times.
    if (!isLasting || isMcp) setFlagsFromString("--semi-space-growth-factor=16")
  }
  script.runInThisContext()(createRequire(filename), filename, meeting)
  // What questions leave is little: an agent's process would only take more memory. This is the default.
  if (isTuned && isMcp) setFlagsFromString("--semi-space-growth-factor=2")
}

/** A server of MCP uses the engine of another process, if there is one, and loads nothing of the program then. */
const start = async () => (isMcp ? (await import("./relay.js")).start(run) : run())

/** The oldest Node that runs Clew. */
const oldest = [20, 12]

const isOld = (version) => {
  const [major, minor] = version.split(".").map(Number)
  return major < oldest[0] || (major === oldest[0] && minor < oldest[1])
}

const given = limits()
const files = tooFew(given)
if (isOld(process.versions.node)) {
  process.stderr.write(
    `clew: Node ${process.versions.node} is too old for Clew; install Node ${oldest.join(".")} or newer, and Clew with it\n`
  )
  process.exitCode = 1
} else if (files !== undefined) {
  process.stderr.write(
    `clew: a program may have ${files} files open here, and Clew needs ${openFiles}; raise that with \`ulimit -n 256\`\n`
  )
  process.exitCode = 1
} else if (isTight(given) && !isTold()) await relaunch()
else await start()
