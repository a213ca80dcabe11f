import * as Data from "effect/Data"

/** What the process's exit code says. */
export const exitCode = {
  done: 0,
  failed: 1,
  /** The command line or the configuration cannot be understood. */
  usage: 2,
  nothingFound: 3,
  /** Quality is below what was asked for. */
  below: 4,
  interrupted: 130
} as const
export type ExitCode = (typeof exitCode)[keyof typeof exitCode]

/** What the end by a signal says: unless a command is ended in no other way, as a shell names it. */
export const ending: { bySignal?: ExitCode } = {}

/** Ends a command with a code; what there was to say has been said. */
export class Stop extends Data.TaggedError("Stop")<{ readonly code: ExitCode }> {}

export const stop = (code: Exclude<ExitCode, 0>) => new Stop({ code })
