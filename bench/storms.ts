import { spawn } from "node:child_process"
import * as Http from "node:http"
import { createInterface } from "node:readline"
import { WebSocket } from "ws"

/** Concurrent requests. */
const atOnce = 16

/** Most milliseconds until a client disconnects. */
const latest = 20

/** Runs it a number of times, a few at once. */
const many = async (times: number, run: (n: number) => Promise<void>): Promise<void> => {
  let next = 0
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < times) await run(next++)
    })
  )
}

const moment = (n: number) => new Promise((resolve) => setTimeout(resolve, (n * 7) % (latest + 1)))

/** Sends POST /query and disconnects. */
export const overHttp = (url: string, times: number): Promise<void> => {
  const agent = new Http.Agent({ keepAlive: false, maxSockets: atOnce })
  return many(
    times,
    (n) =>
      new Promise((resolve) => {
        const request = Http.request(`${url}/query`, {
          method: "POST",
          agent,
          headers: { "content-type": "application/json" }
        })
        request.on("error", () => {})
        request.on("response", (response) => response.on("error", () => {}).resume())
        request.once("close", () => resolve())
        request.end(JSON.stringify({ query: `cancelled ${n % 50}`, hybrid: true }))
        void moment(n).then(() => request.destroy())
      })
  )
}

/** Sends a search over a WebSocket and cuts the connection. */
export const overSockets = (url: string, times: number): Promise<void> =>
  many(
    times,
    (n) =>
      new Promise((resolve) => {
        const socket = new WebSocket(`${url.replace("http", "ws")}/ws`)
        socket.on("error", () => {})
        socket.once("close", () => resolve())
        socket.once("open", () => {
          socket.send(JSON.stringify({ type: "search", query: `cancelled ${n % 50}`, hybrid: true }))
          void moment(n).then(() => socket.terminate())
        })
      })
  )

/** An MCP client: calls by method, and cancels them. */
export const mcpClient = (command: string, args: ReadonlyArray<string>, env: NodeJS.ProcessEnv) => {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"], env })
  const waiting = new Map<number, (answer: string) => void>()
  createInterface(child.stdout).on("line", (line) => waiting.get(Number(/"id":(\d+)/.exec(line)?.[1]))?.(line))
  let lastId = 0
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
  const call = (method: string, params: object): { readonly id: number; readonly answer: Promise<string> } => {
    const id = ++lastId
    const answer = new Promise<string>((resolve) =>
      waiting.set(id, (line) => {
        waiting.delete(id)
        resolve(line)
      })
    )
    send({ id, method, params })
    return { id, answer }
  }
  const search = (query: string) => call("tools/call", { name: "search", arguments: { query } })
  return {
    initialize: async () => {
      await call("initialize", {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "storm", version: "1" }
      }).answer
      send({ method: "notifications/initialized" })
    },
    search,
    /** Sends searches and cancels them. */
    storm: (times: number) =>
      many(times, async (n) => {
        const { id } = search(`cancelled ${n % 50}`)
        await moment(n)
        send({ method: "notifications/cancelled", params: { requestId: id } })
        waiting.delete(id)
      }),
    end: () =>
      new Promise<number | null>((resolve) => {
        child.once("exit", resolve)
        child.stdin.end()
      })
  }
}

/** Starts `clew serve` on a free port. */
export const serveHttp = (args: ReadonlyArray<string>, env: NodeJS.ProcessEnv) => {
  const child = spawn(process.execPath, [...args, "--port", "0"], { stdio: ["ignore", "ignore", "pipe"], env })
  const url = new Promise<string>((resolve, reject) => {
    let said = ""
    child.once("exit", () => reject(new Error(said)))
    child.stderr.on("data", (data: Buffer) => {
      said += String(data)
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(said)
      if (found !== null) resolve(found[0])
    })
  })
  const end = () =>
    new Promise<number | null>((resolve) => {
      child.once("exit", resolve)
      child.kill("SIGTERM")
    })
  return { url, end, pid: child.pid }
}

/** The answers of POST /query, /stats and /ready within 30 s, each with its time, or the failure. */
export const probe = (url: string): Promise<ReadonlyArray<{ readonly ok: boolean; readonly said: string }>> => {
  const signal = AbortSignal.timeout(30_000)
  const began = performance.now()
  const ask = async (path: string, init: RequestInit = {}) => {
    const told = await fetch(`${url}${path}`, { ...init, signal }).then(
      async (response) => ({ ok: response.ok, what: `${response.status}${response.ok ? "" : await response.text()}` }),
      (error: unknown) => ({ ok: false, what: `${String(error)} ${String((error as Error).cause ?? "")}` })
    )
    return { ok: told.ok, said: `${path} ${told.what} in ${Math.round(performance.now() - began)} ms` }
  }
  const query = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: "tides", hybrid: true })
  }
  return Promise.all([ask("/query", query), ask("/stats"), ask("/ready")])
}

/** Whether POST /query, /stats and /ready answer. */
export const answers = async (url: string): Promise<boolean> => (await probe(url)).every(({ ok }) => ok)
