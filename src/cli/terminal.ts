import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as readline from "node:readline"
import { createColors } from "picocolors"
import { exitCode, type ExitCode } from "./exit.ts"
import * as logLines from "../runtime/logLines.ts"
import { forTerminal, harmless } from "./harmless.ts"
import { wrapped } from "./wrap.ts"

export type Colors = ReturnType<typeof createColors>

/** What a stream can show: only terminals get colours and redrawing. */
export interface Face {
  readonly isTerminal: boolean
  readonly columns: number
  /** Change nothing without a terminal or if NO_COLOR is set. */
  readonly colors: Colors
}

export class InputUnreadable extends Data.TaggedError("InputUnreadable")<{ readonly message: string }> {}

/** A command's output: results to standard output, everything else to standard error. */
export class Terminal extends Context.Tag("clew/cli/Terminal")<
  Terminal,
  {
    readonly out: Face
    readonly err: Face
    /** Writes text and a line end to standard output; completes when the stream has taken them. */
    readonly print: (text: string) => Effect.Effect<void>
    /** Writes text to standard output as it is. */
    readonly write: (text: string) => Effect.Effect<void>
    /** Writes text and a line end to standard error. */
    readonly note: (text: string) => Effect.Effect<void>
    /** Replaces standard error's last line, for terminals. */
    readonly noteInPlace: (text: string) => Effect.Effect<void>
    /** Whether there is someone to ask. */
    readonly isInteractive: boolean
    /** True for yes; anything else, also the end of input, is no. */
    readonly confirm: (question: string) => Effect.Effect<boolean>
    /** All of standard input. */
    readonly input: Effect.Effect<Uint8Array, InputUnreadable>
    /** Completes when standard output takes no more: with 0 if its reader has gone, as with `| head`. */
    readonly outputGone: Effect.Effect<ExitCode>
    /** Whether `outputGone` has completed. */
    readonly isOutputGone: Effect.Effect<boolean>
  }
>() {}

/** The face of a stream: colours only for terminals that support them, and only without NO_COLOR. */
export const faceOf = (
  stream: { readonly isTTY?: boolean | undefined; readonly columns?: number | undefined },
  env: Readonly<Record<string, string | undefined>>
): Face => {
  const isTerminal = stream.isTTY === true && env["TERM"] !== "dumb"
  return {
    isTerminal,
    columns: stream.columns ?? 80,
    colors: createColors(isTerminal && (env["NO_COLOR"] ?? "") === "")
  }
}

const write = (stream: NodeJS.WriteStream, text: string): Effect.Effect<void> =>
  // A failed write completes too: the listener for the stream's errors handles it.
  Effect.async((resume) => {
    logLines.flush()
    stream.write(text, () => resume(Effect.void))
  })

const confirm = (question: string): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    const lines = readline.createInterface({ input: process.stdin, output: process.stderr })
    const unanswered = (effect: Effect.Effect<boolean>) => {
      process.stderr.write("\n")
      resume(effect)
    }
    lines.on("close", () => unanswered(Effect.succeed(false)))
    lines.on("SIGINT", () => unanswered(Effect.interrupt))
    lines.question(`${harmless(question)} [y/N] `, (answer) => {
      lines.removeAllListeners("close")
      lines.close()
      resume(Effect.succeed(/^\s*y(es)?\s*$/i.test(answer)))
    })
    return Effect.sync(() => {
      lines.removeAllListeners("close")
      lines.close()
    })
  })

const input: Effect.Effect<Uint8Array, InputUnreadable> = Effect.tryPromise({
  try: async () => {
    const parts: Array<Uint8Array> = []
    for await (const part of process.stdin) parts.push(part as Uint8Array)
    return Buffer.concat(parts)
  },
  catch: (error) => new InputUnreadable({ message: `standard input cannot be read: ${(error as Error).message}` })
})

/** The process's own streams. */
export const layer = (env: Readonly<Record<string, string | undefined>>): Layer.Layer<Terminal> =>
  Layer.effect(
    Terminal,
    Effect.gen(function* () {
      const { stderr, stdin, stdout } = process
      const gone = yield* Deferred.make<ExitCode>()
      stdout.on("error", (error: NodeJS.ErrnoException) => {
        if (error.code !== "EPIPE") stderr.write(`clew: standard output cannot be written: ${error.message}\n`)
        Deferred.unsafeDone(gone, Effect.succeed(error.code === "EPIPE" ? exitCode.done : exitCode.failed))
      })
      // Nowhere left to report it.
      stderr.on("error", () => {})
      const out = faceOf(stdout, env)
      const err = faceOf(stderr, env)
      // Files and pipes get the text unchanged.
      const result = (text: string) => (out.isTerminal ? forTerminal(text, out.colors.isColorSupported) : text)
      const said = (text: string) => forTerminal(text, err.colors.isColorSupported)
      return {
        out,
        err,
        print: (text) => write(stdout, `${result(text)}\n`),
        write: (text) => write(stdout, result(text)),
        note: (text) => write(stderr, `${said(wrapped(err, text))}\n`),
        noteInPlace: (text) => write(stderr, `\r\u001b[2K${said(text)}`),
        isInteractive: stdin.isTTY === true && stderr.isTTY === true,
        confirm,
        input,
        outputGone: Deferred.await(gone),
        isOutputGone: Deferred.isDone(gone)
      }
    })
  )
