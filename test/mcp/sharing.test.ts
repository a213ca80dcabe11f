import { assert, describe, it } from "@effect/vitest"
import { mkdirSync, readdirSync, renameSync } from "node:fs"
import { join } from "node:path"
import { bread, connect, connectWith, sea, sourcesOf, temporaryFolder } from "./client.ts"

describe("several servers on one index", () => {
  it("see at their next call what one of them indexes, and wait for each other to write", async () => {
    const folder = temporaryFolder()
    const [writer, other, reader] = await Promise.all([
      connectWith([sea], { folder }),
      connect({ folder }),
      connect({ folder, args: ["--filter", "search,collection_info"] })
    ])
    const found = async (query: string) =>
      sourcesOf((await reader.call("search", { query, alpha: 0 })).structuredContent)
    assert.deepStrictEqual(await found("tides"), ["docs/sea.md"])

    const documents = (name: string) =>
      Array.from({ length: 50 }, (_, index) => ({
        content: `${name} number ${index}`,
        metadata: { source: `${name}/${index}` }
      }))
    await Promise.all([
      writer.call("index_documents", { documents: documents("zebrafish") }),
      other.call("index_documents", { documents: documents("quagga") })
    ])
    assert.strictEqual((await reader.call("collection_info")).structuredContent.documents, 101)

    await other.call("index_documents", { documents: [bread] })
    assert.deepStrictEqual(await found("flour"), ["notes/bread.txt"])
    await writer.call("index_documents", { documents: [{ ...bread, content: "Bread is gone; there is rye." }] })
    assert.deepStrictEqual(await found("flour"), [])
    assert.deepStrictEqual(await found("rye"), ["notes/bread.txt"])
  })

  it("say that the index was removed under them, and go on when it is back", async () => {
    const folder = temporaryFolder()
    const client = await connectWith([sea], { folder })
    const search = () => client.call("search", { query: "tides" }).catch((error: unknown) => String(error))
    assert.strictEqual((await client.call("search", { query: "tides" })).structuredContent.results.length, 1)
    const files = readdirSync(folder).filter((name) => name.startsWith("index.db"))
    assert.include(files, "index.db")
    mkdirSync(join(folder, "aside"))
    for (const name of files) renameSync(join(folder, name), join(folder, "aside", name))
    const told = JSON.stringify(await search())
    assert.include(told, "was removed while it was open")
    for (const name of files) renameSync(join(folder, "aside", name), join(folder, name))
    assert.strictEqual((await client.call("search", { query: "tides" })).structuredContent.results.length, 1)
  })
})
