import { assert, describe, it } from "vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { connect } from "../../src/Store/sqlite/connect.ts"
import { transaction } from "../../src/Store/sqlite/client.ts"
import { disagreements as disagreementsIn } from "../Store/opened.ts"

const bin = path.resolve(import.meta.dirname, "../../dist/bin.js")

const inFolder = async (use: (folder: string) => Promise<void>) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "clew-"))
  try {
    await use(folder)
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

const clew = (folder: string, ...args: ReadonlyArray<string>): ChildProcess & { readonly output: () => string } => {
  const child = spawn(process.execPath, [bin, "--db", path.join(folder, "index.db"), ...args], {
    cwd: folder,
    env: { PATH: process.env["PATH"], HOME: folder },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let output = ""
  child.stdout?.on("data", (data) => (output += data))
  child.stderr?.on("data", (data) => (output += data))
  return Object.assign(child, { output: () => output })
}

const ended = (child: ChildProcess) =>
  new Promise<number | string>((resolve) => child.on("close", (code, signal) => resolve(code ?? signal ?? "?")))

const run = async (folder: string, ...args: ReadonlyArray<string>) => {
  const child = clew(folder, ...args)
  const code = await ended(child)
  assert.strictEqual(code, 0, child.output())
  return child.output()
}

const killedAfter = async (child: ChildProcess, ms: number) => {
  const timer = setTimeout(() => child.kill("SIGKILL"), ms)
  await ended(child)
  clearTimeout(timer)
}

/** Kills a run once others can see that it has stored some documents. */
const killedOnceStored = async (child: ChildProcess, database: string) => {
  const db = new Database(database, { readonly: true })
  const stored = db.prepare("SELECT max(indexed_at) FROM documents").pluck()
  const before = stored.get()
  const timer = setInterval(() => {
    if (stored.get() !== before) child.kill("SIGKILL")
  }, 2)
  await ended(child)
  clearInterval(timer)
  db.close()
}

const rounds = 4
const files = 150
const paragraphs = 20

const text = (file: number, version: string) =>
  Array.from(
    { length: paragraphs },
    (_, index) =>
      `Paragraph ${index} of file ${file} in version ${version}. ${"It goes on about rivers and seas. ".repeat(12)}`
  ).join("\n\n")

const write = (folder: string, version: string) => {
  fs.mkdirSync(path.join(folder, "docs"), { recursive: true })
  for (let file = 0; file < files; file++) {
    fs.writeFileSync(path.join(folder, "docs", `${file}.txt`), text(file, version))
  }
}

/** What the keyword index has that the passages have not, or the other way. */
const disagreements = (filename: string) =>
  connect({ filename, mode: "existing" }).pipe(
    Effect.flatMap((sql) => transaction(sql, "BEGIN")(disagreementsIn(sql))),
    Effect.scoped,
    Effect.runPromise
  )

/** Holds the whole database against what may be in it; gives how many documents are of each version. */
const inspect = async (folder: string): Promise<Record<string, number>> => {
  assert.deepStrictEqual(await disagreements(path.join(folder, "index.db")), [])
  const db = new Database(path.join(folder, "index.db"))
  try {
    assert.deepStrictEqual(db.pragma("integrity_check"), [{ integrity_check: "ok" }])
    assert.deepStrictEqual(db.pragma("foreign_key_check"), [])
    const versions: Record<string, number> = {}
    const documents = db.prepare("SELECT id, source, tail, passages FROM documents").all() as ReadonlyArray<{
      readonly id: number
      readonly source: string
      readonly tail: string
      readonly passages: number
    }>
    const passagesOf = db.prepare(
      `SELECT id, lead, text, start, "end" FROM passages WHERE document_id = ? ORDER BY ordinal`
    )
    for (const document of documents) {
      const passages = passagesOf.all(document.id) as ReadonlyArray<{
        readonly id: number
        readonly lead: string
        readonly text: string
        readonly start: number
        readonly end: number
      }>
      assert.strictEqual(passages.length, document.passages)
      const version = /version (\w+)/.exec(passages[0]?.text ?? "")?.[1] ?? "none"
      versions[version] = (versions[version] ?? 0) + 1
      const whole = text(Number(path.basename(document.source, ".txt")), version)
      for (const passage of passages) assert.strictEqual(whole.slice(passage.start, passage.end), passage.text)
      assert.strictEqual(passages.at(-1)?.end, whole.trimEnd().length)
    }
    const count = (sql: string) => (db.prepare(sql).get() as { readonly n: number }).n
    const total = count("SELECT count(*) AS n FROM passages")
    assert.strictEqual(count("SELECT coalesce(sum(passages), 0) AS n FROM collections"), total)
    if (documents.length > 0) {
      assert.strictEqual(count("SELECT count(*) AS n FROM vectors_1"), total)
    }
    return versions
  } finally {
    db.close()
  }
}

describe("the index on disk", () => {
  it(
    "holds every document wholly old or wholly new after kill -9, also while it is being made, and a second run finishes",
    { timeout: 180_000 },
    () =>
      inFolder(async (folder) => {
        write(folder, "v0")
        const started = Date.now()
        await run(folder, "index", "docs")
        const whole = Date.now() - started
        assert.deepStrictEqual(await inspect(folder), { v0: files })
        const database = path.join(folder, "index.db")
        for (const beside of ["", "-wal", "-shm"]) fs.rmSync(database + beside, { force: true })
        for (let round = 0; round < 4; round++) {
          await killedAfter(clew(folder, "index", "docs"), whole * (0.25 + 0.15 * round))
          if (fs.existsSync(database) && fs.statSync(database).size > 0) {
            await run(folder, "info")
            await inspect(folder)
          }
        }
        await run(folder, "index", "docs")
        assert.deepStrictEqual(await inspect(folder), { v0: files })
        let partial = 0
        for (let round = 1; round <= rounds; round++) {
          write(folder, `v${round}`)
          const child = clew(folder, "index", "docs")
          // At some time, which may be before or after the writing, and as soon as something is stored.
          if (round % 2 === 0) await killedOnceStored(child, database)
          else await killedAfter(child, whole * (0.3 + round / rounds) * (0.9 + Math.random() / 5))
          const versions = await inspect(folder)
          assert.strictEqual(
            Object.values(versions).reduce((sum, n) => sum + n, 0),
            files
          )
          if (Object.keys(versions).length > 1) partial++
        }
        await run(folder, "index", "docs")
        assert.deepStrictEqual(await inspect(folder), { [`v${rounds}`]: files })
        assert.isAbove(partial, 0)
      })
  )

  it("serves two writers and a reader at once", { timeout: 120_000 }, () =>
    inFolder(async (folder) => {
      write(folder, "v0")
      await run(folder, "index", "docs/0.txt")
      const writers = [run(folder, "index", "docs"), run(folder, "index", "docs")]
      const reading = async () => {
        for (let n = 0; n < 5; n++) assert.include(await run(folder, "query", "rivers"), ".txt")
      }
      await Promise.all([...writers, reading()])
      assert.deepStrictEqual(await inspect(folder), { v0: files })
    })
  )

  it("forgets nothing that is there with --prune after kill -9", { timeout: 180_000 }, () =>
    inFolder(async (folder) => {
      const records = 600
      const renew = (version: string) => {
        write(folder, version)
        const record = (n: number) => JSON.stringify({ _id: `r${n}`, text: `Record ${n} of ${version} is about seas.` })
        fs.writeFileSync(path.join(folder, "a.jsonl"), Array.from({ length: records }, (_, n) => record(n)).join("\n"))
      }
      renew("v0")
      const started = Date.now()
      await run(folder, "index", "docs", "a.jsonl")
      const whole = Date.now() - started
      for (let round = 1; round <= 2; round++) {
        renew(`v${round}`)
        const child = clew(folder, "index", ...(round % 2 === 0 ? ["--prune"] : []), "docs", "a.jsonl")
        const killed = setTimeout(() => child.kill("SIGKILL"), whole * (0.2 + 0.3 * round))
        await ended(child)
        clearTimeout(killed)
        await run(folder, "index", "--prune", "docs", "a.jsonl")
        const { documents } = JSON.parse(await run(folder, "info", "--json")) as { readonly documents: number }
        assert.strictEqual(documents, files + records, `round ${round}`)
      }
    })
  )

  it("forgets nothing that is there when runs with --prune overlap", { timeout: 120_000 }, () =>
    inFolder(async (folder) => {
      const record = (n: number) => JSON.stringify({ _id: `r${n}`, text: `Record ${n} is about rivers and seas.` })
      fs.writeFileSync(path.join(folder, "a.jsonl"), Array.from({ length: 1500 }, (_, n) => record(n)).join("\n"))
      await run(folder, "index", "a.jsonl")
      const prune = () => run(folder, "index", "--prune", "a.jsonl")
      await Promise.all([prune(), run(folder, "index", "a.jsonl"), prune()])
      const { documents } = JSON.parse(await run(folder, "info", "--json")) as { readonly documents: number }
      assert.strictEqual(documents, 1500)
    })
  )
})
