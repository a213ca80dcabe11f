import * as Data from "effect/Data"
import { inWords } from "../files/Disk.ts"

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

/** Ends a command with an exit code; its messages are already printed. */
export class Stop extends Data.TaggedError("Stop")<{ readonly code: ExitCode }> {}

export const stop = (code: Exclude<ExitCode, 0>) => new Stop({ code })

/** The command line is invalid; the message says why. */
export class UsageError extends Data.TaggedError("UsageError")<{ readonly message: string }> {}

export const usage = (message: string) => new UsageError({ message })

/** What a command was to show is not there, or not the only one of its name; the message says what is. */
export class NotFound extends Data.TaggedError("NotFound")<{ readonly message: string }> {}

export const notFound = (message: string) => new NotFound({ message })

/** A file given to a command cannot be read or written, although the command line is valid. */
export class FileUnusable extends Data.TaggedError("FileUnusable")<{ readonly message: string }> {}

/** That a file cannot be read or written, and why. */
export const cannot = (what: "read" | "write", file: string) => (error: unknown) => {
  const { code = "", message } = error as NodeJS.ErrnoException
  const isHomeless = what === "write" && code === "ENOENT"
  const why = isHomeless ? "its folder does not exist; make it first" : inWords({ code, detail: message })
  return new FileUnusable({ message: `cannot ${what} ${file}: ${why}` })
}

/** A client's configuration file was left as it is; the message says why, and what to do. */
export class Unwritable extends Data.TaggedError("Unwritable")<{ readonly message: string }> {}
