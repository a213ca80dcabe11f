import { assert, describe, it } from "@effect/vitest"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { answers, mcpClient, overHttp, overSockets, serveHttp } from "../../bench/storms.ts"

const bin = process.env["TEST_BIN"] ?? fileURLToPath(new URL("../../dist/bin.js", import.meta.url))

const within = async (use: (args: ReadonlyArray<string>, env: NodeJS.ProcessEnv) => Promise<void>) => {
  const folder = mkdtempSync(join(tmpdir(), "clew-storm-"))
  try {
    await use(["--db", join(folder, "index.db")], {
      PATH: process.env["PATH"],
      HOME: folder,
      CLEW_EMBEDDING_BACKEND: "builtin",
      CLEW_RATE_LIMIT_PER_SECOND: "1000000"
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

describe("clients that go away by the hundred", () => {
  it("leave serve to the next one", () =>
    within(async (args, env) => {
      const server = serveHttp([bin, "serve", ...args], env)
      const url = await server.url
      await fetch(`${url}/index`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ documents: [{ content: "The tides, cancelled." }] })
      })
      await overHttp(url, 600)
      assert.isTrue(await answers(url), "after HTTP")
      await overSockets(url, 300)
      assert.isTrue(await answers(url), "after WebSocket")
      await server.end()
    }))

  it("leave mcp to the next one", () =>
    within(async (args, env) => {
      const client = mcpClient(process.execPath, [bin, "mcp", ...args], env)
      await client.initialize()
      await client.storm(1000)
      assert.include(await client.search("tides").answer, '"result"')
      assert.strictEqual(await client.end(), 0)
    }))
})
