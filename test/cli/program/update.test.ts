import * as Schema from "effect/Schema"
import { mkdirSync, renameSync, rmSync } from "node:fs"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { Stats } from "../../../src/model/Stats.ts"
import { UpdateReport } from "../../../src/cli/update.ts"
import { library } from "./files.ts"
import { Sandbox } from "./sandbox.ts"

let box: Sandbox
beforeEach(() => {
  box = new Sandbox({ ...library, "notes/one.md": "# One\n\nFirst note.\n", "notes/two.txt": "Second note.\n" })
  mkdirSync(box.path("elsewhere"))
})
afterEach(() => box.remove())

const update = (...args: ReadonlyArray<string>) =>
  box.json(UpdateReport, ["update", ...args], { cwd: box.path("elsewhere") })
const documents = async () => (await box.json(Stats, ["info"])).documents

describe("update", () => {
  it("repeats earlier runs, from anywhere, with the flags of each path", async () => {
    await box.ends(0, ["index", "docs"])
    await box.ends(0, ["index", "notes", "--include", "*.md", "-c", "mine"])
    box.write({
      "docs/bread.md": "# Bread\n\nRye keeps longer.\n",
      "notes/three.md": "Third.\n",
      "notes/4.txt": "No.\n"
    })

    const planned = await update("--dry-run")
    assert.deepStrictEqual(
      planned.reports.map(({ collection, created, updated }) => [collection, created, updated]),
      [
        ["default", 0, 1],
        ["mine", 1, 0]
      ]
    )
    const mine = await update("--collection", "mine")
    assert.deepStrictEqual(
      mine.roots.map(({ collection, include, missing, path }) => [collection, path, include, missing]),
      [["mine", box.path("notes"), ["*.md"], false]]
    )
    assert.deepStrictEqual(
      (await update()).reports.map(({ created, unchanged, updated }) => [created, updated, unchanged]),
      [
        [0, 1, 4],
        [0, 0, 2]
      ]
    )
  })

  it("forgets what is gone with --prune, but nothing of a missing path", async () => {
    await box.ends(0, ["index", "docs", "notes"])
    rmSync(box.path("docs", "brot.md"))
    renameSync(box.path("notes"), box.path("unmounted"))

    const { stdout } = await box.ends(1, ["update", "--prune", "--json"])
    const report = Schema.decodeUnknownSync(Schema.parseJson(UpdateReport))(stdout)
    assert.deepStrictEqual(
      report.roots.map(({ missing }) => missing),
      [false, true]
    )
    assert.strictEqual(report.reports[0]?.deleted_documents, 1)
    assert.strictEqual(await documents(), 6)
    const said = await box.run(["update"])
    assert.match(said.stderr, /notes: no such file or folder/)
    assert.match(said.stderr, /The documents of notes were kept/)

    await box.ends(0, ["delete", "notes", "--yes"])
    const rest = await update()
    assert.deepStrictEqual(
      rest.roots.map(({ path }) => path),
      [box.path("docs")]
    )
  })

  it("misses no path that never was there, such as a mistyped one", async () => {
    await box.ends(1, ["index", "docs", "nots"], "nots: no such file or folder")
    const { roots } = await update()
    assert.deepStrictEqual(
      roots.map(({ path }) => path),
      [box.path("docs")]
    )
  })

  it("forgets with --prune what is gone from a folder, although it was also indexed by itself", async () => {
    await box.ends(0, ["index", "notes"])
    await box.ends(0, ["index", "notes/one.md"])
    rmSync(box.path("notes", "one.md"))
    const { reports, roots } = await update("--prune")
    assert.deepStrictEqual(
      roots.map(({ missing, path }) => [path, missing]),
      [[box.path("notes"), false]]
    )
    assert.strictEqual(reports[0]?.deleted_documents, 1)
    assert.strictEqual(await documents(), 1)
  })

  it("says that no path was indexed", async () => {
    await box.ends(0, ["index", "-"], undefined, { input: "A text of no file" })
    await box.ends(3, ["update"], "clew index PATH")
  })
})
