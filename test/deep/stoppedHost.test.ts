import { assert, describe, it } from "@effect/vitest"
import { bread, start, startWith, endClients, sea, temporaryFolder } from "../mcp/client.ts"

describe.skipIf(process.platform !== "linux")("a process of clew mcp whose engine does not answer", () => {
  it("goes on with one of its own, and says that nobody knows of a write", async () => {
    const folder = temporaryFolder()
    const first = await startWith([sea, bread], { folder })
    const second = await start({ folder })
    const search = async () =>
      (await second.call("search", { query: "tides" })).structuredContent.results[0].metadata.source
    try {
      assert.strictEqual(await search(), "docs/sea.md")
      first.child.kill("SIGSTOP")
      const [read, write] = await Promise.all([
        search(),
        second.callError("index_documents", { documents: [{ content: "Perhaps." }] })
      ])
      assert.strictEqual(read, "docs/sea.md")
      assert.include(write.message, "whether it was done is unknown")
    } finally {
      first.child.kill("SIGKILL")
      await endClients()
    }
  })
})
