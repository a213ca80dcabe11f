import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import { createColors } from "picocolors"
import * as readline from "node:readline"
import type { Readable, Writable } from "node:stream"
import { buffer } from "node:stream/consumers"
import { stripVTControlCharacters } from "node:util"
import { exitCode, type ExitCode } from "./exit.ts"
import { wrapped } from "./wrap.ts"

/** Control characters in a document or a name could control the terminal, or turn round what follows. */
// oxlint-disable-next-line no-control-regex
export const printable = (text: string): string =>
  text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, " ")

/** The same, on one line. */
export const printableLine = (text: string): string => printable(text).replaceAll("\n", " ")

/** Escape sequences except those for colours, and control characters except tab and line feed. */
const unsafe =
  // oxlint-disable-next-line no-control-regex
  /\u001b(?!\[(?:[0-9]|2[2-9]|[349][0-79])m)|[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** Text made safe for a terminal; colours only if the terminal supports them. */
export const forTerminal = (text: string, colors: boolean): string =>
  (colors ? text : stripVTControlCharacters(text)).replace(unsafe, " ")

/** JSON with those control characters escaped that JSON itself allows. */
export const escaped = (json: string): string =>
  // oxlint-disable-next-line no-control-regex
  json.replace(
    /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
  )

/** Standard input, or another stream in its place. */
interface Keyboard extends Readable {
  readonly isTTY?: boolean
  readonly setRawMode?: (mode: boolean) => unknown
}

/** A process's streams, or others in their place, which have no process to end. */
interface Streams {
  readonly stdin: Keyboard
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number }
  readonly exit?: (code: number) => void
}

/** Ctrl-C and Ctrl-D of a terminal in raw mode. */
const ends = new Set(["\u0003", "\u0004"])

/**
 * The next key if standard input is a terminal, else its next character that is not white space; undefined at the end.
 */
const keysOf = Effect.fnUntraced(function* (stdin: Keyboard) {
  const queue = yield* Queue.unbounded<string | undefined>()
  const take = (text: string) => {
    for (const key of text) {
      if (ends.has(key)) Queue.unsafeOffer(queue, undefined)
      else if (key.trim() !== "") Queue.unsafeOffer(queue, key)
    }
  }
  const end = () => Queue.unsafeOffer(queue, undefined)
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      if (stdin.isTTY === true) stdin.setRawMode?.(true)
      stdin.setEncoding("utf8").on("data", take).on("end", end).on("error", end).resume()
    }),
    () =>
      Effect.sync(() => {
        stdin.off("data", take).off("end", end).off("error", end).pause()
        if (stdin.isTTY === true) stdin.setRawMode?.(false)
      })
  )
  return Queue.take(queue)
})

export type Colors = ReturnType<typeof createColors>

/** What a stream can show: only terminals get colours and redrawing. */
export interface Face {
  readonly isTerminal: boolean
  readonly columns: number
  /** Change nothing without a terminal or if NO_COLOR is set. */
  readonly colors: Colors
}

class InputUnreadable extends Data.TaggedError("InputUnreadable")<{ readonly message: string }> {}

/** The log's way to standard error. */
interface LogLines {
  /** Writes a line after the work of this turn, or at once with all that wait. */
  readonly add: (line: string, immediately: boolean) => void
  /** Writes what waits; call it before writing to standard error by other means, so that the order holds. */
  readonly flush: () => void
}

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
    readonly log: LogLines
    /** Whether there is someone to ask. */
    readonly isInteractive: boolean
    /** True for yes; anything else, also the end of input, is no. */
    readonly confirm: (question: string) => Effect.Effect<boolean>
    /** The streams as they are, for what speaks a protocol of its own on them. */
    readonly streams: Streams
    /** All of standard input. */
    readonly input: Effect.Effect<Uint8Array, InputUnreadable>
    /** Standard input key by key, as long as the scope is open: the next one, undefined at the end. */
    readonly keys: Effect.Effect<Effect.Effect<string | undefined>, never, Scope.Scope>
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

const confirm = (question: string, { stdin, stderr }: Streams): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    const lines = readline.createInterface({ input: stdin, output: stderr })
    const unanswered = (effect: Effect.Effect<boolean>) => {
      stderr.write("\n")
      resume(effect)
    }
    lines.on("close", () => unanswered(Effect.succeed(false)))
    lines.on("SIGINT", () => unanswered(Effect.interrupt))
    // In the foreground again after Ctrl-Z: without this, no key arrives any more.
    lines.on("SIGCONT", () => lines.resume())
    lines.question(`${printable(question)} [y/N] `, (answer) => {
      lines.removeAllListeners("close")
      lines.close()
      resume(Effect.succeed(/^\s*y(es)?\s*$/i.test(answer)))
    })
    return Effect.sync(() => {
      lines.removeAllListeners("close")
      lines.close()
    })
  })

const readAll = (stdin: Readable): Effect.Effect<Uint8Array, InputUnreadable> =>
  Effect.tryPromise({
    try: () => buffer(stdin),
    catch: (error) => new InputUnreadable({ message: `standard input cannot be read: ${(error as Error).message}` })
  })

/** Characters of the log that wait at most; more are written at once. */
const maxWaiting = 65_536

/** Log lines wait for the end of the turn, since the write blocks. */
export const logTo = (stream: Pick<Writable, "write">): LogLines => {
  let waiting = ""
  const flush = (): void => {
    const text = waiting
    waiting = ""
    if (text !== "") stream.write(text)
  }
  return {
    flush,
    add: (line, immediately) => {
      if (waiting === "") setImmediate(flush)
      waiting += `${line}\n`
      if (immediately || waiting.length > maxWaiting) flush()
    }
  }
}

/** A terminal on these streams. */
export const layer = (
  env: Readonly<Record<string, string | undefined>>,
  streams: Streams = process
): Layer.Layer<Terminal> =>
  Layer.scoped(
    Terminal,
    Effect.gen(function* () {
      const { stderr, stdin, stdout } = streams
      const gone = yield* Deferred.make<ExitCode>()
      stdout.once("error", (error: NodeJS.ErrnoException) => {
        if (error.code !== "EPIPE") stderr.write(`clew: standard output cannot be written: ${error.message}\n`)
        Deferred.unsafeDone(gone, Effect.succeed(error.code === "EPIPE" ? exitCode.done : exitCode.failed))
      })
      // Each further write fails too.
      stdout.on("error", () => {})
      // Nowhere left to report it.
      stderr.on("error", () => {})
      const log = logTo(stderr)
      const { flush } = log
      // Also where the process exits without waiting for its fibers.
      if (streams === process) process.once("exit", flush)
      yield* Effect.addFinalizer(() => Effect.sync(flush))
      const write = (stream: Writable, text: string): Effect.Effect<void> =>
        // A failed write completes too: the listener for the stream's errors handles it.
        Effect.async((resume) => {
          flush()
          stream.write(text, () => resume(Effect.void))
        })
      const out = faceOf(stdout, env)
      const err = faceOf(stderr, env)
      // Files and pipes get the text unchanged.
      const result = (text: string) => (out.isTerminal ? forTerminal(text, out.colors.isColorSupported) : text)
      const said = (text: string) => forTerminal(text, err.colors.isColorSupported)
      return {
        out,
        err,
        log,
        print: (text) => write(stdout, `${result(text)}\n`),
        write: (text) => write(stdout, result(text)),
        note: (text) => write(stderr, `${said(wrapped(err, text))}\n`),
        noteInPlace: (text) => write(stderr, `\r\u001b[2K${said(text)}`),
        isInteractive: stdin.isTTY === true && stderr.isTTY === true,
        confirm: (question) => confirm(question, streams),
        streams,
        input: readAll(stdin),
        keys: keysOf(stdin),
        outputGone: Deferred.await(gone),
        isOutputGone: Deferred.isDone(gone)
      }
    })
  )
