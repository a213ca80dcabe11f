import { assert, describe, it } from "@effect/vitest"
import { copyFileSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { connect, type Json, sea, temporaryFolder } from "./client.ts"

const setUp = async (args: ReadonlyArray<string> = []) => {
  const folder = realpathSync(temporaryFolder())
  const notes = join(folder, "notes")
  mkdirSync(join(notes, "deep"), { recursive: true })
  mkdirSync(join(folder, "secret"))
  writeFileSync(join(notes, "tide.md"), "# Tide\n\nThe moon pulls the sea.\n")
  writeFileSync(join(notes, "deep", "bread.md"), "# Bread\n\nKnead the dough.\n")
  writeFileSync(join(folder, "secret", "key.md"), "# Key\n\nThe secret is sesame.\n")
  const client = await connect({ folder, args: ["--allow-write", notes, ...args] })
  return { client, folder, notes }
}

const sources = async (client: Awaited<ReturnType<typeof connect>>) =>
  (await client.call("list_sources")).structuredContent.sources.map(({ source }: Json) => source)

describe("tools that write within the user's folders", () => {
  it("are there only if the user names folders, and not in a read-only server", async () => {
    const { client, folder, notes } = await setUp()
    const namesOf = async (one: typeof client) =>
      (await one.result("tools/list")).tools.map(({ name }: Json) => name).slice(-3)
    assert.deepStrictEqual(await namesOf(client), ["index_paths", "sync", "delete_document"])
    const { tools } = await client.result("tools/list")
    for (const tool of tools.slice(-3)) assert.isFalse(tool.annotations.readOnlyHint)
    assert.include(tools.at(-3).description, JSON.stringify(notes))
    const without = await connect({ folder })
    assert.notIncludeMembers(await namesOf(without), ["index_paths", "sync", "delete_document"])
    assert.include((await without.callError("sync")).message, "there is no tool")
    const configured = await connect({ folder, env: { CLEW_SERVER_WRITE_PATHS: "notes" } })
    assert.include(await namesOf(configured), "sync")
    const readOnly = await connect({ folder, args: ["--read-only"], env: { CLEW_SERVER_WRITE_PATHS: "notes" } })
    assert.notInclude(await namesOf(readOnly), "sync")
  })

  it("index files and folders, tell how far they are, and what became of each", async () => {
    const { client, notes } = await setUp()
    const params = { name: "index_paths", arguments: { paths: [notes] }, _meta: { progressToken: "p" } }
    const { structuredContent } = await client.result("tools/call", params)
    assert.deepInclude(structuredContent, { created: 2, updated: 0, unchanged: 0, failed: [] })
    assert.match(structuredContent.indexed_at, /^20\d\d-/)
    assert.sameMembers(
      structuredContent.documents.map(({ source }: Json) => source),
      [join(notes, "tide.md"), join(notes, "deep", "bread.md")]
    )
    const progress = client.lines
      .map((line) => JSON.parse(line))
      .filter(({ method }) => method === "notifications/progress")
    assert.isNotEmpty(progress)
    assert.deepInclude(progress[0].params, { progressToken: "p" })
    assert.match(progress[0].params.message, /^Looked at \d+ documents?$/)
    const again = await client.call("index_paths", { paths: ["tide.md"] })
    assert.deepInclude(again.structuredContent, { created: 0, unchanged: 1, documents: [] })
    const found = await client.call("search", { query: "moon", top_k: 1 })
    assert.strictEqual(found.structuredContent.results[0].metadata.source, join(notes, "tide.md"))
  })

  it("say why they skip a file", async () => {
    const { client, notes } = await setUp()
    writeFileSync(join(notes, "blank.md"), "\n")
    writeFileSync(join(notes, "picture.txt"), Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"))
    const { structuredContent } = await client.call("index_paths", { paths: ["blank.md", "picture.txt"] })
    assert.match(structuredContent.notice, /; 2 files skipped \(1 without text, 1 binary \(image\/png\)\), 0 failed\./)
  })

  it("refuse what they do not know before they write", async () => {
    const { client, notes } = await setUp()
    assert.include(
      (await client.callError("index_paths", { paths: [notes], max_tokens: 1 })).message,
      "max_tokens is unknown"
    )
    assert.isEmpty(await sources(client))
  })

  it("give places of files that are not text, which the other tools take as search shows them", async () => {
    const { client, notes } = await setUp()
    const file = join(notes, "guide.pdf")
    copyFileSync(new URL("../fixtures/documents/guide.pdf", import.meta.url), file)
    await client.call("index_paths", { paths: [file] })
    const first = await client.call("similar", { source: `${file}:1`, top_k: 1 })
    const place = /source: (\S+#page=1)/.exec(first.content[0].text)![1]!
    const { structuredContent } = await client.call("similar", { source: place, top_k: 1 })
    assert.strictEqual(structuredContent.results[0].metadata.source, file)
    const page = (await client.call("get_document", { source: place })).structuredContent
    assert.include(page.text, "Keeping bees")
    assert.include((await client.callError("get_document", { source: `${file}#page=9999` })).message, "no such place")
    assert.include((await client.callError("get_document", { source: "giude.pdf:3" })).message, "similar: ")
  })

  it("name the lines of a page from its first to its last, and find what goes on between two passages", async () => {
    const { client, notes } = await setUp()
    const words = (about: string) => `<p>${`The ${about} is long,\n`.repeat(90)}and ends.</p>`
    writeFileSync(join(notes, "page.html"), `<h1>Ebb</h1>\n${words("ebb")}\n\n\n<h2>Flow</h2>\n${words("flow")}\n`)
    await client.call("index_paths", { paths: ["page.html"] })
    const of = async (part: object) => {
      const { structuredContent: found } = await client.call("get_document", { source: "page.html", ...part })
      return [found.start_line, found.end_line, /^(?:# )?(?:Ebb|The ebb)/.test(found.text), /flow/.test(found.text)]
    }
    assert.deepStrictEqual(await of({}), [1, 186, true, true])
    assert.deepStrictEqual(await of({ start_line: 1, end_line: 92 }), [1, 92, true, false])
    // Line 94 is blank.
    const [, last, isEbb] = await of({ start_line: 94, end_line: 94 })
    assert.deepStrictEqual([last, isEbb], [92, true])
  })

  it("refuse by its name whatever leads out of the folders", async () => {
    const { client, folder, notes } = await setUp()
    symlinkSync(join(folder, "secret"), join(notes, "way"))
    symlinkSync(join(folder, "secret", "key.md"), join(notes, "key.md"))
    for (const path of [
      join(folder, "secret"),
      join(folder, "secret", "key.md"),
      join(notes, "..", "secret", "key.md"),
      "../secret",
      join(notes, "way"),
      join(notes, "way", "key.md"),
      join(notes, "key.md"),
      `${notes}-other`,
      "/",
      "/etc/hostname"
    ]) {
      const { code, message } = await client.callError("index_paths", { paths: [notes, path] })
      assert.strictEqual(code, -32602)
      assert.include(message, `paths[1]: ${JSON.stringify(path)} is outside the folders`)
      assert.include(message, "--allow-write")
    }
    assert.include(
      (await client.callError("index_paths", { paths: ["none.md"] })).message,
      `there is no file or folder ${JSON.stringify(join(notes, "none.md"))}`
    )
    // Links that a folder contains are not followed out of it either.
    const { structuredContent } = await client.call("index_paths", { paths: [notes] })
    assert.strictEqual(structuredContent.created, 2)
    assert.notInclude((await sources(client)).join(), "key.md")
    // A folder may be named by a link; what it leads to counts.
    symlinkSync(notes, join(folder, "alias"))
    const aliased = await client.call("index_paths", { paths: [join(folder, "alias", "tide.md")] })
    assert.deepInclude(aliased.structuredContent, { created: 0, unchanged: 1 })
  })

  it("forget what is gone from a folder, although it was also indexed by itself", async () => {
    const { client, notes } = await setUp()
    await client.call("index_paths", { paths: [notes] })
    await client.call("index_paths", { paths: ["tide.md"] })
    assert.deepInclude((await client.call("sync")).structuredContent, { created: 0, unchanged: 2 })
    rmSync(join(notes, "tide.md"))
    const { content, structuredContent } = await client.call("sync")
    assert.deepInclude(structuredContent, { unchanged: 1, deleted_documents: 1 })
    assert.notInclude(content[0].text, "not there now")
    assert.lengthOf(await sources(client), 1)
  })

  it("keep what was indexed from a path that is gone itself, and name it", async () => {
    const { client, notes } = await setUp()
    const { tools } = await client.result("tools/list", {})
    assert.include(
      tools.find(({ name }: Json) => name === "index_paths").description,
      "from which relative paths count"
    )
    await client.call("index_paths", { paths: ["tide.md", "deep"] })
    rmSync(join(notes, "deep"), { recursive: true })
    const { content } = await client.call("sync")
    assert.include(content[0].text, `1 path that was indexed is not there now (${JSON.stringify(join(notes, "deep"))})`)
    assert.lengthOf(await sources(client), 2)
    await client.call("delete_document", { source: join(notes, "tide.md") })
    await client.call("delete_document", { source: join(notes, "deep", "bread.md") })
    const { content: after } = await client.call("sync")
    assert.include(after[0].text, "0 new")
    assert.include(after[0].text, JSON.stringify(join(notes, "deep")))
    assert.lengthOf(await sources(client), 0)
  })

  it("forget a path that was indexed by itself and is gone with its only document", async () => {
    const { client, notes } = await setUp()
    await client.call("index_paths", { paths: ["tide.md"] })
    rmSync(join(notes, "tide.md"))
    assert.include((await client.call("sync")).content[0].text, "not there now")
    await client.call("delete_document", { source: join(notes, "tide.md") })
    assert.include((await client.callError("sync")).message, "nothing was indexed")
  })

  it("bring the index up to date, and forget what is gone", async () => {
    const { client, notes } = await setUp()
    assert.include((await client.callError("sync")).message, "index_paths does that")
    writeFileSync(join(notes, "wind.md"), "# Wind\n\nWind fills the sails.\n")
    await client.call("index_paths", { paths: [notes] })
    writeFileSync(join(notes, "tide.md"), "# Tide\n\nThe tide turns twice a day, and the sea with it.\n")
    rmSync(join(notes, "deep"), { recursive: true })
    const { content, structuredContent } = await client.call("sync")
    assert.deepInclude(structuredContent, { created: 0, updated: 1, deleted_documents: 1, deleted_chunks: 1 })
    assert.include(content[0].text, "1 document with 1 passage removed")
    assert.sameMembers(await sources(client), [join(notes, "tide.md"), join(notes, "wind.md")])
    rmSync(join(notes, "tide.md"))
    rmSync(join(notes, "wind.md"))
    const held = await client.call("sync")
    assert.include(held.content[0].text, "clew update --prune")
    assert.lengthOf(await sources(client), 2)
  })

  it("delete a document by its whole source, and say how many passages went", async () => {
    const { client, folder, notes } = await setUp()
    await client.call("index_paths", { paths: [notes] })
    await client.call("index_documents", {
      documents: [sea, { content: "Sesame.", metadata: { source: join(folder, "secret", "key.md") } }]
    })
    const partial = await client.callError("delete_document", { source: "tide.md" })
    assert.include(partial.message, `give the whole source: ${JSON.stringify(join(notes, "tide.md"))}`)
    const outside = await client.callError("delete_document", { source: join(folder, "secret", "key.md") })
    assert.include(outside.message, "is outside the folders")
    const { content, structuredContent } = await client.call("delete_document", { source: join(notes, "tide.md") })
    assert.deepInclude(structuredContent, { source: join(notes, "tide.md"), deleted_chunks: 1 })
    assert.include(content[0].text, "with 1 passage from collection default")
    await client.call("delete_document", { source: "docs/sea.md" })
    assert.sameMembers(await sources(client), [join(notes, "deep", "bread.md"), join(folder, "secret", "key.md")])
    assert.include((await client.callError("delete_document", { source: "docs/sea.md" })).message, "no document has")
  })
})
