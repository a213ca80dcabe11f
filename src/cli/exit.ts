import * as Data from "effect/Data"

/** The process's exit codes. */
export const exitCode = {
  done: 0,
  failed: 1,
  /** The command line or the configuration is invalid. */
  usage: 2,
  nothingFound: 3,
  /** Quality is below the required value. */
  below: 4,
  interrupted: 130
} as const
export type ExitCode = (typeof exitCode)[keyof typeof exitCode]

/** The exit code after a signal, as a shell names it, unless a command sets another. */
export const ending: { bySignal?: ExitCode } = {}

/** Ends a command with an exit code; its messages are already printed. */
export class Stop extends Data.TaggedError("Stop")<{ readonly code: ExitCode }> {}

export const stop = (code: Exclude<ExitCode, 0>) => new Stop({ code })
