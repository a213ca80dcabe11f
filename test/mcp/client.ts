import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** The built program. */
export const bin = process.env["TEST_BIN"] ?? fileURLToPath(new URL("../../dist/bin.js", import.meta.url))

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
  readonly nodeArgs?: ReadonlyArray<string>
  readonly folder?: string
}

/** `clew mcp` behind real pipes, seen as raw lines: what a client library would hide is what is tested. */
export class Client {
  readonly child: ChildProcessWithoutNullStreams
  readonly folder: string
  /** Every line on standard output, as it came. */
  readonly lines: Array<string> = []
  stderr = ""
  private rest = ""
  private lastId = 0
  private waiting: Array<() => void> = []
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null; readonly at: number }>

  constructor({ args = [], env = {}, folder = temporaryFolder(), nodeArgs = [] }: StartOptions = {}) {
    this.folder = folder
    this.child = spawn(process.execPath, [...nodeArgs, bin, "mcp", "--db", join(folder, "index.db"), ...args], {
      cwd: folder,
      env: cleanEnv(folder, { CLEW_EMBEDDING_BACKEND: "builtin", ...env }),
      stdio: "pipe"
    })
    this.child.stdin.on("error", () => {})
    this.child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const parts = (this.rest + text).split("\n")
      this.rest = parts.pop() ?? ""
      this.lines.push(...parts)
      this.wake()
    })
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => (this.stderr += text))
    this.exited = new Promise((resolve) =>
      this.child.once("close", (code, signal) => {
        resolve({ code, signal, at: Date.now() })
        this.wake()
      })
    )
    clients.push(this)
  }

  private wake() {
    for (const resolve of this.waiting.splice(0)) resolve()
  }

  write(data: string | Buffer): void {
    this.child.stdin.write(data)
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
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`the server ended with ${this.child.exitCode ?? this.child.signalCode}:\n${this.stderr}`)
      }
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

  /** Closes its input; the exit code, and how long it took. */
  async end(): Promise<{ readonly code: number | null; readonly signal: string | null; readonly ms: number }> {
    const started = Date.now()
    this.child.stdin.end()
    const { at, code, signal } = await this.exited
    return { code, signal, ms: at - started }
  }

  async kill(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill("SIGKILL")
    await this.exited
  }
}

/** A server that is past its greeting. */
export const connect = async (options: StartOptions = {}): Promise<Client> => {
  const client = new Client(options)
  await client.initialize()
  return client
}

export const sea = {
  content:
    "# Tides\n\nThe moon pulls the sea, and tides rise twice a day.\n\n# Wind\n\nWind comes from pressure differences.\n",
  metadata: { source: "docs/sea.md", title: "Sea", year: 2020 }
}
export const bread = { content: "Bread needs flour, water, salt and time.", metadata: { source: "notes/bread.txt" } }

export const connectWith = async (documents: ReadonlyArray<unknown>, options: StartOptions = {}): Promise<Client> => {
  const client = await connect(options)
  await client.call("index_documents", { documents })
  return client
}
