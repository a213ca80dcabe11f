import { afterEach, assert, beforeEach, it } from "vitest"
import Database from "better-sqlite3"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { setTimeout } from "node:timers/promises"
import { gunzipSync } from "node:zlib"
import { BackupReport } from "../../../src/cli/backup.ts"
import { CompareReport } from "../../../src/cli/compare.ts"
import { TransferReport } from "../../../src/cli/transfer.ts"
import { library } from "./files.ts"
import { ended, Sandbox } from "./sandbox.ts"

let box: Sandbox
beforeEach(async () => {
  box = new Sandbox(library)
  await box.ends(0, ["index", ".", "-q"])
})
afterEach(() => box.remove())

const answers = async (...flags: ReadonlyArray<string>) => {
  const found = []
  for (const question of ["honey", "how do bees live", "the sea"]) {
    const { code, stderr, stdout } = await box.run(["query", question, "--json", ...flags])
    assert.oneOf(code, [0, 3], stderr)
    const { results } = JSON.parse(stdout) as { readonly results: ReadonlyArray<Readonly<Record<string, unknown>>> }
    // It says when this index stored the document.
    found.push(results.map((result) => ({ ...result, indexed_at: "" })))
  }
  return found
}

it("exports and imports with the same answers and scores", async () => {
  const exported = await box.json(TransferReport, ["export", "all.jsonl.gz"])
  assert.strictEqual(fs.statSync(box.path("all.jsonl.gz")).mode & 0o777, 0o600)
  const imported = await box.json(TransferReport, ["import", "all.jsonl.gz", "--db", "other.db"])
  assert.deepStrictEqual(imported, { ...exported, unchanged: 0, skipped: 0 })
  assert.deepStrictEqual(await answers("--db", "other.db"), await answers())
  // What was imported is not indexed again.
  const again = await box.run(["index", ".", "--db", "other.db", "--json"])
  assert.strictEqual((JSON.parse(again.stdout) as { readonly updated: number }).updated, 0, again.stdout)

  await box.ends(0, ["export", "all.jsonl"])
  const text = fs.readFileSync(box.path("all.jsonl"), "utf8")
  assert.strictEqual(gunzipSync(fs.readFileSync(box.path("all.jsonl.gz"))).toString(), text)
  box.write({ "cut.jsonl": text.split("\n").slice(0, -2).join("\n") })
  await box.ends(1, ["import", "cut.jsonl", "--db", "third.db"], /the file is truncated/)
  const missing = await box.run(["import", "missing.jsonl", "--db", "fourth.db"])
  assert.match(missing.stderr, /cannot read .*missing\.jsonl: no such file or folder$/m)
  await box.ends(1, ["export", "nowhere/x.jsonl"], "x.jsonl: its folder does not exist; make it first")
  assert.isFalse(fs.existsSync(box.path("fourth.db")))
})

it("exports all but the documents that are damaged, names them, and keeps an older export", async () => {
  const whole = await box.json(TransferReport, ["export", "all.jsonl"])
  const before = fs.readFileSync(box.path("all.jsonl"), "utf8")
  const { database = "" } = JSON.parse((await box.run(["doctor", "--json"])).stdout) as { readonly database?: string }
  const db = new Database(database)
  const damaged = db.prepare("SELECT source FROM documents ORDER BY id LIMIT 1").pluck().get() as string
  db.exec("UPDATE passages SET text = text || 'x' WHERE document_id = (SELECT min(id) FROM documents)")
  db.close()
  for (const [file, made] of [
    ["all.jsonl", "all.jsonl.incomplete"],
    ["new.jsonl", "new.jsonl"]
  ] as const) {
    const { stderr, stdout } = await box.ends(1, ["export", file, "--json"])
    assert.include(
      stderr.replaceAll(/\s+/g, " "),
      `left out: Document ${damaged} of collection default is damaged: passage`
    )
    const report = JSON.parse(stdout) as typeof TransferReport.Type
    assert.strictEqual(report.documents, whole.documents - 1)
    assert.isTrue(report.file.endsWith(made))
    await box.ends(0, ["import", made, "--db", `${file}.db`])
  }
  assert.strictEqual(fs.readFileSync(box.path("all.jsonl"), "utf8"), before)
})

// In a container each run has the same number.
it("exports again after one of the same process number was killed", async () => {
  fs.writeFileSync(box.path(`a.jsonl.${process.pid}.partial`), "{")
  await box.ends(0, ["export", "a.jsonl"])
  assert.isFalse(fs.existsSync(box.path(`a.jsonl.${process.pid}.partial`)))
})

it("removes what killed processes left of the same file, and nothing of those that may still write", async () => {
  // No system gives a process such a number.
  const gone = 2 ** 30
  for (const [command, file] of [
    ["export", "b.jsonl"],
    ["backup", "b.db"]
  ] as const) {
    const left = [
      `${file}.${gone}.partial`,
      `${file}.${gone + 1}.partial`,
      `${file}.1.partial`,
      `x${file}.${gone}.partial`
    ]
    box.write(Object.fromEntries(left.map((name) => [name, "{"])))
    for (const name of left) if (!name.includes(`${gone + 1}`)) fs.utimesSync(box.path(name), 0, 0)
    await box.ends(0, [command, file])
    assert.sameMembers(
      fs.readdirSync(box.folder).filter((name) => name.includes(`${file}.`)),
      left.slice(1)
    )
  }
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
  await box.ends(0, ["backup", "--check", "copy.db.1"])
  await box.ends(1, ["backup", "--check", "later.md"])
  await box.ends(2, ["backup", "--check", "--keep", "2", "copy.db"])
  box.write({ "later.md": "Bees came later to the sea, with honey.\n" })
  await box.ends(0, ["index", "later.md", "-q"])
  assert.notDeepEqual(await answers(), before)
  await box.ends(2, ["restore", "copy.db"], /--yes/)
  await box.ends(1, ["restore", "cpy.db"], /cpy\.db/)
  const put = await box.json(BackupReport, ["restore", "copy.db", "--yes"])
  assert.strictEqual(put.documents, made.documents)
  assert.deepStrictEqual(await answers(), before)
})

it("says that the folder of a backup does not exist", async () => {
  await box.ends(1, ["backup", "gone/copy.db"], "the folder of the backup, does not exist")
})

it("writes no backup of the name that means standard output elsewhere", async () => {
  await box.ends(2, ["backup", "-"], "FILE must be a file")
})

it("exports into a pipe and imports from one, checked whole, without leaving a file", async () => {
  const { stderr, stdout } = await box.ends(0, ["export"])
  assert.match(stderr, /exported \d+ documents/)
  assert.strictEqual((await box.ends(0, ["export", "-"])).stdout, stdout)
  await box.ends(2, ["export", "--json"], "needs a FILE")
  const names = fs.readdirSync(box.path())
  for (const [input, says] of [
    ["", /standard input is empty/],
    [stdout.slice(0, stdout.length / 2), /Line \d+ of the export/],
    [stdout.split("\n").slice(0, -2).join("\n"), /the file is truncated/],
    [stdout.replace('"version":1', '"version":2'), /has version 2, but this program reads version 1/],
    ["hello", /not an export by Clew/]
  ] as const) {
    await box.ends(1, ["import", "-", "--db", "piped/index.db"], says, { input })
  }
  await box.ends(1, ["import", "/dev/null", "--db", "piped/index.db"], "/dev/null is empty")
  const imported = await box.json(TransferReport, ["import", "-", "--db", "piped/index.db"], { input: stdout })
  assert.strictEqual(imported.unchanged, 0)
  assert.deepStrictEqual(await answers("--db", "piped/index.db"), await answers())
  const again = await box.json(TransferReport, ["import", "-", "--db", "piped/index.db"], { input: stdout })
  assert.strictEqual(again.unchanged, imported.documents)
  assert.strictEqual((await box.ends(0, ["export", "--db", "piped/index.db"])).stdout, stdout)
  assert.deepStrictEqual(
    [...fs.readdirSync(box.path()), ...fs.readdirSync(box.path("piped"))].toSorted(),
    [...names, "piped", "index.db"].toSorted()
  )
})

it("compares the answers of two indexes, and says where they differ", async () => {
  await box.ends(0, ["export", "all.jsonl"])
  await box.ends(0, ["import", "all.jsonl", "--db", "copy.db"])
  const same = await box.json(CompareReport, ["compare", "copy.db"])
  assert.deepStrictEqual([same.a.index, same.b.index, same.a.chunks], ["copy.db", "configured", same.b.chunks])
  assert.isAbove(same.questions, 3)
  for (const { largest_score_difference, overlap_at_10, same: alike } of Object.values(same.modes)) {
    assert.deepStrictEqual([overlap_at_10, alike, largest_score_difference], [1, same.questions, 0])
  }
  assert.deepStrictEqual(same.different, [])
  box.write({
    "other.toml": '[store]\npath = "copy.db"\n',
    "questions.txt": "when is the tide highest\r\n\nwhat pulls the sea\n",
    "none.txt": "\n"
  })
  await box.ends(0, ["delete", "docs/tides.md", "--yes", "--db", "copy.db"])
  const lost = ["compare", "other.toml", "--queries", "questions.txt"]
  const { stdout } = await box.ends(4, lost, /the overlap of \w+ search is 0\.\d+, below 0\.99/)
  assert.match(stdout, /2 questions[^]*what pulls the sea/)
  await box.ends(0, [...lost, "--min-overlap", "0"])
  await box.ends(1, ["compare", "copy.db", "--queries", "none.txt"], "has no question")
  await box.ends(1, ["compare", "copy.db", "missing.db"], "no such index or configuration file")
  await box.ends(1, ["compare", "questions.txt"], "is not a Clew index")
  await box.ends(2, ["compare"], "INDEX is missing")
})

it("leaves no file when an import from a pipe is interrupted", async () => {
  fs.mkdirSync(box.path("piped"))
  const child = box.start(["import", "-", "--db", "piped/index.db"])
  // More than a pipe holds, so it has begun to keep it.
  await new Promise((resolve) => child.stdin?.write(" ".repeat(4_000_000), resolve))
  child.kill("SIGINT")
  assert.strictEqual((await ended(child)).code, 130)
  assert.deepStrictEqual(fs.readdirSync(box.path("piped")), [])
})

it("ends at the first signal although a file never answers", async () => {
  execFileSync("mkfifo", [box.path("silent")])
  const child = box.start(["import", "silent", "--db", "other.db"])
  let held: number | undefined
  while (held === undefined) {
    await setTimeout(20)
    try {
      // Opens once there is a reader, who then waits for what nobody writes.
      held = fs.openSync(box.path("silent"), fs.constants.O_WRONLY | fs.constants.O_NONBLOCK)
    } catch (error) {
      assert.strictEqual((error as NodeJS.ErrnoException).code, "ENXIO")
    }
  }
  fs.writeSync(held, "{")
  await setTimeout(100)
  child.kill("SIGTERM")
  await ended(child)
  // By its own, if it was not reading yet.
  assert.isTrue(child.signalCode === "SIGTERM" || child.exitCode === 143)
  fs.closeSync(held)
})
