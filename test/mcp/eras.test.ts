import { Client as SecondClient } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { assert, describe, it } from "@effect/vitest"
import { join } from "node:path"
import { bin, cleanEnv, Client, connectWith, sea, secondEra } from "./client.ts"

const search = { name: "search", arguments: { query: "tides", top_k: 1 } }

describe("the second era on standard input", () => {
  it("gives the official client the same as the first", async () => {
    const first = await connectWith([sea])
    const client = new SecondClient({ name: "t", version: "1" }, { versionNegotiation: { mode: "auto" } })
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [bin, "mcp", "--db", join(first.folder, "index.db")],
        env: cleanEnv(first.folder, { CLEW_EMBEDDING_BACKEND: "builtin" }) as Record<string, string>
      })
    )
    try {
      assert.strictEqual(client.getNegotiatedProtocolVersion(), "2026-07-28")
      assert.deepStrictEqual(
        (await client.listTools()).tools.map(({ name }) => name),
        (await first.result("tools/list")).tools.map(({ name }: { name: string }) => name)
      )
      assert.deepStrictEqual(
        (await client.callTool(search)).content,
        (await first.call("search", search.arguments)).content
      )
    } finally {
      await client.close()
    }
  })

  it("needs no greeting, answers in order of asking what it can, and both eras on one connection", async () => {
    const client = new Client()
    const from = client.lines.length
    for (const id of ["a", 0]) {
      client.send({ jsonrpc: "2.0", id, method: "tools/list", params: { _meta: secondEra } })
    }
    const listed = await client.find(({ id }) => id === 0, from)
    assert.strictEqual(listed.result.resultType, "complete")
    assert.isAbove(listed.result.ttlMs, 0)
    await client.find(({ id }) => id === "a", from)
    await client.initialize()
    const [old] = (await client.result("tools/list")).tools
    assert.deepStrictEqual(listed.result.tools[0], old)
    const { code, message } = await client.error("tools/call", { _meta: secondEra, name: "serch" })
    assert.strictEqual(code, -32602)
    assert.include(message, "search")
    const other = await new Client().error("tools/list", {
      _meta: { ...secondEra, "io.modelcontextprotocol/protocolVersion": "2027-01-01" }
    })
    assert.strictEqual(other.code, -32022)
    assert.deepStrictEqual(other.data.supported, ["2026-07-28"])
    assert.strictEqual((await client.error("ping", { _meta: secondEra })).code, -32601)
    assert.strictEqual((await client.end()).code, 0)
  })

  it("ends with its input although a client listens, under the client's own id", async () => {
    const client = new Client()
    client.send({
      jsonrpc: "2.0",
      id: "mine",
      method: "subscriptions/listen",
      params: { _meta: secondEra, notifications: { toolsListChanged: true } }
    })
    const acknowledged = await client.find(({ method }) => method === "notifications/subscriptions/acknowledged")
    assert.strictEqual(acknowledged.params._meta["io.modelcontextprotocol/subscriptionId"], "mine")
    assert.strictEqual((await client.end()).code, 0)
  })
})
