import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { existsSync, readFileSync } from "node:fs"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { ended, Sandbox, listening } from "../cli/program/sandbox.ts"

let box: Sandbox
beforeEach(() => {
  box = new Sandbox({ "notes/a.md": "# Rivers\n\nThe Rhine flows north.", "notes/b.md": "# Bees\n\nBees make honey." })
})
afterEach(() => box.remove())

const atOnce = 300
const mostSessions = 1000

/** One client in so many is the SDK's; the others send the same messages for a quarter of its time. */
const official = 30

interface Connected {
  readonly search: (query: string) => Promise<string>
  readonly terminate: () => Promise<void>
  readonly leave: () => Promise<void>
}

const withSdk = async (url: string): Promise<Connected> => {
  const client = new Client({ name: "test", version: "1" })
  const transport = new StreamableHTTPClientTransport(new URL(url))
  await client.connect(transport as never)
  return {
    search: async (query) => JSON.stringify(await client.callTool({ name: "search", arguments: { query, top_k: 1 } })),
    terminate: () => transport.terminateSession(),
    leave: () => client.close()
  }
}

const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" }
const post = (url: string, message: object, more: object = {}) =>
  fetch(url, {
    method: "POST",
    headers: { ...headers, ...more },
    body: JSON.stringify({ jsonrpc: "2.0", ...message })
  })

/** Begins a session, and returns the header that names it. */
const opened = async (url: string) => {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
  const response = await post(url, { id: 0, method: "initialize", params })
  assert.include(await response.text(), '"serverInfo"')
  return { "mcp-session-id": response.headers.get("mcp-session-id")!, "mcp-protocol-version": "2025-11-25" }
}

const plain = async (url: string): Promise<Connected> => {
  const session = await opened(url)
  await (await post(url, { method: "notifications/initialized" }, session)).text()
  const connection = new AbortController()
  await fetch(url, { headers: { ...headers, ...session }, signal: connection.signal })
  return {
    search: async (query) => {
      const params = { name: "search", arguments: { query, top_k: 1 } }
      return (await post(url, { id: 1, method: "tools/call", params }, session)).text()
    },
    terminate: async () => void (await (await fetch(url, { method: "DELETE", headers: session })).text()),
    leave: async () => connection.abort()
  }
}

describe.skipIf(!existsSync("/proc/self/status"))(`${atOnce} clients of one server`, () => {
  it("are all answered, and come and go without taking more memory", async () => {
    assert.strictEqual((await box.run(["index", "notes"])).code, 0)
    const child = box.start(["mcp", "--http", "--port", "0"], {
      env: { CLEW_RATE_LIMIT_PER_SECOND: "1000000", CLEW_LOG_LEVEL: "info" }
    })
    const end = ended(child)
    try {
      const url = `${await listening(child)}/mcp`
      const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))![1]) / 1024
      const isOpen = async (session: object) => {
        const { status } = await post(url, { id: 1, method: "ping" }, session)
        assert.include([200, 404], status)
        return status === 200
      }
      // All that may stay of a client is its session, of which there are a thousand at most: here from the start.
      const sessions: Array<object> = []
      while (sessions.length < mostSessions)
        sessions.push(...(await Promise.all(Array.from({ length: mostSessions / 5 }, () => opened(url)))))
      assert.isTrue(await isOpen(sessions[0]!))
      await opened(url)
      assert.deepStrictEqual(await Promise.all(sessions.slice(0, 3).map(isOpen)), [true, false, true])
      /** A quarter of them say goodbye, the others just go. */
      const round = async () => {
        const clients = await Promise.all(
          Array.from({ length: atOnce }, (_, at) => (at % official === 0 ? withSdk : plain)(url))
        )
        await Promise.all(
          clients.map(async ({ search }, at) => {
            const answer = await search(at % 2 === 0 ? "Where does the Rhine flow?" : "Who makes honey?")
            assert.include(answer, at % 2 === 0 ? "flows north" : "make honey")
          })
        )
        await Promise.all(
          clients.map(async ({ leave, terminate }, at) => {
            if (at % 4 === 0) await terminate()
            await leave()
          })
        )
        return memory()
      }
      const taken: Array<number> = []
      for (let rounds = 0; rounds < 3; rounds++) taken.push(await round())
      const most = Math.max(...taken.slice(0, 2)) * 1.15
      // Garbage of one round may stay until the next; what leaks does not go.
      if (taken[2]! >= most) taken.push(await round())
      assert.isBelow(Math.min(...taken.slice(2)), most, taken.map(Math.round).join(", "))
    } finally {
      child.kill("SIGTERM")
      await end
    }
  }, 1_200_000)
})
