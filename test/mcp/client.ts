import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { layerOf } from "../../src/App.ts"
import { Indexer } from "../../src/Indexer.ts"
import { DocumentInput } from "../../src/model/Document.ts"
import { program, type Running, startHere } from "../cli/program/sandbox.ts"

/** The built program. */
export const bin = process.env["TEST_BIN"] ?? program

// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any

const clients: Array<Client> = []
const folders: Array<string> = []

/** Ends the clients of a test and removes their folders. */
export const endClients = async (): Promise<void> => {
  await Promise.all(clients.splice(0).map((client) => client.kill()))
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
}

export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "clew-mcp-"))
  folders.push(folder)
  return folder
}

/** An environment in which nothing of the user's own is found. */
export const cleanEnv = (folder: string, extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => ({
  PATH: process.env["PATH"],
  HOME: folder,
  ...extra
})

export interface StartOptions {
  readonly args?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  readonly folder?: string
  /** The working directory; default: the folder. */
  readonly cwd?: string
}

/** What a message of the second era says of itself. */
export const secondEra = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {}
}

/** `clew mcp`, seen as raw lines: what a client library would hide is what is tested. */
export class Client {
  readonly folder: string
  /** Every line on standard output, as it came. */
  readonly lines: Array<string> = []
  stderr = ""
  private rest = ""
  private lastId = 0
  private waiting: Array<() => void> = []
  private hasEnded = false
  private readonly server: Running
  readonly exited: Running["ended"]

  constructor({ args = [], env = {}, folder = temporaryFolder(), cwd = folder }: StartOptions = {}, serve = startHere) {
    this.folder = folder
    this.server = serve({
      argv: ["mcp", "--db", join(folder, "index.db"), ...args],
      cwd,
      env: cleanEnv(folder, { CLEW_EMBEDDING_BACKEND: "builtin", ...env })
    })
    this.server.stdin.on("error", () => {})
    this.server.stdout.setEncoding("utf8").on("data", (text: string) => {
      const parts = (this.rest + text).split("\n")
      this.rest = parts.pop() ?? ""
      this.lines.push(...parts)
      this.wake()
    })
    this.server.stderr.setEncoding("utf8").on("data", (text: string) => (this.stderr += text))
    this.exited = this.server.ended.then((ended) => {
      this.hasEnded = true
      this.wake()
      return ended
    })
    clients.push(this)
  }

  private wake() {
    for (const resolve of this.waiting.splice(0)) resolve()
  }

  /** False if what is sent waits until more is read. */
  write(data: string | Buffer): boolean {
    return this.server.stdin.write(data)
  }

  drained(): Promise<void> {
    return new Promise((resolve) => this.server.stdin.once("drain", resolve))
  }

  send(message: unknown): void {
    this.write(`${JSON.stringify(message)}\n`)
  }

  /** The first message from line `from` on that fits. */
  async find(fits: (message: Json) => boolean, from = 0): Promise<Json> {
    for (let at = from; ;) {
      for (; at < this.lines.length; at++) {
        const message = JSON.parse(this.lines[at] as string)
        if (fits(message)) return message
      }
      if (this.hasEnded) throw new Error(`the server ended: ${JSON.stringify(await this.exited)}\n${this.stderr}`)
      await new Promise<void>((resolve) => this.waiting.push(resolve))
    }
  }

  /** The whole answer to a request. */
  request(method: string, params?: unknown, id: string | number = `r${++this.lastId}`): Promise<Json> {
    const from = this.lines.length
    this.send({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) })
    return this.find((message) => message.id === id, from)
  }

  async result(method: string, params?: unknown): Promise<Json> {
    const answer = await this.request(method, params)
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
    return answer.result
  }

  async error(
    method: string,
    params?: unknown
  ): Promise<{ readonly code: number; readonly message: string; readonly data?: Json }> {
    const answer = await this.request(method, params)
    if (answer.error === undefined) throw new Error(`${method} did not fail: ${JSON.stringify(answer.result)}`)
    return answer.error
  }

  /** Asks for a tool's work under this id, and waits for nothing. */
  ask(id: string | number, name: string, args: unknown, more: object = {}): void {
    this.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args, ...more } })
  }

  call(name: string, args: unknown = {}): Promise<Json> {
    return this.result("tools/call", { name, arguments: args })
  }

  callError(name: string, args: unknown = {}) {
    return this.error("tools/call", { name, arguments: args })
  }

  async initialize(protocolVersion = "2024-11-05"): Promise<Json> {
    const result = await this.result("initialize", {
      protocolVersion,
      capabilities: {},
      clientInfo: { name: "test", version: "1" }
    })
    this.send({ jsonrpc: "2.0", method: "notifications/initialized" })
    return result
  }

  /** Closes its input, and waits for its end. */
  end(): Running["ended"] {
    this.server.stdin.end()
    return this.exited
  }

  async kill(): Promise<void> {
    this.server.kill()
    await this.exited
  }
}

/** The sources that a search found, in its order. */
export const sourcesOf = (answer: Json): Array<string> => answer.results.map(({ metadata }: Json) => metadata.source)

/** The built program, as a process of its own behind real pipes. */
export class Program extends Client {
  readonly child: ChildProcessWithoutNullStreams

  constructor(options: StartOptions & { readonly nodeArgs?: ReadonlyArray<string>; readonly program?: string } = {}) {
    let child: ChildProcessWithoutNullStreams
    super(options, ({ argv, cwd, env }) => {
      const { stderr, stdin, stdout } = (child = spawn(
        process.execPath,
        [...(options.nodeArgs ?? []), options.program ?? bin, ...argv],
        {
          cwd,
          env,
          stdio: "pipe"
        }
      ))
      const ended = new Promise<Awaited<Running["ended"]>>((resolve) =>
        child.once("close", (code, signal) => resolve({ code, signal }))
      )
      return { stdin, stdout, stderr, ended, kill: () => child.kill("SIGKILL") }
    })
    this.child = child!
  }
}

/** A server that is past its greeting. */
export const connect = async (options: StartOptions = {}): Promise<Client> => {
  const client = new Client(options)
  await client.initialize()
  return client
}

export const start = async (options: ConstructorParameters<typeof Program>[0] = {}): Promise<Program> => {
  const client = new Program(options)
  await client.initialize()
  return client
}

export const sea = {
  content:
    "# Tides\n\nThe moon pulls the sea, and tides rise twice a day.\n\n# Wind\n\nWind comes from pressure differences.\n",
  metadata: { source: "docs/sea.md", title: "Sea", year: 2020 }
}
export const bread = { content: "Bread needs flour, water, salt and time.", metadata: { source: "notes/bread.txt" } }

/** The bytes of an index of such documents. */
const indices = new Map<string, Buffer>()

/** Makes it as a command does, which for so little starts no thread: a server does, and takes three times as long. */
const makeIndex = (path: string, documents: ReadonlyArray<unknown>) =>
  Effect.gen(function* () {
    const { index } = yield* Indexer
    yield* index(yield* Schema.decodeUnknown(Schema.Array(DocumentInput))(documents))
  }).pipe(Effect.provide(layerOf({ store: { path }, embedding: { backend: "builtin" } })))

/** A folder with an index of these documents, which a test may change. */
export const folderWith = async (documents: ReadonlyArray<unknown>): Promise<string> => {
  const path = join(temporaryFolder(), "index.db")
  const name = JSON.stringify(documents)
  const made = indices.get(name)
  if (made === undefined) {
    await Effect.runPromise(makeIndex(path, documents))
    indices.set(name, readFileSync(path))
  } else writeFileSync(path, made, { mode: 0o600 })
  return dirname(path)
}

/** A server on an index of these documents. */
export const connectWith = async (documents: ReadonlyArray<unknown>, options: StartOptions = {}): Promise<Client> => {
  if (Object.keys(options).length === 0) return connect({ folder: await folderWith(documents) })
  const client = await connect(options)
  await client.call("index_documents", { documents })
  return client
}

export const startWith = async (
  documents: ReadonlyArray<unknown>,
  options: Parameters<typeof start>[0] = {}
): Promise<Program> => {
  const client = await start(options)
  await client.call("index_documents", { documents })
  return client
}
