import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { exitCode, type ExitCode, Stop } from "./exit.ts"
import { escaped, harmless } from "./harmless.ts"
import { Place } from "./place.ts"
import { problemOf } from "./problem.ts"
import { Terminal } from "./terminal.ts"
import { UsageError } from "./UsageError.ts"

const codes: Readonly<Record<string, ExitCode>> = {
  UsageError: exitCode.usage,
  ConfigError: exitCode.usage,
  EntityNotFound: exitCode.nothingFound
}

const codeOf = (tag: string): ExitCode => codes[tag] ?? exitCode.failed

const detailed = new Set<string | undefined>(["all", "trace", "debug"])

/** Prints the error on standard error, as JSON with `--json`; gives the exit code. */
export const report = Effect.fnUntraced(function* (cause: Cause.Cause<unknown>) {
  if (Cause.isInterruptedOnly(cause)) return exitCode.interrupted
  const error = Cause.squash(cause)
  if (error instanceof Stop) return error.code
  const { err, note } = yield* Terminal
  const { globals } = yield* Place
  const problem = problemOf(cause)
  const isDefect = problem._tag === "Defect"

  if (globals.json) yield* note(escaped(JSON.stringify(problem)))
  else {
    const name = error instanceof UsageError ? error.command : "clew"
    yield* note(`${err.colors.red(`${name}:`)} ${harmless(problem.detail)}`)
    if (error instanceof UsageError) yield* note(`See ${error.command} --help`)
    if (isDefect) yield* note("This is a bug in Clew; --log-level debug shows where it happened")
  }
  if (isDefect && detailed.has(globals.logLevel)) yield* note(Cause.pretty(cause, { renderErrorCause: true }))
  return codeOf(problem._tag)
})
