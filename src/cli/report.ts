import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { replaced } from "../runtime/installation.ts"
import { Place } from "./engine.ts"
import { exitCode, type ExitCode, Stop, UsageError } from "./exit.ts"
import { escaped, printable, Terminal } from "./terminal.ts"

/** An error as a problem object of RFC 9457; `--json` prints it on standard error. */
export const Problem = Schema.Struct({
  type: Schema.String,
  title: Schema.String,
  detail: Schema.String,
  /** The typed error's name; `Defect` for a fault of the program. */
  _tag: Schema.String
}).annotations({ identifier: "Problem" })

const problemOf = (cause: Cause.Cause<unknown>): typeof Problem.Type => {
  const error = Cause.squash(cause)
  const isExpected = Cause.failureOption(cause)._tag === "Some"
  const { _tag: named } = error as { readonly _tag?: unknown }
  const _tag = isExpected ? (typeof named === "string" ? named : "Error") : "Defect"
  const title = _tag.replace(/(?<=[a-z])(?=[A-Z])/g, " ").replace(/(?<=.)[A-Z]/g, (c) => c.toLowerCase())
  return { type: "about:blank", title, detail: error instanceof Error ? error.message : String(error), _tag }
}

const codes: Readonly<Record<string, ExitCode>> = {
  UsageError: exitCode.usage,
  ConfigError: exitCode.usage,
  NotFound: exitCode.nothingFound,
  EntityNotFound: exitCode.nothingFound,
  PassageNotFound: exitCode.nothingFound
}

const detailed = new Set<string | undefined>(["all", "trace", "debug"])

/** Prints the error on standard error, as JSON with `--json`; gives the exit code. */
export const report = Effect.fnUntraced(function* (cause: Cause.Cause<unknown>) {
  if (Cause.isInterruptedOnly(cause)) return exitCode.interrupted
  const error = Cause.squash(cause)
  if (error instanceof Stop) return error.code
  const { err, note } = yield* Terminal
  const { command, globals } = yield* Place
  const problem = problemOf(cause)
  const isDefect = problem._tag === "Defect"

  if (globals.json) yield* note(escaped(JSON.stringify(problem)))
  else {
    const isUsage = error instanceof UsageError
    yield* note(`${err.colors.red(`${isUsage ? command : "clew"}:`)} ${printable(problem.detail)}`)
    if (isUsage) yield* note(`See ${command} --help`)
    if (isDefect) yield* note(replaced() ?? "This is a bug in Clew; --log-level debug shows where it happened")
  }
  if (isDefect && detailed.has(globals.logLevel)) yield* note(Cause.pretty(cause, { renderErrorCause: true }))
  return codes[problem._tag] ?? exitCode.failed
})
