import * as fs from "node:fs"
import { gunzipSync } from "node:zlib"
import { afterEach, assert, beforeEach, it } from "vitest"
import { BackupReport } from "../../../src/cli/backup.ts"
import { TransferReport } from "../../../src/cli/export.ts"
import { library } from "./files.ts"
import { Sandbox } from "./sandbox.ts"

let box: Sandbox
beforeEach(async () => {
  box = new Sandbox(library)
  assert.strictEqual((await box.run(["index", ".", "-q"])).code, 0)
})
afterEach(() => box.remove())

const answers = async (...flags: ReadonlyArray<string>) => {
  const found = []
  for (const question of ["honey", "how do bees live", "the sea"]) {
    const { code, stderr, stdout } = await box.run(["query", question, "--json", ...flags])
    assert.oneOf(code, [0, 3], stderr)
    found.push((JSON.parse(stdout) as { readonly results: unknown }).results)
  }
  return found
}

it("exports and imports with the same answers and scores", async () => {
  const exported = await box.json(TransferReport, ["export", "all.jsonl.gz"])
  assert.strictEqual(fs.statSync(box.path("all.jsonl.gz")).mode & 0o777, 0o600)
  const imported = await box.json(TransferReport, ["import", "all.jsonl.gz", "--db", "other.db"])
  assert.deepStrictEqual(imported, exported)
  assert.deepStrictEqual(await answers("--db", "other.db"), await answers())
  // What was imported is not indexed again.
  const again = await box.run(["index", ".", "--db", "other.db", "--json"])
  assert.strictEqual((JSON.parse(again.stdout) as { readonly updated: number }).updated, 0, again.stdout)

  const plain = await box.run(["export", "all.jsonl"])
  assert.strictEqual(plain.code, 0, plain.stderr)
  const text = fs.readFileSync(box.path("all.jsonl"), "utf8")
  assert.strictEqual(gunzipSync(fs.readFileSync(box.path("all.jsonl.gz"))).toString(), text)
  box.write({ "cut.jsonl": text.split("\n").slice(0, -2).join("\n") })
  const cut = await box.run(["import", "cut.jsonl", "--db", "third.db"])
  assert.strictEqual(cut.code, 1)
  assert.match(cut.stderr, /the file is truncated/)
  const missing = await box.run(["import", "missing.jsonl", "--db", "fourth.db"])
  assert.match(missing.stderr, /cannot read .*missing\.jsonl/)
  assert.isFalse(fs.existsSync(box.path("fourth.db")))
})

it("exports over no file that is no export, such as the index or a note", async () => {
  box.write({ "note.md": "A note.\n", "empty.jsonl": "" })
  const { database = "" } = JSON.parse((await box.run(["doctor", "--json"])).stdout) as { readonly database?: string }
  for (const file of ["note.md", database, "."]) {
    const { code, stderr } = await box.run(["export", file])
    assert.strictEqual(code, 1, file)
    assert.match(stderr, /already exists and is not an export/)
  }
  assert.strictEqual(fs.readFileSync(box.path("note.md"), "utf8"), "A note.\n")
  assert.isNotEmpty((await answers())[0])
  for (const file of ["empty.jsonl", "empty.jsonl", "new.gz", "new.gz"]) {
    assert.strictEqual((await box.run(["export", file])).code, 0, file)
  }
})

it("backs up and restores", async () => {
  const before = await answers()
  const made = await box.json(BackupReport, ["backup", "copy.db"])
  assert.deepStrictEqual(await box.json(BackupReport, ["backup", "--check", "copy.db"]), made)
  await box.json(BackupReport, ["backup", "copy.db", "--keep", "2"])
  assert.strictEqual((await box.run(["backup", "--check", "copy.db.1"])).code, 0)
  assert.strictEqual((await box.run(["backup", "--check", "later.md"])).code, 1)
  assert.strictEqual((await box.run(["backup", "--check", "--keep", "2", "copy.db"])).code, 2)
  box.write({ "later.md": "Bees came later to the sea, with honey.\n" })
  assert.strictEqual((await box.run(["index", "later.md", "-q"])).code, 0)
  assert.notDeepEqual(await answers(), before)
  const unasked = await box.run(["restore", "copy.db"])
  assert.strictEqual(unasked.code, 2)
  assert.match(unasked.stderr, /--yes/)
  const put = await box.json(BackupReport, ["restore", "copy.db", "--yes"])
  assert.strictEqual(put.documents, made.documents)
  assert.deepStrictEqual(await answers(), before)
})

it("writes no file of the name that means standard output elsewhere", async () => {
  for (const command of ["export", "backup"]) {
    const { code, stderr } = await box.run([command, "-"])
    assert.strictEqual(code, 2)
    assert.include(stderr, "FILE must be a file")
  }
})

it("imports only what it can read twice, and says so", async () => {
  const { code, stderr } = await box.run(["import", "/dev/null"])
  assert.strictEqual(code, 1)
  assert.include(stderr, "/dev/null is not a file; an import is read twice")
})
