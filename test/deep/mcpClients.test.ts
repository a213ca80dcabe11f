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

describe.skipIf(!existsSync("/proc/self/status"))("300 clients of one server", () => {
  it("are all answered, and come and go without taking more memory", async () => {
    assert.strictEqual((await box.run(["index", "notes"])).code, 0)
    const child = box.start(["mcp", "--http", "--port", "0"], {
      env: { CLEW_RATE_LIMIT_PER_SECOND: "1000000", CLEW_LOG_LEVEL: "info" }
    })
    const end = ended(child)
    try {
      const url = await listening(child)
      const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))![1]) / 1024
      /** A quarter of them say goodbye, the others just go. */
      const round = async () => {
        const clients = await Promise.all(
          Array.from({ length: atOnce }, async () => {
            const client = new Client({ name: "test", version: "1" })
            const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`))
            await client.connect(transport as never)
            return { client, transport }
          })
        )
        await Promise.all(
          clients.map(async ({ client }, at) => {
            const query = at % 2 === 0 ? "Where does the Rhine flow?" : "Who makes honey?"
            const { content } = await client.callTool({ name: "search", arguments: { query, top_k: 1 } })
            assert.include(JSON.stringify(content), at % 2 === 0 ? "flows north" : "make honey")
          })
        )
        await Promise.all(
          clients.map(async ({ client, transport }, at) => {
            if (at % 4 === 0) await transport.terminateSession()
            await client.close()
          })
        )
        return memory()
      }
      const taken: Array<number> = []
      for (let rounds = 0; rounds < 6; rounds++) taken.push(await round())
      // All that may stay of a client is its session, of which there are a thousand at most: after five rounds.
      const most = Math.max(...taken.slice(3, 5)) * 1.15
      // Garbage of one round may stay until the next; what leaks does not go.
      if (taken[5]! >= most) taken.push(await round())
      assert.isBelow(Math.min(...taken.slice(5)), most, taken.map(Math.round).join(", "))
    } finally {
      child.kill("SIGTERM")
      await end
    }
  }, 1_200_000)
})
