import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { median, program, temporaryFolder } from "./program.ts"

/** Files to follow, seconds of idling, and seconds of edits, one a second, during which memory is measured. */
const [files = 10_000, idle = 60, editing = 0] = process.argv.slice(2).map(Number)
const words = "river mountain tide bread oven valley glacier lava moon sea dough crust stone wind harbour".split(" ")

const folder = temporaryFolder()
const root = join(folder, "files")
const fileOf = (n: number) => join(root, `d${n % 100}`, `f${n}.md`)
for (let n = 0; n < files; n++) {
  if (n < 100) mkdirSync(join(root, `d${n}`), { recursive: true })
  writeFileSync(
    fileOf(n),
    `# File ${n}\n\n${Array.from({ length: 80 }, (_, i) => words[(n * 7 + i * i) % 15]).join(" ")}\n`
  )
}

/** Installed peers, each in a separate process: time until it is ready, its memory, and the delay of an event. */
const peers: Readonly<Record<string, string>> = {
  "fs.watch, a folder each": `
    const at = (folder) => { fs.watch(folder, (_, name) => heard(name)); for (const e of fs.readdirSync(folder, { withFileTypes: true })) if (e.isDirectory()) at(folder + "/" + e.name) }
    at(root); stands()`,
  "@parcel/watcher": `
    const w = await import("@parcel/watcher"); await w.default.subscribe(root, (_, events) => heard(events[0].path)); stands()`,
  chokidar: `
    const w = await import("chokidar"); const it = w.watch(root, { ignoreInitial: true }); it.on("all", (_, p) => heard(p)); it.on("ready", stands)`
}
for (const [name, code] of Object.entries(peers)) {
  const script = `
    import fs from "node:fs"
    const root = process.argv[1], started = performance.now(), before = process.memoryUsage().rss
    let written = 0, heardAt = []
    const heard = () => { if (written) heardAt.push(performance.now() - written), written = 0 }
    const stands = async () => {
      const ms = performance.now() - started, mb = (process.memoryUsage().rss - before) / 1e6
      for (let n = 0; n < 20; n++) { written = performance.now(); fs.appendFileSync(root + "/d1/f1.md", "."); while (written) await new Promise((r) => setTimeout(r, 1)); await new Promise((r) => setTimeout(r, 60)) }
      const cpu = process.cpuUsage(); await new Promise((r) => setTimeout(r, 5000)); const used = process.cpuUsage(cpu)
      console.log(\`stands after \${ms.toFixed(0)} ms, +\${mb.toFixed(0)} MB, an event after \${heardAt.sort((a, b) => a - b)[10].toFixed(1)} ms, idle \${((used.user + used.system) / 5e4).toFixed(2)} % CPU\`)
      process.exit()
    }
    ${code}`
  const { status, stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script, root], {
    encoding: "utf8"
  })
  console.log(`${name.padEnd(24)} ${status === 0 ? stdout.trim() : "is not installed"}`)
}

const clew = program()
const db = join(folder, "index.db")
let log = ""
const start = async (): Promise<{ readonly url: string; readonly child: ChildProcess }> => {
  const child = spawn(process.execPath, [clew, "serve", "--port", "0", "--watch", root, "--db", db], {
    stdio: ["ignore", "ignore", "pipe"],
    env: {
      ...process.env,
      CLEW_EMBEDDING_BACKEND: "builtin",
      CLEW_RATE_LIMIT_PER_SECOND: "100000",
      CLEW_LOG_LEVEL: "info"
    }
  })
  process.on("exit", () => child.kill("SIGKILL"))
  const url = await new Promise<string>((resolve) => {
    child.stderr.on("data", (chunk) => {
      log += String(chunk)
      const found = /Listening on (http:\/\/[^\s",]+)/.exec(log)
      if (found !== null) resolve(found[1]!)
    })
  })
  return { url, child }
}

const { child, url } = await start()
const watched = async () => ((await (await fetch(`${url}/stats`)).json()) as any).watch
const until = async (is: () => Promise<boolean>, pause = 20) => {
  while (!(await is())) await sleep(pause)
}
const finds = async (word: string) => {
  const body = JSON.stringify({ query: word, alpha: 0, hybrid: true })
  const headers = { "content-type": "application/json" }
  const { results } = (await (await fetch(`${url}/query`, { method: "POST", headers, body })).json()) as any
  return String(results[0]?.text ?? "").includes(word)
}
const figures = () => {
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8")
  const stat = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1]!.split(" ")
  return { mb: Number(/RssAnon:\s+(\d+)/.exec(status)![1]) / 1000, cpu: (Number(stat[11]) + Number(stat[12])) / 100 }
}

await until(async () => (await watched())?.last_scan_at !== undefined, 200)
console.log(`indexed ${files} files in ${(await watched()).last_scan_ms} ms`)
// Files written less than two seconds ago are read once more.
await sleep(3000)

const saves: Array<number> = []
const scans: Array<number> = []
for (let n = 0; n < 20; n++) {
  const word = `zyx${n}${"qwrtpsdfgh"[n % 10]}mark`
  const before = performance.now()
  writeFileSync(fileOf(n), `# File ${n}\n\n${word}\n`)
  await until(() => finds(word))
  saves.push(performance.now() - before)
  await until(async () => (await watched()).waiting === 0)
  scans.push((await watched()).last_scan_ms)
  await sleep(300)
}
console.log(`from saving to finding: median ${median(saves).toFixed(0)} ms, most ${Math.max(...saves).toFixed(0)} ms`)
console.log(`a scan of ${files} files, of which one has changed: median ${median(scans).toFixed(0)} ms`)

const before = log.length
const seconds = 10
const began = performance.now()
for (let n = 0; n < seconds * 100; n++) {
  for (let k = 0; k < 10; k++) appendFileSync(fileOf(200 + ((n * 10 + k) % 500)), `${n} `)
  await sleep(Math.max(0, began + (n + 1) * 10 - performance.now()))
}
const writing = performance.now() - began
const word = "zyxstormended"
appendFileSync(fileOf(699), word)
await until(() => finds(word), 100)
console.log(
  `${seconds * 1000} appends to 500 files in ${(writing / 1000).toFixed(1)} s: the last is found after ${(performance.now() - began - writing).toFixed(0)} ms`
)
// The log meanwhile, without its line for each request.
for (const line of log.slice(before).split("\n"))
  if (line !== "" && !line.includes("POST /query")) console.log(`  ${line}`)

await sleep(10_000)
const first = figures()
await sleep(idle * 1000)
const last = figures()
console.log(
  `idle for ${idle} s: ${(((last.cpu - first.cpu) / idle) * 100).toFixed(2)} % CPU, memory from ${first.mb.toFixed(0)} to ${last.mb.toFixed(0)} MB`
)
if (editing > 0) {
  const sizes: Array<number> = []
  for (let n = 0; n < editing; n++) {
    writeFileSync(fileOf(n % files), `# File ${n}\n\nedited ${n} ${words[n % 15]}\n`)
    await sleep(1000)
    if (n % 30 === 29) sizes.push(Math.round(figures().mb))
  }
  console.log(`an edit a second for ${editing} s: memory every 30 s, in MB: ${sizes.join(" ")}`)
}
child.kill("SIGTERM")
