import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as os from "node:os"
import { Doctor } from "../upkeep/Doctor.ts"
import { Check } from "../model/Check.ts"
import { StoreUnavailable } from "../Store.ts"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import * as Flag from "./flag.ts"
import { count, printResult } from "./output.ts"
import { entries } from "./mcp/entries.ts"
import { are } from "./indexText.ts"
import { neighbours } from "./neighbours.ts"
import { Place } from "./place.ts"
import { node, stale, surroundings } from "./surroundings.ts"
import { progressLine, shareText } from "./progress.ts"
import { Terminal } from "./terminal.ts"
import { wrapped } from "./wrap.ts"

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
  deep: Flag.toggle("deep", { summary: "Embed every passage again and compare the vectors" }),
  fix: Flag.toggle("fix", { summary: "Copy the index, then repair what can be rebuilt; deletes no document" })
}

const most = 1000

/** Documents whose files are gone or have changed: the index is intact but no longer matches the files. */
const origins = Effect.gen(function* () {
  const { origins } = yield* Doctor
  let after = ""
  const seen = new Set<string>()
  const gone = new Set<string>()
  const changed = new Set<string>()
  for (;;) {
    const some = yield* origins(after, most)
    const last = some.at(-1)
    if (last === undefined) break
    // The last file may be in more collections than fitted on this page.
    after = last.origin
    const before = seen.size
    for (const { origin } of some) seen.add(origin)
    // A damaged index may give the same files again.
    if (seen.size === before) break
    const found = stale(some)
    for (const file of found.gone) gone.add(file)
    for (const file of found.changed) changed.add(file)
  }
  const checks: Array<Check> = []
  if (gone.size > 0) {
    checks.push({
      name: "origins",
      status: "warn",
      detail: `${count(gone.size, "file")} of ${seen.size} ${are(gone.size)} gone, for example ${[...gone][0]}`,
      next: "remove their documents with `clew index --prune FOLDER` or `clew delete`"
    })
  }
  if (changed.size > 0) {
    checks.push({
      name: "origins",
      status: "warn",
      detail: `${count(changed.size, "file")} of ${seen.size} ${changed.size === 1 ? "has" : "have"} changed since they were indexed, for example ${[...changed][0]}`,
      next: "run `clew index` again"
    })
  }
  return checks.length > 0
    ? checks
    : [
        {
          name: "origins",
          status: "ok",
          detail: `${count(seen.size, "file")} unchanged since they were indexed`
        } satisfies Check
      ]
}).pipe(Effect.catchAll(() => Effect.succeed<ReadonlyArray<Check>>([])))

interface Found {
  readonly database: string | undefined
  readonly checks: ReadonlyArray<Check>
  readonly copy: string | undefined
  readonly fixed: ReadonlyArray<string>
}

const nothing: Found = { database: undefined, checks: [], copy: undefined, fixed: [] }

const misconfigured = ({ detail, where }: { readonly detail: string; readonly where: string }): Check => ({
  name: "configuration",
  status: "fail",
  detail: `${where}: ${detail}`,
  next: "correct it there; the index can be checked once the configuration is valid"
})

/** Checks of the index and its surroundings. */
const look = Effect.fnUntraced(function* (
  database: string,
  options: { readonly deep: boolean; readonly fix: boolean }
) {
  const engine = yield* Engine
  const configuration: Check = {
    name: "configuration",
    status: "ok",
    detail: Option.match(yield* engine.configFile, {
      onNone: () => "no configuration file; using defaults",
      onSome: (file) => `${file} is valid`
    })
  }
  const foundations = yield* engine.foundations
  const around = surroundings(database)
  const before = [configuration, ...foundations, ...around]
  const stands = !before.some(({ name, status }) => (name === "file" || name === "SQLite") && status === "fail")
  if (!stands) return { ...nothing, database, checks: before } satisfies Found
  const { checks, copy, fixed, of } = yield* Effect.gen(function* () {
    const { run } = yield* Doctor
    const line = yield* progressLine
    const told = (what: string, part?: { readonly done: number; readonly total: number }) =>
      line.show(() => `clew: checking ${what}${part === undefined ? "" : ` (${shareText(part.done, part.total)})`}`)
    return yield* Effect.ensuring(
      Effect.gen(function* () {
        return { ...(yield* run({ ...options, told })), of: yield* origins }
      }),
      line.clear
    )
  }).pipe(
    Effect.provide(engine.doctor),
    Effect.catchIf(
      (error) => error instanceof StoreUnavailable,
      ({ reason }) =>
        Effect.succeed({
          checks: [{ name: "file", status: "fail", detail: reason }] satisfies ReadonlyArray<Check>,
          copy: undefined,
          fixed: [],
          of: []
        })
    )
  )
  return { database, checks: [...before, ...neighbours(database), ...checks, ...of], copy, fixed } satisfies Found
})

export const doctor = define(
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
  ({ deep, fix }) =>
    Effect.gen(function* () {
      const engine = yield* Engine
      const { cwd, env } = yield* Place
      const machine = { platform: process.platform, home: env["HOME"] || os.homedir(), cwd, env }
      const configured = yield* Effect.either(engine.settings)
      const { database, checks, copy, fixed } = Either.isLeft(configured)
        ? { ...nothing, checks: configured.left.problems.map(misconfigured) }
        : yield* look(configured.right.store.path, { deep, fix })
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
          ...(database === undefined ? {} : { database }),
          checks: all,
          fixed,
          ...(copy === undefined ? {} : { copy })
        },
        Effect.succeed(wrapped(out, text))
      )
      if (failed > 0) yield* stop(exitCode.failed)
    })
)
