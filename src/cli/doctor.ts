import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Doctor } from "../Doctor.ts"
import { Check } from "../model/Check.ts"
import { StoreUnavailable } from "../Store.ts"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import { exitCode, stop } from "./exit.ts"
import * as Flag from "./flag.ts"
import { count, printResult } from "./output.ts"
import { gone, surroundings } from "./surroundings.ts"
import { Terminal } from "./terminal.ts"

/** What `doctor --json` prints. */
export const DoctorReport = Schema.Struct({
  ok: Schema.Boolean,
  database: Schema.String,
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

/** Documents whose files are gone: nothing is wrong with them, but they will not be indexed again. */
const stale = Effect.gen(function* () {
  const { origins } = yield* Doctor
  let after = ""
  let total = 0
  const lost: Array<string> = []
  for (;;) {
    const some = yield* origins(after, most)
    const last = some.at(-1)
    if (last === undefined) break
    after = last
    total += some.length
    lost.push(...gone(some))
  }
  const check: Check =
    lost.length === 0
      ? { name: "origins", status: "ok", detail: `${count(total, "file")} that documents came from are there` }
      : {
          name: "origins",
          status: "warn",
          detail: `${count(lost.length, "file")} of ${total} are gone, ${lost[0]} for one`,
          next: "take their documents out with `clew index --prune FOLDER` or `clew delete`"
        }
  return [check]
}).pipe(Effect.catchAll(() => Effect.succeed<ReadonlyArray<Check>>([])))

export const doctor = define(
  {
    name: "doctor",
    summary: "Check the index and what is around it, and mend it",
    flags,
    examples: ["clew doctor", "clew doctor --deep --json", "clew doctor --fix"],
    details: [
      "Exits with 1 where a check fails; a warning alone exits with 0. docs/doctor.md says what each check finds.",
      "--fix copies the index first, makes postings, codes and missing vectors anew, mends counts and lists, and has the next clew index replace what is damaged."
    ]
  },
  ({ deep, fix }) =>
    Effect.gen(function* () {
      const engine = yield* Engine
      const { store } = yield* engine.settings
      const around = surroundings(store.path)
      const opens = !around.some(({ name, status }) => name === "file" && status === "fail")
      const { checks, copy, fixed, origins } = opens
        ? yield* Effect.gen(function* () {
            const { run } = yield* Doctor
            return { ...(yield* run({ deep, fix })), origins: yield* stale }
          }).pipe(
            Effect.provide(engine.doctor),
            Effect.catchIf(
              (error) => error instanceof StoreUnavailable,
              ({ reason }) =>
                Effect.succeed({
                  checks: [{ name: "file", status: "fail", detail: reason }] satisfies ReadonlyArray<Check>,
                  copy: undefined,
                  fixed: [],
                  origins: []
                })
            )
          )
        : { checks: [], copy: undefined, fixed: [], origins: [] }
      const all: ReadonlyArray<Check> = [...around, ...checks, ...origins]
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
        { ok: failed === 0, database: store.path, checks: all, fixed, ...(copy === undefined ? {} : { copy }) },
        Effect.succeed(text)
      )
      if (failed > 0) yield* stop(exitCode.failed)
    })
)
