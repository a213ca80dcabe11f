import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import Database from "better-sqlite3"
import { failingDisk, failings } from "./faults/disk.ts"
import { serveFailing } from "./faults/served.ts"
import { program, temporaryFolder } from "./program.ts"
import { serveHttp } from "./storms.ts"

/**
 * Every how many operations of a command one fails; of the server's, each fails. The four ways to fail start one operation
 * apart, so that with a stride of four each operation fails in one of them.
 */
const stride = Number(process.argv[2] ?? 5)
/** What to test: serve, index, delete, compact; default all. */
const parts = process.argv.slice(3)
const isTried = (part: string) => parts.length === 0 || parts.includes(part)
const bin = program()
const folder = temporaryFolder()
const index = join(folder, "index")
mkdirSync(index)
const db = join(index, "index.db")
const disk = failingDisk(folder, index)
if (disk === undefined) {
  console.error("A C compiler (cc) and Linux are needed")
  process.exit(1)
}
const plain = { PATH: process.env["PATH"], HOME: folder, CLEW_EMBEDDING_BACKEND: "builtin" }
const env = { ...plain, CLEW_RATE_LIMIT_PER_SECOND: "1000000" }
const clew = (args: ReadonlyArray<string>, failing: boolean) =>
  spawnSync(process.execPath, [bin, ...args, "--db", db], {
    env: { ...plain, ...(failing ? disk.env : {}) },
    encoding: "utf8",
    timeout: 120_000
  })
const wrong: Array<string> = []

const examine = (after: string) => {
  const { status, stdout } = clew(["doctor"], false)
  if (status !== 0) wrong.push(`${after}: doctor finds ${stdout.replaceAll(/^ok.*\n/gm, "")}`)
}

if (isTried("serve")) {
  const server = serveHttp([bin, "serve", "--db", db], { ...env, ...disk.env })
  const served = await serveFailing(await server.url, disk, { log: console.log })
  wrong.push(...served.wrong)
  const code = await server.end()
  if (code !== 0) wrong.push(`the server ends with ${code}`)
  examine("the server")
  console.log(`served: ${served.trials} trials, ${served.failed} operations failed`)
}

mkdirSync(join(folder, "docs"))
for (let n = 0; n < 9; n++) {
  writeFileSync(join(folder, "docs", `${n}.md`), `# Note ${n}\n\n${`The tide of day ${n} comes twice. `.repeat(30)}\n`)
}
const before = join(folder, "before")
rmSync(index, { recursive: true })
mkdirSync(index)
clew(["index", join(folder, "docs"), "--quiet"], false)
for (let n = 0; n < 9; n += 3) {
  writeFileSync(join(folder, "docs", `${n}.md`), `# Note ${n}\n\n${`Another tide of day ${n}. `.repeat(30)}\n`)
}
cpSync(index, before, { recursive: true })

/** Each document in an index with its text, read from a copy, so that the index is not touched. */
const documents = () => {
  const copy = join(folder, "copy")
  rmSync(copy, { recursive: true, force: true })
  cpSync(index, copy, { recursive: true })
  const database = new Database(join(copy, "index.db"))
  try {
    return JSON.stringify(
      database
        .prepare(
          "SELECT source, fingerprint, text FROM documents JOIN passages ON document_id = documents.id ORDER BY source, ordinal"
        )
        .all()
    )
  } finally {
    database.close()
  }
}

const first = join(folder, "docs", "1.md")
const commands: ReadonlyArray<ReadonlyArray<string>> = [
  ["index", join(folder, "docs"), "--quiet"],
  ["delete", first, "--yes"],
  ["compact"]
]
for (const args of commands.filter(([command]) => isTried(command ?? ""))) {
  for (const [nth, failing] of failings.entries()) {
    let trials = 0
    for (let at = 1 + (nth % stride); ; at += stride) {
      const what = `clew ${args[0]}, ${failing.error}${failing.lasting ? " from" : " at"} operation ${at}`
      rmSync(index, { recursive: true })
      cpSync(before, index, { recursive: true })
      disk.arm(at, failing)
      const { signal, status, stderr } = clew(args, true)
      const { failed } = disk.disarm()
      trials++
      if (signal !== null) wrong.push(`${what}: ends by ${signal}`)
      else if (status !== 0 && status !== 1) wrong.push(`${what}: ends with ${status}: ${stderr.slice(0, 300)}`)
      if (/^ {4}at /m.test(stderr)) wrong.push(`${what}: a raw error: ${stderr.slice(0, 300)}`)
      if (status === 1 && !/disk/.test(stderr)) wrong.push(`${what}: does not name the disk: ${stderr.slice(0, 300)}`)
      const now = documents()
      const again = clew(args, false)
      const isGone = args[0] === "delete" && !now.includes(first)
      if (again.status !== (isGone ? 1 : 0)) {
        wrong.push(`${what}: the next try ends with ${again.status}: ${again.stderr.slice(0, 300)}`)
      }
      if (status === 0 && documents() !== now) wrong.push(`${what}: it was acknowledged and had to be done again`)
      if (trials % 10 === 1) examine(what)
      if (failed === 0) break
    }
    const how = failing.lasting ? "lasting" : "once"
    console.log(`clew ${args[0]}, ${failing.error} ${how}: ${trials} trials`)
  }
}
disk.close()
for (const line of wrong) console.log(`WRONG ${line}`)
console.log(wrong.length === 0 ? "Nothing crashed, hung, lied or was lost" : `${wrong.length} things went wrong`)
if (wrong.length > 0) process.exitCode = 1
