import Database from "better-sqlite3"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { appendFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { DoctorReport } from "../../../src/cli/doctor.ts"
import { library } from "./files.ts"
import { Sandbox } from "./sandbox.ts"

let box: Sandbox
beforeEach(() => {
  box = new Sandbox(library)
})
afterEach(() => box.remove())

const damage = (statement: string) => {
  const db = new Database(box.path("index.db"))
  db.exec(statement)
  db.close()
}

describe("doctor", () => {
  it("says what is wrong, repairs it, and has the next index replace what it cannot repair", async () => {
    const run = (...args: ReadonlyArray<string>) => box.run([...args, "--db", "index.db"])
    assert.match((await run("doctor")).stdout, /there is no index at .*\n.*make one with `clew index PATH`/)
    // Not even root may enter such a folder.
    symlinkSync(box.path("circle"), box.path("circle"))
    const hidden = (await box.run(["doctor", "--db", "circle/index.db"])).stdout
    assert.match(hidden, /^fail file: you may not look for .*circle/m)
    assert.strictEqual((await run("index", "docs")).code, 0)
    const well = await box.json(DoctorReport, ["doctor", "--deep", "--db", "index.db"])
    assert.isTrue(well.ok)

    damage("UPDATE keyword_postings SET data = zeroblob(length(data)); DELETE FROM vectors_1 WHERE passage_id = 2")
    const query = await run("query", "--alpha", "0", "lava")
    assert.strictEqual(query.code, 1)
    assert.match(query.stderr, /is damaged: .* has changed; run `clew doctor`/)
    const found = await run("doctor")
    assert.strictEqual(found.code, 1)
    assert.match(found.stdout, /^fail postings: /m)
    assert.match(found.stdout, /^fail vectors: .* 1 passages have no vector/m)
    const fixed = await run("doctor", "--fix")
    assert.strictEqual(fixed.code, 0, fixed.stdout)
    assert.match(fixed.stdout, /Fixed: 1 vectors were embedded again/)
    assert.strictEqual((await run("query", "--alpha", "0", "lava")).code, 0)

    damage("UPDATE passages SET text = replace(text, 'Lava', 'Java')")
    assert.match(
      (await run("doctor")).stdout,
      /^fail texts: 1 documents differ from what was stored: .*notes\.jsonl#n1/m
    )
    assert.strictEqual((await run("doctor", "--fix")).code, 1)
    assert.strictEqual((await run("index", "docs")).code, 0)
    const last = await run("doctor", "--deep")
    assert.strictEqual(last.code, 0, last.stdout)
    assert.match((await run("query", "--alpha", "0", "lava")).stdout, /Lava flows/)
  }, 300_000)

  it("says whether a server could listen", async () => {
    const other = createServer().listen(0, "127.0.0.1")
    await once(other, "listening")
    const { port } = other.address() as AddressInfo
    const doctor = () => box.run(["doctor", "--db", "index.db"], { env: { CLEW_SERVER_PORT: `${port}` } })
    assert.include((await doctor()).stdout, `warn port: 127.0.0.1, port ${port} is in use by another program\n`)
    other.close()
    await once(other, "close")
    assert.match((await doctor()).stdout, /^ok   port: 127\.0\.0\.1, port \d+ is free for `clew serve`$/m)
  })

  it("names what was not read because of a limit, as the run that met it did, until the limit is higher", async () => {
    const run = (env: Readonly<Record<string, string>>, ...args: ReadonlyArray<string>) =>
      box.run([...args, "--db", "index.db"], { env })
    box.write({ "docs/long.txt": "spring tide ".repeat(1000) })
    for (let time = 0; time < 2; time++) {
      const met = await run({ CLEW_LIMITS_MAX_FILE_BYTES: "10000" }, "index", "docs")
      assert.strictEqual(met.code, 1)
      assert.match(met.stderr, /Failed: 1\n +docs\/long\.txt: .*, more than limits\.max_file_bytes allows/)
    }
    const doctor = await run({}, "doctor")
    assert.strictEqual(doctor.code, 0)
    assert.match(doctor.stdout, /^warn limits: .*docs\/long\.txt \(.*max_file_bytes[^]*raise the limit in \[limits\]/m)
    assert.strictEqual((await run({}, "index", "docs")).code, 0)
    assert.notMatch((await run({}, "doctor")).stdout, /limits:/)
  }, 300_000)

  it("takes no record that comes twice in a file, and none that is kept after it left its file, for damage", async () => {
    const record = (id: string, text: string) => `${JSON.stringify({ id, text })}\n`
    const indexed = async (many: string, ...args: ReadonlyArray<string>) => {
      box.write({ "many.jsonl": many })
      await box.run(["index", "many.jsonl", "--db", "index.db", ...args])
      const { stdout } = await box.ends(0, ["doctor", "--db", "index.db"])
      assert.match(stdout, /^ok +records: /m)
    }
    await indexed(record("a", "one") + record("a", "two") + record("b", "three"))
    // So many that the repeated one is in a later batch.
    const others = Array.from({ length: 3000 }, (_, n) => record(`n${n}`, `The ${n}th`)).join("")
    await indexed(record("a", "one") + others + record("a", "two"))
    await indexed(record("a", "one more"), "--prune")
  }, 300_000)

  it("names a recorded prefix that no new collection would get, until the configuration has it", async () => {
    const doctor = (env: Readonly<Record<string, string>> = {}) =>
      box.run(["doctor", "--db", "index.db"], {
        env: { CLEW_EMBEDDING_BACKEND: "auto", CLEW_EMBEDDING_URL: "http://127.0.0.1:9", ...env }
      })
    await box.ends(0, ["index", "docs", "--db", "index.db"])
    assert.notMatch((await doctor()).stdout, /^warn embedder/m)
    damage("UPDATE collections SET query_prefix = 'serch: '")
    const found = await doctor()
    assert.match(
      found.stdout.replaceAll(/\s+/g, " "),
      /warn embedder: collection default: .*"serch: ".* before questions/
    )
    assert.notMatch((await doctor({ CLEW_EMBEDDING_QUERY_PREFIX: "serch: " })).stdout, /^warn embedder/m)
  })

  it("salvages a damaged file into a new one, and has the next index restore the rest", async () => {
    const run = (...args: ReadonlyArray<string>) => box.run([...args, "--db", "index.db"])
    mkdirSync(box.path("many"))
    for (let n = 0; n < 60; n++) {
      writeFileSync(box.path(`many/${n}.md`), `# Chapter ${n}\n\n${`Page of chapter ${n}, with words. `.repeat(40)}\n`)
    }
    assert.strictEqual((await run("index", "many")).code, 0)
    // As if a language model had read all passages.
    const exported = async () => {
      assert.strictEqual((await run("export", "all.jsonl")).code, 0)
      return readFileSync(box.path("all.jsonl"), "utf8").split("\n")
    }
    const said = '"said":{"model":"m","entities":["words"],"relations":[]}'
    writeFileSync(
      box.path("all.jsonl"),
      (await exported()).map((line) => line.replace(/"start":/g, `${said},$&`)).join("\n")
    )
    assert.strictEqual((await run("import", "all.jsonl")).code, 0)
    // One answer is damaged too.
    for (const [declared, change] of [
      ["asked TEXT", "UPDATE graph_answers SET asked = NULL WHERE passage_id = (SELECT max(id) FROM passages)"],
      ["asked TEXT NOT NULL", ""]
    ] as const) {
      const db = new Database(box.path("index.db"))
      db.unsafeMode()
      db.exec(`PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql =
        replace(replace(sql, 'asked TEXT NOT NULL', 'asked TEXT'), 'asked TEXT', '${declared}') WHERE name = 'graph_answers';
        PRAGMA writable_schema = RESET; ${change}`)
      db.close()
    }
    const bytes = readFileSync(box.path("index.db"))
    const page = bytes.readUInt16BE(16)
    const at = bytes.indexOf("Page of chapter 41, with")
    bytes.fill(0, at - (at % page), at - (at % page) + page)
    writeFileSync(box.path("index.db"), bytes)

    const found = await run("doctor")
    assert.strictEqual(found.code, 1)
    assert.match(found.stdout, /^fail pages: /m)
    const fixed = await run("doctor", "--fix")
    assert.strictEqual(fixed.code, 0, fixed.stdout)
    assert.match(fixed.stdout, /^Copy of the index before: .*index\.db\.\d+\.before-fix$/m)
    assert.match(fixed.stdout.replaceAll(/\s+/g, " "), /Fixed: \d\d documents could be read and are in a new file/)
    assert.match(fixed.stdout, /documents are lost: .*41\.md/)
    assert.deepStrictEqual(readFileSync(/^Copy of the index before: (.*)$/m.exec(fixed.stdout)![1]!), bytes)
    assert.notMatch((await run("query", "chapter 41", "--filter", "source=*41.md")).stdout, /chapter 41/)
    const left = (await exported()).filter((line) => line.includes('"start":'))
    assert.isAbove(left.length, 30)
    const places = left.join("").split('"start":').length
    assert.lengthOf(left.join("").split('"said":'), places - 1)
    const again = await run("index", "many")
    assert.strictEqual(again.code, 0, again.stderr)
    assert.match((await run("query", "chapter 41", "--filter", "source=*41.md")).stdout, /chapter 41/)
    const well = await run("doctor", "--deep")
    assert.strictEqual(well.code, 0, well.stdout)
  }, 300_000)

  it("reports every problem around the index", async () => {
    const run = (...args: ReadonlyArray<string>) => box.run(["doctor", "--db", "index.db", ...args])
    await box.ends(0, ["index", "docs", "--db", "index.db"])
    const well = (await run()).stdout
    assert.match(well, /^ok {3}SQLite: SQLite 3\.\d+/m)
    assert.match(well, /^ok {3}model: /m)

    if (process.platform === "linux") {
      const watcher = box.start(["watch", "docs", "--json", "--db", "index.db"])
      await once(watcher.stdout!, "data")
      assert.match((await run()).stdout, new RegExp(`^ok {3}processes: .*bin\\.js watch \\(${watcher.pid}\\)`, "m"))
      watcher.kill("SIGINT")
      await once(watcher, "close")
    }

    const entry = { command: "/nowhere/node", args: ["/nowhere/bin.js", "mcp", "--db", "/nowhere/index.db"] }
    writeFileSync(
      box.path(".mcp.json"),
      JSON.stringify({ mcpServers: { clew: entry, other: { command: "/nowhere" } } })
    )
    assert.match(
      (await run()).stdout,
      /^warn client: Claude Code names files that do not exist: \/nowhere\/node, \/nowhere\/bin\.js, \/nowhere\/index\.db/m
    )

    writeFileSync(box.path("other.toml"), '[llm]\nbackend = "ollama"\nmodel = "none"\nurl = "http://127.0.0.1:9"\n')
    const silent = await run("--config", "other.toml")
    assert.strictEqual(silent.code, 1)
    assert.match(silent.stdout, /^fail model: Ollama .*127\.0\.0\.1:9/m)

    // The collection has the packaged model; what the configuration wants for new ones is asked all the same.
    const env = { CLEW_EMBEDDING_BACKEND: "ollama", CLEW_EMBEDDING_URL: "http://127.0.0.1:9" }
    const unembedded = await box.ends(1, ["doctor", "--db", "index.db"], undefined, { env })
    assert.match(unembedded.stdout, /^fail embedder: the embedder for new collections: .*127\.0\.0\.1:9/m)

    // A file that was changed less than two seconds before it was read is not known by its times.
    const now = Effect.sync(() => Date.now() + 3000)
    const clock: Clock.Clock = Object.create(Clock.make(), { currentTimeMillis: { value: now } })
    await box.ends(0, ["index", "docs", "--db", "index.db"], undefined, { clock })
    assert.match((await run()).stdout, /^ok {3}origins: .* unchanged since they were indexed/m)
    appendFileSync(box.path("docs/notes.jsonl"), "\n")
    assert.match((await run()).stdout, /^warn origins: 1 file of \d+ has changed since they were indexed/m)

    writeFileSync(box.path("other.toml"), "chunks = 3\n")
    const wrong = await run("--config", "other.toml")
    assert.strictEqual(wrong.code, 1)
    assert.match(wrong.stdout, /^fail configuration: .*unknown key chunks/m)
  }, 300_000)
})
