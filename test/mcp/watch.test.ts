import { assert, describe, it } from "@effect/vitest"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { Client, connect, type Json, temporaryFolder } from "./client.ts"

/** Asks until the first that is found is so. */
const find = async (client: Client, query: string, isIt: (found: Json) => boolean = () => true) => {
  for (;;) {
    const { structuredContent } = await client.call("search", { query })
    const [first] = structuredContent.results
    if (first !== undefined && isIt(first)) return first
    await setImmediate()
  }
}

describe("clew mcp --watch", () => {
  it("indexes files and follows them beside answering, whatever tools are offered", async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, "notes"))
    writeFileSync(join(folder, "notes", "tides.md"), "# Tides\n\nThe moon pulls the sea.\n")
    const client = await connect({ folder, args: ["--watch", "notes", "--filter", "search"] })
    assert.strictEqual((await find(client, "tides")).metadata.source, join(folder, "notes", "tides.md"))
    writeFileSync(join(folder, "notes", "bread.md"), "# Bread\n\nKnead the sourdough.\n")
    await find(client, "sourdough", ({ metadata }) => metadata.source === join(folder, "notes", "bread.md"))
    const { code } = await client.end()
    assert.strictEqual(code, 0, client.stderr)
  })

  it("follows what the configuration names, and nothing where it is read-only", async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, "clew.toml"), '[watch]\npaths = ["notes"]\n')
    mkdirSync(join(folder, "notes"))
    writeFileSync(join(folder, "notes", "tides.md"), "# Tides\n\nThe moon pulls the sea.\n")
    const reader = new Client({ folder, args: ["--read-only"] })
    assert.notInclude((await reader.initialize()).instructions, "followed")
    assert.include((await reader.call("search", { query: "tides" })).structuredContent.notice, "no index at")
    const client = new Client({ folder })
    assert.include(
      (await client.initialize()).instructions,
      `Changes of files are followed: "${join(folder, "notes")}"`
    )
    await find(client, "tides")
  })

  it("refuses to follow read-only", async () => {
    const client = new Client({ args: ["--read-only", "--watch", "notes"] })
    assert.strictEqual((await client.exited).code, 2)
    assert.include(client.stderr, "--read-only forbids")
  })
})
