import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { CollectionsReport, DropReport } from "../../../src/cli/collections.ts"
import { ListReport } from "../../../src/cli/list.ts"
import { DeleteReport } from "../../../src/cli/delete.ts"
import { SearchResponse } from "../../../src/model/SearchResult.ts"
import { Stats } from "../../../src/model/Stats.ts"
import { library } from "./files.ts"
import { Sandbox } from "./sandbox.ts"

let box: Sandbox
beforeEach(async () => {
  box = new Sandbox(library)
  await box.ends(0, ["index", "docs"])
})
afterEach(() => box.remove())

describe("info", () => {
  it("prints the body of GET /stats with --json", async () => {
    const stats = await box.json(Stats, ["info"])
    assert.strictEqual(stats.documents, 5)
    assert.strictEqual(stats.collections, 1)
    assert.strictEqual(stats.embedding.dimensions, 256)
    assert.isAbove(stats.database_bytes, stats.posting_bytes)
    assert.isAbove(stats.posting_bytes, 0)
    assert.strictEqual(stats.code_bytes, 0)
  })

  it("names the index, the embedder and the configuration file", async () => {
    box.write({ "clew.toml": "[search]\ntop_k = 7\n" })
    const { stdout } = await box.run(["info"])
    assert.include(stdout, "home/data/clew/index.db")
    assert.match(stdout, /Documents +5\n/)
    assert.match(stdout, /Embedder +builtin /)
    assert.match(stdout, /Config +clew\.toml\n/)
  })
})

describe("delete", () => {
  it("deletes by source, relative to where you stand", async () => {
    const report = await box.json(DeleteReport, ["delete", "tides.md", "-y"], { cwd: box.path("docs") })
    assert.deepInclude(report, { deleted_documents: 1, not_found: [] })
    assert.isAbove(report.deleted_chunks, 0)
    assert.strictEqual((await box.json(Stats, ["info"])).documents, 4)
    const { code, stdout } = await box.run(["query", "spring tide", "--json"])
    // Only weak matches are left.
    assert.strictEqual(code, 3)
    const { results } = Schema.decodeUnknownSync(Schema.parseJson(SearchResponse))(stdout)
    assert.isFalse(results.some(({ metadata }) => metadata.source.endsWith("tides.md")))
  })

  it("deletes all that came from a file of many documents, or from a folder", async () => {
    box.write({
      "records.jsonl": '{"_id": "a", "text": "one"}\n{"_id": "b", "text": "two"}\n',
      "records.jsonl.md": "three"
    })
    await box.run(["index", "records.jsonl", "records.jsonl.md"])
    assert.strictEqual((await box.json(DeleteReport, ["delete", "records.jsonl", "-y"])).deleted_documents, 2)
    assert.strictEqual((await box.json(DeleteReport, ["delete", "docs", "-y"])).deleted_documents, 5)
    assert.strictEqual((await box.json(Stats, ["info"])).documents, 1)
    await box.ends(1, ["delete", "doc", "-y"])
  })

  it("forgets a file that was indexed by itself, also one that has no document any more", async () => {
    box.write({ "a.md": "One.", "b.md": "Two." })
    await box.ends(0, ["index", "a.md", "b.md"])
    const report = await box.json(DeleteReport, ["delete", "a.md", "-y"])
    assert.deepStrictEqual(report, { deleted_documents: 1, deleted_chunks: 1, not_found: [] })
    await box.ends(0, ["delete", "--id", (await box.json(ListReport, ["list", "b.md"])).documents[0]!.doc_id, "-y"])
    fs.rmSync(box.path("b.md"))
    await box.ends(1, ["update"], "if it is gone for good, remove them with clew delete")
    assert.deepInclude(await box.json(DeleteReport, ["delete", "b.md", "-y"]), { deleted_documents: 0, not_found: [] })
    await box.ends(0, ["update"])
    assert.strictEqual((await box.json(Stats, ["info"])).documents, 5)
    await box.ends(1, ["delete", "a.md", "-y"], "a.md is not in collection default")
  })

  it("leaves no byte of what it deletes in the index's files, and what is left is found", async () => {
    const secret = ["quokka", "glimmerport", "wonderby", "covertag", "veiled"]
    box.write({
      "veiled.md": "---\ntags: [covertag]\n---\n# Veiled\n\nThe quokka hides at Glimmerport with Alice Wonderby.\n"
    })
    await box.ends(0, ["index", ".", "--db", "own.db"])
    const files = () => fs.readdirSync(box.folder).filter((name) => name.startsWith("own.db"))
    const found = () =>
      secret.filter((word) =>
        files().some((name) => fs.readFileSync(box.path(name)).toString("latin1").toLowerCase().includes(word))
      )
    assert.deepStrictEqual(found(), secret)
    const { stderr } = await box.ends(0, ["delete", "veiled.md", "-y", "--db", "own.db"])
    assert.strictEqual(stderr, "")
    assert.deepStrictEqual(found(), [])
    assert.deepStrictEqual(files(), ["own.db"])
    await box.ends(0, ["query", "spring tide", "--alpha", "0", "--db", "own.db"])
    await box.ends(0, ["doctor", "--db", "own.db"])
  })

  it("deletes by id", async () => {
    const { results } = await box.json(SearchResponse, ["query", "glacier", "-k1"])
    const id = results[0]?.metadata.doc_id ?? ""
    assert.strictEqual((await box.json(DeleteReport, ["delete", "--id", id, "--yes"])).deleted_documents, 1)
    await box.ends(1, ["delete", "--id", id, "--yes"], `${id} is not in collection default`)
  })

  it("deletes nothing where there is nobody to ask", async () => {
    await box.ends(2, ["delete", "docs/tides.md"], "Use --yes to agree")
    assert.strictEqual((await box.json(Stats, ["info"])).documents, 5)
  })
})

describe("collections", () => {
  it("makes, lists and drops them", async () => {
    await box.ends(0, ["collections", "create", "papers"])
    await box.ends(0, ["index", "docs/tides.md", "-c", "papers"])
    const { collections } = await box.json(CollectionsReport, ["collections"])
    assert.deepStrictEqual(
      collections.map(({ documents, name }) => [name, documents]),
      [
        ["default", 5],
        ["papers", 1]
      ]
    )
    assert.include((await box.run(["collections"])).stdout, "papers  1 document, ")

    await box.ends(1, ["collections", "create", "papers"], "already exists")

    assert.strictEqual((await box.json(DropReport, ["collections", "drop", "papers", "--yes"])).deleted_documents, 1)
    await box.ends(1, ["collections", "drop", "papers", "--yes"], "No collection named papers")
  })

  it("are changed as a whole by name, if the default one is none of them", async () => {
    const other = ["--db", "other.db"]
    await box.ends(0, ["collections", "create", "papers", ...other])
    for (const command of [["reindex"], ["graph", "build"], ["graph", "query", "tide"]]) {
      await box.ends(2, [...command, ...other], "name another with -c, such as papers")
    }
    // It always exists, although its first document makes it.
    await box.ends(3, ["list", "-c", "default", ...other], "no documents")
    await box.ends(3, ["show", "tides.md", "-c", "default", ...other], "tides.md is not indexed")
  })
})
