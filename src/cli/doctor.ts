import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { StoreUnavailable } from "../Store.ts"
import { Check, fail, ok, warn } from "../model/Check.ts"
import { Doctor } from "../upkeep/Doctor.ts"
import { indexName, isOnServer } from "../Config.ts"
import * as Cli from "./command.ts"
import { Engine, Place } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import { are } from "./indexing.ts"
import { entries } from "./mcp/clients.ts"
import { bytesText, count, printResult } from "./output.ts"
import { progressLine, shareText } from "./progress.ts"
import { servedAt } from "./served.ts"
import { Terminal, printable } from "./terminal.ts"
import { wrapped } from "./wrap.ts"
import { attempt } from "../model/attempt.ts"

/** The Node that runs this; the launcher refuses an older one. */
const node = (): Check => ok("Node", `Node ${process.versions.node}`)

const access = (file: string): Check => {
  const stat = attempt(() => fs.statSync(file, { throwIfNoEntry: false }) ?? "none")
  const can = (mode: number) => attempt(() => fs.accessSync(file, mode) ?? true) === true
  if (stat === undefined) {
    return fail("file", `you may not look for ${file}`, "change the permissions of its folders, or run as their owner")
  }
  if (stat === "none") return fail("file", `there is no index at ${file}`, "make one with `clew index PATH`")
  if (!stat.isFile()) return fail("file", `${file} is not a file`, "name the index with --db")
  if (!can(fs.constants.R_OK)) {
    return fail("file", `you may not read ${file}`, "change its permissions, or run as its owner")
  }
  if (!can(fs.constants.W_OK)) {
    return warn("file", `${file} is read-only`, "search with --read-only, or change its permissions")
  }
  const isOpen = (stat.mode & 0o077) !== 0
  return isOpen
    ? warn("file", `other users may read ${file}`, `chmod 600 ${file}`)
    : ok("file", `${file}, ${bytesText(stat.size)}`)
}

/** Less free space than this gives a warning. */
const scarce = 512 * 1024 * 1024

const space = (file: string): ReadonlyArray<Check> => {
  const stat = attempt(() => fs.statfsSync(path.dirname(file)))
  if (stat === undefined) return []
  const free = stat.bavail * stat.bsize
  // Before anything is freed, the WAL must fit into the file.
  const first = (attempt(() => fs.statSync(`${file}-wal`).size) ?? 0) > free ? ` for what is in ${file}-wal first` : ""
  const next = free < scarce ? `make room${first}: \`clew compact\` frees the space of deleted documents` : undefined
  const detail = `${bytesText(free)} free`
  return [next === undefined ? ok("disk", detail) : warn("disk", detail, next)]
}

/** How many processes are checked. */
const mostProcesses = 10_000

/** The name of a process; for a script, its own name and first word, such as `clew serve`. */
const processName = (pid: string): string => {
  const [program = "", ...args] = (attempt(() => fs.readFileSync(`/proc/${pid}/cmdline`, "utf8")) ?? "").split("\0")
  const name = path.basename(program)
  const [script = "", command = ""] = name === "node" ? args.filter((word) => !word.startsWith("-")) : []
  return printable(script === "" ? name : `${path.basename(script)} ${command}`.trim()) || "a process"
}

/** Other processes that have one of the files open, as far as Linux shows them to this user; none on other systems. */
const holders = (files: ReadonlySet<string>): ReadonlyArray<string> =>
  (attempt(() => fs.readdirSync("/proc")) ?? [])
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .slice(0, mostProcesses)
    .flatMap((pid) => {
      const open = attempt(() => fs.readdirSync(`/proc/${pid}/fd`)) ?? []
      if (!open.some((fd) => files.has(attempt(() => fs.readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? ""))) return []
      return [`${processName(pid)} (${pid})`]
    })

/** Other processes that have the index open. */
const neighbours = (file: string): ReadonlyArray<Check> => {
  if (process.platform !== "linux") return []
  const whole = attempt(() => fs.realpathSync(file)) ?? file
  const found = holders(new Set([whole, `${whole}-wal`, `${whole}-shm`]))
  const more = found.length > 5 ? ` and ${found.length - 5} more` : ""
  const detail =
    found.length === 0
      ? "no other process of yours has the index open"
      : `other processes have the index open: ${found.slice(0, 5).join(", ")}${more}`
  return [ok("processes", detail)]
}

type Settings = Effect.Effect.Success<(typeof Engine)["Service"]["settings"]>

/** Why nothing can listen at an address; undefined if something can. */
const listening = ({ host, port }: { readonly host: string; readonly port: number }) =>
  Effect.async<string | undefined>((resume) => {
    const server = net.createServer()
    server.once("error", ({ code = "it failed" }: NodeJS.ErrnoException) => resume(Effect.succeed(code)))
    server.listen({ host, port }, () => server.close(() => resume(Effect.succeed(undefined))))
    return Effect.sync(() => server.close())
  })

/** Whether `clew serve` could listen where the configuration says. */
const serving = Effect.fnUntraced(function* ({ server, store }: Settings) {
  const served = yield* servedAt(store)
  if (served !== undefined) return ok("port", `\`clew serve\` answers for this index at ${served.url}`)
  const reason = yield* listening(server)
  const where = `${server.host}, port ${server.port}`
  return reason === undefined
    ? ok("port", `${where} is free for \`clew serve\``)
    : warn(
        "port",
        reason === "EADDRINUSE"
          ? `${where} is in use by another program`
          : `nothing can listen on ${where} (${reason})`,
        "to serve this index, set server.host and server.port, or use `clew serve --host` and `--port`"
      )
})

/** What `doctor --json` prints. */
export const DoctorReport = Schema.Struct({
  ok: Schema.Boolean,
  /** Absent if the configuration names none. */
  database: Schema.optional(Schema.String),
  checks: Schema.Array(Check),
  fixed: Schema.Array(Schema.String),
  /** The index as it was before `--fix`. */
  copy: Schema.optional(Schema.String)
}).annotations({ identifier: "DoctorReport" })

const flags = {
  deep: Cli.toggle("deep", { summary: "Embed every passage again and compare the vectors" }),
  fix: Cli.toggle("fix", { summary: "Copy the index, then repair what can be rebuilt; deletes no document" })
}

/** Origins read at once. */
const batchSize = 1000

/** Documents whose files are gone or have changed: the index is intact but no longer matches the files. */
const origins = Effect.gen(function* () {
  const { origins } = yield* Doctor
  let after = ""
  const seen = new Set<string>()
  const gone = new Set<string>()
  const changed = new Set<string>()
  for (;;) {
    const some = yield* origins(after, batchSize)
    const last = some.at(-1)
    if (last === undefined) break
    // The last file may be in more collections than fitted on this page.
    after = last.origin
    const before = seen.size
    for (const { modified, origin, size } of some) {
      seen.add(origin)
      if (!path.isAbsolute(origin)) continue
      const stat = attempt(() => fs.statSync(origin, { bigint: true }))
      if (stat === undefined) gone.add(origin)
      else if (size === undefined || modified === undefined) continue
      else if (Number(stat.size) !== size || String(stat.mtimeNs) !== modified) changed.add(origin)
    }
    // A damaged index may give the same files again.
    if (seen.size === before) break
  }
  const lost = (files: ReadonlySet<string>, what: string, next: string) =>
    files.size === 0
      ? []
      : [warn("origins", `${count(files.size, "file")} of ${seen.size} ${what}, for example ${[...files][0]}`, next)]
  const checks = [
    ...lost(gone, `${are(gone.size)} gone`, "remove their documents with `clew index --prune FOLDER` or `clew delete`"),
    ...lost(changed, `${changed.size === 1 ? "has" : "have"} changed since they were indexed`, "run `clew index` again")
  ]
  return checks.length > 0 ? checks : [ok("origins", `${count(seen.size, "file")} unchanged since they were indexed`)]
}).pipe(Effect.catchAll(() => Effect.succeed<ReadonlyArray<Check>>([])))

interface Found {
  readonly database: string | undefined
  readonly checks: ReadonlyArray<Check>
  readonly copy: string | undefined
  readonly fixed: ReadonlyArray<string>
}

const nothing: Found = { database: undefined, checks: [], copy: undefined, fixed: [] }

const misconfigured = ({ detail, where }: { readonly detail: string; readonly where: string }): Check =>
  fail(
    "configuration",
    `${where}: ${detail}`,
    "correct it there; the index can be checked once the configuration is valid"
  )

/** Checks of the index and its surroundings. */
const look = Effect.fnUntraced(function* (
  settings: Settings,
  options: { readonly deep: boolean; readonly fix: boolean }
) {
  const { store } = settings
  const database = indexName(store)
  const isFile = !isOnServer(store)
  const engine = yield* Engine
  const configuration = Option.match(yield* engine.configFile, {
    onNone: () => "no configuration file; using defaults",
    onSome: (file) => `${file} is valid`
  })
  const foundations = yield* engine.foundations
  const before = [
    ok("configuration", configuration),
    ...foundations,
    ...(isFile ? [access(database), ...space(database)] : []),
    yield* serving(settings)
  ]
  const stands = !before.some(({ name, status }) => (name === "file" || name === "SQLite") && status === "fail")
  if (!stands) return { ...nothing, database, checks: before } satisfies Found
  const found = yield* Effect.gen(function* () {
    const { run } = yield* Doctor
    const line = yield* progressLine
    const onPart = (what: string, part?: { readonly done: number; readonly total: number }) =>
      line.show(() => `clew: checking ${what}${part === undefined ? "" : ` (${shareText(part.done, part.total)})`}`)
    const { checks, copy, fixed } = yield* Effect.ensuring(run({ ...options, told: onPart }), line.clear)
    return { checks: [...checks, ...(yield* origins)], copy, fixed }
  }).pipe(
    Effect.provide(engine.doctor),
    Effect.catchIf(
      (error) => error instanceof StoreUnavailable,
      ({ reason }) => Effect.succeed({ ...nothing, checks: [fail("file", reason)] })
    )
  )
  return {
    ...found,
    database,
    checks: [...before, ...(isFile ? neighbours(database) : []), ...found.checks]
  } satisfies Found
})

export const doctor = Cli.define(
  {
    name: "doctor",
    summary: "Check the index and its surroundings; --fix repairs",
    flags,
    examples: ["clew doctor", "clew doctor --deep --json", "clew doctor --fix"],
    details: [
      "Exits with 1 if a check fails; a warning is not a failure. docs/doctor.md says what each check finds.",
      "--fix copies the index, rebuilds postings, codes and missing vectors, and corrects counts and lists; the next clew index replaces damaged documents. If pages cannot be read, it salvages the rest into a new file."
    ]
  },
  function* ({ deep, fix }) {
    const engine = yield* Engine
    const { cwd, env } = yield* Place
    const machine = { platform: process.platform, home: env["HOME"] || os.homedir(), cwd, env }
    const configured = yield* Effect.either(engine.settings)
    const { database, checks, copy, fixed } = Either.isLeft(configured)
      ? { ...nothing, checks: configured.left.problems.map(misconfigured) }
      : yield* look(configured.right, { deep, fix })
    const all: ReadonlyArray<Check> = [node(), ...checks, ...(yield* entries(machine))]
    const failed = all.filter(({ status }) => status === "fail").length
    const { out } = yield* Terminal
    const colors = { ok: out.colors.green, warn: out.colors.yellow, fail: out.colors.red }
    const text = [
      ...all.flatMap(({ detail, name, next, status }) => [
        `${colors[status](status.padEnd(4))} ${name}: ${detail}`,
        ...(next === undefined ? [] : [`     ${next}`])
      ]),
      ...(copy === undefined ? [] : [`Copy of the index before: ${copy}`]),
      ...fixed.map((what) => `Fixed: ${what}`),
      failed === 0 ? "No check failed" : `${count(failed, "check")} failed`
    ].join("\n")
    yield* printResult(
      DoctorReport,
      {
        ok: failed === 0,
        database,
        checks: all,
        fixed,
        copy
      },
      wrapped(out, text)
    )
    if (failed > 0) yield* stop(exitCode.failed)
  }
)
