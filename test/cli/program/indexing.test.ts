import * as Schema from "effect/Schema"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { DocumentLine, IndexReport } from "../../../src/cli/indexing.ts"
import { Stats } from "../../../src/model/Stats.ts"
import { library } from "./files.ts"
import { Sandbox } from "./sandbox.ts"

let box: Sandbox
beforeEach(() => {
  box = new Sandbox(library)
})
afterEach(() => box.remove())

const index = (...args: ReadonlyArray<string>) => box.json(IndexReport, ["index", ...args])
const documents = async () => (await box.json(Stats, ["info"])).documents

describe("index", () => {
  it("indexes what is new, then what changed", async () => {
    const first = await index("docs")
    assert.strictEqual(first.created, 5)
    assert.strictEqual(first.files, 4)
    assert.isAtLeast(first.chunks, 5)
    assert.strictEqual(first.database, box.path("home", "data", "clew", "index.db"))
    assert.strictEqual(first.embedding.backend, "builtin")

    box.write({ "docs/bread.md": "# Bread\n\nRye bread keeps longer.\n" })
    const second = await index("docs")
    assert.deepStrictEqual([second.created, second.updated, second.unchanged], [0, 1, 4])
    assert.strictEqual(await documents(), 5)
  })

  it("says what it did on standard output", async () => {
    const { stderr, stdout } = await box.ends(0, ["index", "docs", "--db", "a.db"])
    assert.include(stdout, "Indexed 5 documents (5 new, 0 changed; 0 unchanged)")
    assert.include(stdout, "4 files")
    assert.include(stdout, box.path("a.db"))
    assert.strictEqual(stderr, "")
  })

  it("says where most is not English, and what to do for its meaning", async () => {
    const german = (n: number) =>
      `# Kapitel ${n}\n\nDie Flut steigt zweimal am Tag, und was sie am Ufer lässt, wird von denen gesammelt, die auf sie warten.\n`
    box.write(Object.fromEntries([1, 2, 3, 4].map((n) => [`de/${n}.md`, german(n)])))
    const { stderr } = await box.ends(0, ["index", "de", "-c", "buch"])
    assert.match(
      stderr,
      /^clew: about 100 % of collection buch is not English, .*multilingual model .*`clew reindex`$/m
    )
    assert.include((await box.run(["info", "-c", "buch"])).stderr, "is not English")
    assert.strictEqual((await box.run(["index", "de", "-c", "buch"])).stderr, "")
    assert.notInclude((await box.run(["index", "docs"])).stderr, "English")
  })

  it("prints a line for each document with --verbose, as JSON too", async () => {
    const { stdout } = await box.run(["index", "docs", "--verbose"])
    assert.match(stdout, /^new +docs\/tides\.md \(\d passages?\)$/m)
    assert.match(stdout, /^new +docs\/notes\.jsonl#n2 \(1 passage\)$/m)

    const again = await box.run(["index", "docs", "--verbose", "--json"])
    const lines = again.stdout.trim().split("\n")
    const decode = Schema.decodeUnknownSync(Schema.parseJson(DocumentLine), { onExcessProperty: "error" })
    assert.strictEqual(lines.length, 6)
    for (const line of lines.slice(0, 5)) assert.strictEqual(decode(line).status, "unchanged")
    assert.strictEqual(Schema.decodeUnknownSync(Schema.parseJson(IndexReport))(lines[5]).unchanged, 5)
  })

  it("writes nothing with --dry-run", async () => {
    const planned = await index("docs", "--dry-run")
    assert.strictEqual(planned.created, 5)
    assert.isTrue(planned.dry_run)
    assert.isFalse(existsSync(planned.database))

    const { database } = await index("docs/tides.md")
    const before = readFileSync(database)
    assert.strictEqual((await index("docs", "-n")).created, 4)
    assert.isTrue(readFileSync(database).equals(before))
    assert.strictEqual(await documents(), 1)
  })

  it("counts what it skips, with the reason", async () => {
    box.write({
      ".gitignore": "drafts/\n",
      "docs/drafts/a.md": "draft",
      "docs/.hidden.md": "hidden",
      "docs/a.bin": "\0\u0001\0"
    })
    box.write({ "docs/.gitignore": "drafts/\n" })
    const { skipped, skipped_by_reason, skipped_files } = await index("docs")
    assert.strictEqual(skipped, skipped_files.length)
    assert.strictEqual(skipped_by_reason["ignored"], 1)
    assert.isTrue(skipped_files.some(({ path }) => path === box.path("docs", "a.bin")))
    assert.isTrue(
      skipped_files.some(({ path, reason }) => path === box.path("docs", ".hidden.md") && reason === "hidden")
    )
  })

  it("goes on after a record that fails, names it, and exits with 1", async () => {
    box.write({ "docs/notes.jsonl": `${JSON.stringify({ _id: "n1", text: "Lava flows." })}\nnot json\n` })
    const { stderr, stdout } = await box.ends(1, ["index", "docs"])
    assert.include(stdout, "Indexed 4 documents")
    assert.include(stderr, "Failed: 1")
    assert.include(stderr, "docs/notes.jsonl:2: ")
  })

  it("goes on after a path that is not there, and exits with 1", async () => {
    const { stderr, stdout } = await box.ends(1, ["index", "nowhere", "docs"])
    assert.include(stdout, "Indexed 5 documents")
    assert.include(stderr, "nowhere: ")
  })

  it("takes only what is included, and nothing that is excluded", async () => {
    assert.strictEqual((await index("docs", "--include", "*.md", "--exclude", "b*")).created, 1)
  })

  it("forgets what is gone with --prune, but only below the paths given", async () => {
    box.write({ "other/keep.md": "Keep this." })
    await index("docs", "other")
    rmSync(box.path("docs", "bread.md"))
    rmSync(box.path("other", "keep.md"))
    assert.strictEqual((await index("docs")).deleted_documents, 0)
    assert.strictEqual((await index("docs", "--prune", "--dry-run")).deleted_documents, 1)
    assert.strictEqual(await documents(), 6)
    assert.strictEqual((await index("docs", "--prune")).deleted_documents, 1)
    assert.strictEqual(await documents(), 5)
  })

  it("forgets nothing of a path that is missing", async () => {
    await index("docs")
    rmSync(box.path("docs"), { recursive: true })
    const { stdout } = await box.ends(1, ["index", "docs", "--prune", "--json"])
    assert.strictEqual(Schema.decodeUnknownSync(Schema.parseJson(IndexReport))(stdout).deleted_documents, 0)
    assert.strictEqual(await documents(), 5)
  })

  it("forgets a record that is gone from its file, and keeps one that cannot be read any more", async () => {
    await index("docs")
    box.write({ "docs/notes.jsonl": `{"_id": "n1", "text": \n` })
    const { stdout } = await box.run(["index", "docs", "--prune", "--json"])
    assert.strictEqual(Schema.decodeUnknownSync(Schema.parseJson(IndexReport))(stdout).deleted_documents, 0)
    box.write({
      "docs/notes.jsonl": `${JSON.stringify({ _id: "n2", title: "Glacier", text: "The glacier carves its valley slowly." })}\n`
    })
    assert.strictEqual((await index("docs", "--prune")).deleted_documents, 1)
  })

  it("keeps what it was told to pass over: a file that is excluded or ignored is not gone", async () => {
    await index("docs")
    assert.strictEqual((await index("docs", "--include", "*.md", "--prune")).deleted_documents, 0)
    assert.strictEqual((await index("docs", "--exclude", "b*", "--prune", "--dry-run")).deleted_documents, 0)
    assert.strictEqual(await documents(), 5)
  })

  it("says what is gone or now ignored, and forgets both with --prune", async () => {
    await index("docs")
    box.write({ "docs/.gitignore": "bread*\n" })
    rmSync(box.path("docs", "tides.md"))
    const { files_gone, files_ignored } = await index("docs")
    assert.deepStrictEqual([files_gone, files_ignored], [1, 1])
    const { stdout } = await box.run(["index", "docs"])
    assert.include(stdout, "1 indexed file is gone, 1 indexed file is now ignored or a link; --prune removes")
    assert.strictEqual((await index("docs", "--prune", "--dry-run")).deleted_documents, 2)
    assert.strictEqual((await index("docs", "--prune")).deleted_documents, 2)
    assert.strictEqual(await documents(), 3)
    assert.deepStrictEqual((await index("docs")).files_gone, 0)
  })

  it("forgets what a file held that is empty by now, or no text", async () => {
    await index("docs")
    box.write({ "docs/bread.md": "" })
    writeFileSync(box.path("docs", "tides.md"), Buffer.from([0, 1, 2, 255, 0, 0, 7, 9]))
    assert.strictEqual((await index("docs", "--dry-run")).deleted_documents, 2)
    assert.strictEqual((await index("docs")).deleted_documents, 2)
    assert.strictEqual(await documents(), 3)
    assert.strictEqual((await index("docs")).skipped_by_reason["empty"], 1)
  })

  it("brings back a document that was deleted, though its file is as it was", async () => {
    await index("docs")
    await box.run(["delete", "docs/bread.md", "--yes"])
    assert.strictEqual(await documents(), 4)
    assert.strictEqual((await index("docs")).created, 1)
    assert.strictEqual(await documents(), 5)
  })

  it("deletes what a record, a mail or a piped text said that says nothing any more", async () => {
    const mail = (words: string) => `From a@b.c Mon Jan 1 00:00:00 2024\nFrom: a@b.c\n\n${words}\n\n`
    const rows = (first: string) => `{"id":1,"text":"${first}"}\n{"id":2,"text":"A gull dives."}\n`
    box.write({ "rows.jsonl": rows("A walrus rests."), "mails.mbox": mail("A wombat digs.") + mail("Other words.") })
    const piped = ["index", "-", "--source", "piped.md"]
    await box.ends(0, ["index", "rows.jsonl", "mails.mbox"])
    await box.ends(0, piped, undefined, { input: "A tapir swims." })
    assert.strictEqual(await documents(), 5)
    // The first of two records with one id counts.
    box.write({
      "rows.jsonl": `${rows("A walrus rests.")}{"id":2,"text":""}\n`,
      "mails.mbox": mail("") + mail("Other words.")
    })
    const planned = await index("rows.jsonl", "mails.mbox", "--dry-run")
    assert.deepInclude(planned, { deleted_documents: 1, deleted_chunks: 1, records_gone: 0 })
    await box.ends(0, ["index", "rows.jsonl", "mails.mbox"])
    const { stdout: told } = await box.ends(0, [...piped, "--dry-run"], undefined, { input: " " })
    assert.include(told, "Would remove 1 document ")
    await box.ends(0, piped, undefined, { input: " " })
    assert.strictEqual(await documents(), 3)
    // A pipe may have broken off, and a source may look like a record of another.
    const guide = ["index", "-", "--source", "guide"]
    await box.ends(0, guide, undefined, { input: "One." })
    await box.ends(0, ["index", "-", "--source", "guide#basics"], undefined, { input: "Two." })
    for (const input of ["", "%PDF-1.4\n1 0 obj", "\0\u0001\0"]) await box.run(guide, { input })
    assert.strictEqual(await documents(), 5)
    await box.ends(0, guide, undefined, { input: "\n" })
    assert.strictEqual(await documents(), 4)
    await box.ends(0, ["delete", "guide#basics", "-y"])
    const again = [`{"id":1,"text":"A walrus rests."}`, `{"id":1,"text":""}`, ""].join("\n")
    box.write({ "twice.jsonl": again })
    await index("twice.jsonl")
    box.write({ "twice.jsonl": `\n${again}` })
    assert.deepInclude(await index("twice.jsonl"), { deleted_documents: 0, updated: 0 })
    await box.ends(0, ["delete", "twice.jsonl", "-y"])
    box.write({ "rows.jsonl": rows(" ") })
    for (const prune of [[], ["--prune"]]) {
      const told = await index("rows.jsonl", "--dry-run", ...prune)
      assert.deepInclude(told, { deleted_documents: 1, records_gone: 0 })
    }
    await box.ends(0, ["index", "rows.jsonl"])
    assert.strictEqual(await documents(), 2)
    await box.ends(3, ["query", "walrus", "--alpha", "0"])
  })

  it("passes over lock files and generated ones unless they are included", async () => {
    box.write({ "docs/package-lock.json": "{}", "docs/app.min.js": "let a", "docs/app.js.map": "{}" })
    const report = await index("docs")
    assert.deepStrictEqual([report.skipped_by_reason["lock file"], report.skipped_by_reason["generated"]], [1, 2])
    assert.strictEqual((await index("docs", "--include", "*.min.js")).created, 1)
    assert.strictEqual((await index("docs/package-lock.json")).created, 1)
  })

  it("passes over what Sphinx adds to its pages, style sheets, minified code and pages of links, unless they are named", async () => {
    const links = Array.from({ length: 30 }, (_, n) => `<li><a href="${n}.html">The page of tide ${n}</a></li>`).join(
      ""
    )
    const page =
      "<nav><a href=x>x</a></nav><main><h1>Tides</h1><p>The moon pulls the sea, see <a href=y>this</a>.</p></main>"
    box.write({
      "out/searchindex.js": "Search.setIndex({})",
      "out/_sources/tides.rst.txt": "Tides\n=====\n\nThe moon pulls the sea.\n",
      "out/_static/basic.js": "let a = 1\n",
      "out/genindex.html": page,
      "out/tides.html": page,
      "out/all.html": `<h1>All pages</h1><ul>${links}</ul>`,
      "out/site.css": "body { color: red }",
      "out/app.js": `let a = [${"1234567,".repeat(2000)}1]`,
      "out/gen.go": "// Code generated by protoc. DO NOT EDIT.\npackage tide\n",
      "other/search.html": page
    })
    const report = await index("out", "other")
    assert.deepStrictEqual(report.skipped_by_reason, { generated: 6, "only links": 1, "style sheet": 1 })
    assert.strictEqual(report.created, 2)
    const { stdout } = await box.run(["index", "out"])
    assert.include(
      stdout.replace(/\s+/g, " "),
      "a file that you name, or whose name --include has, is read whatever it is"
    )
    assert.strictEqual((await index("out/all.html", "out/app.js", "out/site.css")).created, 3)
    assert.strictEqual((await index("out/_sources")).created, 1)
    assert.strictEqual((await index("out", "--include", "genindex.html", "--include", "gen.go")).created, 2)
  })

  it("skips what holds no text, wherever it comes from", async () => {
    box.write({
      "out/blank.txt": " \n\n",
      "out/blank.md": "\n",
      "out/page.html": "<nav><a href=x>x</a></nav>",
      "out/records.jsonl": '{"_id": "a", "text": " "}\n{"_id": "b", "text": "A line."}\n'
    })
    const { stdout: told } = await box.ends(0, ["index", "out", "--dry-run"])
    assert.include(told, "Skipped: 4 without text")
    const report = await index("out")
    assert.deepStrictEqual([report.created, report.skipped_by_reason, report.failed], [1, { "it holds no text": 4 }, 0])
    const { stdout } = await box.ends(0, ["index", "-", "--json"], undefined, { input: " \n" })
    const read = Schema.decodeUnknownSync(Schema.parseJson(IndexReport))(stdout)
    assert.deepStrictEqual(read.skipped_by_reason, { "it holds no text": 1 })
  })

  it("makes no index where no path is there", async () => {
    const { stderr, stdout } = await box.ends(1, ["index", "typo", "--db", "none.db"])
    assert.strictEqual(stderr, "Failed: 1\n  typo: no such file or folder\n")
    assert.strictEqual(stdout, "")
    assert.isFalse(existsSync(box.path("none.db")))
  })

  it("forgets what is gone beside a file of many bad lines", async () => {
    await index("docs")
    rmSync(box.path("docs", "bread.md"))
    box.write({ "docs/bad.jsonl": `{"_id": "good", "text": "A good line."}\n${"not json\n".repeat(3000)}` })
    const { stdout } = await box.ends(1, ["index", "docs", "--prune", "--json"])
    const report = Schema.decodeUnknownSync(Schema.parseJson(IndexReport))(stdout)
    assert.strictEqual(report.deleted_documents, 1)
    assert.strictEqual(report.failed, 3000)
  })

  it("refuses with standard input what is about folders", async () => {
    await box.ends(2, ["index", "-", "--prune"], "--prune", { input: "x" })
  })

  it("reads a document from standard input, by its source or by its content", async () => {
    const input = "# Comets\n\nA comet's tail points away from the sun.\n"
    await box.ends(0, ["index", "-", "--source", "comets.md", "--json"], undefined, { input })
    const changed = await box.run(["index", "-", "--source", "comets.md", "--json"], { input: `${input}Always.\n` })
    assert.include(changed.stdout, '"updated":1')
    await box.run(["index", "-"], { input: "one" })
    await box.run(["index", "-"], { input: "two" })
    const again = await box.run(["index", "-", "--json"], { input: "two" })
    assert.include(again.stdout, '"unchanged":1')
    assert.strictEqual(await documents(), 3)
  })

  it("keeps collections apart", async () => {
    await index("docs/tides.md", "--collection", "sea")
    await index("docs/bread.md")
    assert.strictEqual((await box.json(Stats, ["info", "--collection", "sea"])).documents, 1)
    assert.strictEqual(await documents(), 2)
  })

  it("says nothing but failures with --quiet", async () => {
    const { code, stderr, stdout } = await box.run(["index", "docs", "--quiet"])
    assert.deepStrictEqual({ code, stderr, stdout }, { code: 0, stderr: "", stdout: "" })
  })

  it("leaves a file that is no index as it is", async () => {
    box.write({
      "foreign.db": "SQLite format 3\0 or so it says, and goes on for a while so that it has a header of its own"
    })
    const before = readFileSync(box.path("foreign.db"))
    for (const args of [["index", "docs"], ["query", "x"], ["info"]]) {
      await box.ends(1, [...args, "--db", "foreign.db"], "is not a Clew index and was left untouched")
    }
    assert.isTrue(readFileSync(box.path("foreign.db")).equals(before))
  })
})
