import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { assert } from "vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { PassThrough, Readable, Writable } from "node:stream"
import { finished } from "node:stream/promises"
import { fileURLToPath } from "node:url"
import { main } from "../../../src/cli/index.ts"
import { layer } from "../../../src/cli/terminal.ts"
import { Spawning } from "../../../src/Store/threads/Thread.ts"
import { spawnHere } from "../../Store/threads/here.ts"

export const program = fileURLToPath(new URL("../../../dist/bin.js", import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Options {
  readonly input?: string
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** What time it is to the program in this process. */
  readonly clock?: Clock.Clock
}

/** The program from its source in this process, with these streams, up to its exit code. */
export const inProcess = (
  place: Omit<Parameters<typeof main>[0], "script">,
  streams: NonNullable<Parameters<typeof layer>[1]>
) =>
  Effect.consoleWith((console) =>
    Effect.withConsole(main({ ...place, script: program }).program, {
      ...console,
      unsafe: { ...console.unsafe, error: (...parts) => void streams.stderr.write(`${parts.join(" ")}\n`) }
    })
  ).pipe(Effect.provide(layer(place.env, streams)), Effect.provideService(Spawning, spawnHere))

/** Runs the program from its source in this process, with streams of its own. */
export const run = async (
  place: Parameters<typeof inProcess>[0],
  input = "",
  clock: Clock.Clock = Clock.make()
): Promise<Ended> => {
  const said = { stdout: "", stderr: "" }
  const into = (name: keyof typeof said) =>
    new Writable({ write: (text, _, done) => ((said[name] += String(text)), done()) })
  const streams = { stdin: Readable.from([Buffer.from(input)]), stdout: into("stdout"), stderr: into("stderr") }
  const exit = await Effect.runPromiseExit(Effect.withClock(inProcess(place, streams), clock))
  return { code: Exit.getOrElse(exit, () => 130), ...said }
}

/** A program that runs, seen from outside. */
export interface Running {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Once it has ended and its output is read. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>
  readonly kill: () => void
}

/** Starts the program from its source in this process. */
export const startHere = (place: Parameters<typeof inProcess>[0]): Running => {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
  const fiber = Effect.runFork(inProcess(place, streams))
  const ended = async () => {
    const exit = await Effect.runPromise(Fiber.await(fiber))
    for (const stream of [streams.stdout, streams.stderr]) await finished(stream.end()).catch(() => {})
    return Exit.match(exit, {
      onFailure: () => ({ code: null, signal: "SIGKILL" }),
      onSuccess: (code) => ({ code, signal: null })
    })
  }
  return { ...streams, ended: ended(), kill: () => fiber.unsafeInterruptAsFork(fiber.id()) }
}

/** A folder of its own with a home and files, in which the built program runs as a user would run it. */
export class Sandbox {
  readonly folder = mkdtempSync(join(tmpdir(), "clew-cli-"))

  constructor(files: Readonly<Record<string, string>> = {}) {
    mkdirSync(this.path("home"))
    this.write(files)
  }

  path(...parts: ReadonlyArray<string>): string {
    return join(this.folder, ...parts)
  }

  write(files: Readonly<Record<string, string>>): void {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(this.path(name)), { recursive: true })
      writeFileSync(this.path(name), content)
    }
  }

  env(env: Options["env"] = {}) {
    return {
      PATH: process.env["PATH"],
      HOME: this.path("home"),
      XDG_DATA_HOME: this.path("home", "data"),
      XDG_CONFIG_HOME: this.path("home", "config"),
      CLEW_EMBEDDING_BACKEND: "builtin",
      ...env
    }
  }

  /** Starts the built program as a process of its own. */
  start(args: ReadonlyArray<string>, { cwd = this.folder, env }: Options = {}): ChildProcess {
    return spawn(process.execPath, [program, ...args], { cwd, env: this.env(env) })
  }

  /** Starts the program from its source in this process. */
  startHere(args: ReadonlyArray<string>, env?: Options["env"]): Running {
    const running = startHere({ argv: args, cwd: this.folder, env: this.env(env) })
    // It has ended once all of its output is read.
    running.stdout.resume()
    running.stderr.resume()
    return running
  }

  /** Runs the built program as a process of its own. */
  spawn(args: ReadonlyArray<string>, options: Options = {}): Promise<Ended> {
    const child = this.start(args, options)
    child.stdin?.end(options.input ?? "")
    return ended(child)
  }

  /** Runs the program from its source in this process. */
  run(args: ReadonlyArray<string>, { clock, cwd = this.folder, env, input }: Options = {}): Promise<Ended> {
    return run({ argv: args, cwd, env: this.env(env) }, input, clock)
  }

  /** Runs it, and wants this exit code, and this on standard error. */
  async ends(code: number, args: ReadonlyArray<string>, says?: string | RegExp, options: Options = {}): Promise<Ended> {
    const ended = await this.run(args, options)
    assert.strictEqual(ended.code, code, `${args.join(" ")}: ${ended.stderr}`)
    if (says !== undefined) (typeof says === "string" ? assert.include : assert.match)(ended.stderr, says as never)
    return ended
  }

  /** Runs it with `--json`, and wants it to end with 0 and to print what the schema says. */
  async json<A, I>(schema: Schema.Schema<A, I>, args: ReadonlyArray<string>, options: Options = {}): Promise<A> {
    const { code, stderr, stdout } = await this.run([...args, "--json"], options)
    assert.strictEqual(code, 0, stderr)
    return Schema.decodeUnknownSync(Schema.parseJson(schema), { onExcessProperty: "error" })(stdout)
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** What a process says until it ends. */
export const ended = (child: ChildProcess): Promise<Ended> =>
  new Promise((resolve, reject) => {
    let stdout = ""
    let stderr = ""
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text))
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr += text))
    child.on("error", reject)
    child.on("close", (code) => resolve({ code, stdout, stderr }))
  })

/** The address at which a started program listens. */
export const listening = ({ stderr }: { readonly stderr: Readable | null }): Promise<string> =>
  new Promise((resolve, reject) => {
    let log = ""
    stderr!.on("data", (chunk) => {
      log += String(chunk)
      const found = /Listening on (http:\/\/[^\s",]+)/.exec(log)
      if (found !== null) resolve(found[1]!)
    })
    stderr!.on("end", () => reject(new Error(`ended: ${log}`)))
  })
