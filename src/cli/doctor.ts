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
import { neighbours } from "./neighbours.ts"
import { Place } from "./place.ts"
import { node, stale, surroundings } from "./surroundings.ts"
import { Terminal } from "./terminal.ts"
import { wrapped } from "./wrap.ts"

/** What `doctor --json` prints. */
export const DoctorReport = Schema.Struct({
  ok: Schema.Boolean,
  /** None where the configuration does not say which. */
  database: Schema.optional(Schema.String),
  checks: Schema.Array(Check),
  fixed: Schema.Array(Schema.String),
  /** The index as it was before `--fix`. */
  copy: Schema.optional(Schema.String)
}).annotations({ identifier: "DoctorReport" })

const flags = {
  deep: Flag.toggle("deep", { summary: "Make every vector anew and compare: reads and embeds all there is" }),
  fix: Flag.toggle("fix", { summary: "Mend what can be made from what is there, after a copy; deletes no document" })
}

const most = 1000

/** Documents whose files are gone or have changed: nothing is wrong with them, but they are not what the files say. */
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
    // The last may be in further collections than fitted.
    after = last.origin
    for (const { origin } of some) seen.add(origin)
    const found = stale(some)
    for (const file of found.gone) gone.add(file)
    for (const file of found.changed) changed.add(file)
  }
  const checks: Array<Check> = []
  if (gone.size > 0) {
    checks.push({
      name: "origins",
      status: "warn",
      detail: `${count(gone.size, "file")} of ${seen.size} are gone, ${[...gone][0]} for one`,
      next: "take their documents out with `clew index --prune FOLDER` or `clew delete`"
    })
  }
  if (changed.size > 0) {
    checks.push({
      name: "origins",
      status: "warn",
      detail: `${count(changed.size, "file")} of ${seen.size} look other than when they were indexed, ${[...changed][0]} for one`,
      next: "run `clew index` again"
    })
  }
  return checks.length > 0
    ? checks
    : [
        {
          name: "origins",
          status: "ok",
          detail: `${count(seen.size, "file")} that documents came from are there, as they were indexed`
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
  next: "put it right there; the index is looked at once the configuration can be used"
})

/** The index and what it stands on. */
const look = Effect.fnUntraced(function* (
  database: string,
  options: { readonly deep: boolean; readonly fix: boolean }
) {
  const engine = yield* Engine
  const configuration: Check = {
    name: "configuration",
    status: "ok",
    detail: Option.match(yield* engine.configFile, {
      onNone: () => "no configuration file, so the defaults hold",
      onSome: (file) => `${file} can be used`
    })
  }
  const foundations = yield* engine.foundations
  const around = surroundings(database)
  const before = [configuration, ...foundations, ...around]
  const stands = !before.some(({ name, status }) => (name === "file" || name === "SQLite") && status === "fail")
  if (!stands) return { ...nothing, database, checks: before } satisfies Found
  const { checks, copy, fixed, of } = yield* Effect.gen(function* () {
    const { run } = yield* Doctor
    return { ...(yield* run(options)), of: yield* origins }
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
    summary: "Check the index and what is around it, and mend it",
    flags,
    examples: ["clew doctor", "clew doctor --deep --json", "clew doctor --fix"],
    details: [
      "Exits with 1 if a check fails; a warning is not a failure. docs/doctor.md says what each check finds.",
      "--fix copies the index first, makes postings, codes and missing vectors anew, mends counts and lists, and has the next clew index replace what is damaged. Where pages cannot be read, what can be goes into a new file."
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
        ...(copy === undefined ? [] : [`As it was: ${copy}`]),
        ...fixed.map((what) => `Mended: ${what}`),
        failed === 0 ? "Nothing is wrong" : `${count(failed, "check")} failed`
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
