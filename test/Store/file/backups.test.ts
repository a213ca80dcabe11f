import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as path from "node:path"
import { defaultCollection } from "../../../src/model/Collection.ts"
import * as SqliteBackups from "../../../src/Store/SqliteBackups.ts"
import { temporaryFolder } from "../../folder.ts"
import { opened as open } from "../opened.ts"
import { sqliteDriver } from "../../sqlite.ts"
import { document, embedder } from "../../contracts/Store.ts"
import { Backups, Examiner, Store } from "../../../src/Store.ts"
import * as SqliteExaminer from "../../../src/Store/SqliteExaminer.ts"

const put = (store: typeof Store.Service, text: string) =>
  store.put(defaultCollection, [document(text, { source: text.slice(0, 40).trim() })])

const sources = (store: typeof Store.Service) =>
  Effect.map(store.list(defaultCollection, { limit: 1000 }), (found) => found.map(({ source }) => source))

const place = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const filename = path.join(folder, "index.db")
  const backups = yield* Effect.provide(Backups, SqliteBackups.layer(filename))
  return { folder, filename, target: path.join(folder, "backup.db"), backups }
})

it.scoped("backs up while a writer works, and restores to what it was", () =>
  Effect.gen(function* () {
    const { filename, folder, backups, target } = yield* place
    const { close, store } = yield* open(filename)
    yield* store.createCollection(defaultCollection, embedder)
    yield* put(store, "first")
    const writing = yield* Effect.fork(
      Effect.forEach(
        Array.from({ length: 30 }, (_, n) => n),
        (n) => Effect.zipRight(put(store, `more ${n}`), Effect.yieldNow())
      )
    )
    const made = yield* backups.backup(target)
    yield* Fiber.join(writing)
    assert.strictEqual(fs.statSync(target).mode & 0o777, 0o600)
    assert.deepStrictEqual(
      fs.readdirSync(folder).filter((name) => !name.startsWith("index")),
      ["backup.db"]
    )
    const copy = new Database(target, { readonly: true })
    assert.deepStrictEqual(copy.pragma("integrity_check"), [{ integrity_check: "ok" }])
    assert.deepStrictEqual(copy.prepare("SELECT count(*) AS n FROM documents").get(), { n: made.documents })
    assert.isBelow(made.documents, 31)
    copy.close()

    // Another index that is in use is not.
    const used = yield* open(path.join(folder, "used.db"))
    yield* used.store.createCollection(defaultCollection, embedder)
    assert.match((yield* Effect.flip(backups.backup(path.join(folder, "used.db")))).message, /is an index in use/)
    yield* used.close
    fs.rmSync(path.join(folder, "used.db"))

    // An older backup is replaced.
    const again = yield* backups.backup(target)
    assert.strictEqual(again.documents, 31)
    yield* put(store, "after the backup")
    yield* close
    assert.strictEqual((yield* backups.restore(target)).documents, 31)
    assert.deepStrictEqual(fs.readdirSync(folder).sort(), ["backup.db", "index.db"])
    const restored = yield* open(filename)
    assert.notInclude(yield* sources(restored.store), "after the backup")
    assert.strictEqual((yield* restored.store.stats()).documents, 31)
  })
)

it.scoped("restores over what a killed process left, whose WAL is not copied into it", () =>
  Effect.gen(function* () {
    const { filename, folder, backups, target } = yield* place
    const { close, store } = yield* open(filename)
    yield* store.createCollection(defaultCollection, embedder)
    yield* put(store, "first")
    yield* backups.backup(target)
    yield* put(store, "second")
    const crashed = path.join(folder, "crashed")
    fs.mkdirSync(crashed)
    for (const end of ["", "-wal"]) fs.copyFileSync(filename + end, path.join(crashed, `index.db${end}`))
    yield* close
    // By hand it is refused, by restore it is done right.
    fs.copyFileSync(target, path.join(crashed, "index.db"))
    const refused = yield* Effect.flip(Effect.scoped(open(path.join(crashed, "index.db"))))
    assert.match(refused.message, /does not belong/)
    const there = yield* Effect.provide(Backups, SqliteBackups.layer(path.join(crashed, "index.db")))
    yield* there.restore(target)
    assert.deepStrictEqual(fs.readdirSync(crashed), ["index.db"])
    const restored = yield* open(path.join(crashed, "index.db"))
    assert.deepStrictEqual(yield* sources(restored.store), ["first"])
  })
)

it.scoped("leaves the index as it was where a restore is refused", () =>
  Effect.gen(function* () {
    const { filename, folder, backups, target } = yield* place
    const { close, store } = yield* open(filename)
    yield* store.createCollection(defaultCollection, embedder)
    for (let n = 0; n < 50; n++) yield* put(store, `document ${n} ${"of many words ".repeat(20)}`)
    yield* backups.backup(target)
    yield* close
    const before = fs.readFileSync(filename)
    const refusal = (file: string) => Effect.map(Effect.flip(backups.restore(file)), ({ message }) => message)

    const damaged = path.join(folder, "damaged.db")
    const bytes = fs.readFileSync(target)
    bytes.fill(0x5a, bytes.length - 8192, bytes.length - 4096)
    bytes.fill(0x5a, bytes.length - 40_960, bytes.length - 36_864)
    fs.writeFileSync(damaged, bytes)
    assert.include(yield* refusal(damaged), `\`clew doctor --db ${damaged}\``)
    fs.writeFileSync(damaged, bytes.subarray(0, 50_000))
    assert.include(yield* refusal(damaged), `${damaged} is damaged`)
    fs.writeFileSync(path.join(folder, "text"), "no database at all ".repeat(20))
    assert.match(yield* refusal(path.join(folder, "text")), /is not a Clew backup/)
    assert.match(yield* refusal(folder), /is a directory; name a file that `clew backup` made/)
    fs.writeFileSync(path.join(folder, "empty"), "")
    assert.match(yield* refusal(path.join(folder, "empty")), /is empty/)
    assert.match(yield* refusal(path.join(folder, "missing")), /There is no backup/)
    assert.match(yield* refusal(filename), /is the index itself/)
    assert.match((yield* Effect.flip(backups.backup(filename))).message, /is the index itself/)
    assert.match((yield* Effect.flip(backups.backup(path.join(folder, "text")))).message, /is not a Clew backup/)

    // Another process that has it open for writing.
    const other = spawn(process.execPath, [
      "-e",
      `const db = new (require(process.argv[2]))(process.argv[1]); db.pragma("journal_mode = WAL");
       db.prepare("SELECT * FROM documents").all(); console.log("open"); process.stdin.resume()`,
      filename,
      sqliteDriver
    ])
    yield* Effect.promise(() => once(other.stdout, "data"))
    assert.match(yield* refusal(target), /Another program has .* open/)
    other.kill("SIGKILL")
    yield* Effect.promise(() => once(other, "close"))
    for (const end of ["-wal", "-shm"]) fs.rmSync(filename + end, { force: true })
    const after = fs.readFileSync(filename)
    // But for the journal's mode in the header and its counters.
    assert.deepStrictEqual(after.subarray(4096), before.subarray(4096))
    assert.strictEqual((yield* backups.restore(target)).documents, 50)
    assert.deepStrictEqual(
      fs.readdirSync(folder).filter((name) => name.includes("partial")),
      []
    )
  })
)

it.scoped("restores beside a reader that never pauses", () =>
  Effect.gen(function* () {
    const { backups, filename, target } = yield* place
    const { close, store } = yield* open(filename)
    yield* store.createCollection(defaultCollection, embedder)
    yield* put(store, "old")
    yield* backups.backup(target)
    yield* put(store, "new")
    yield* close
    const reader = new Database(filename, { readonly: true })
    const count = () => reader.prepare("SELECT count(*) AS n FROM documents").get()
    reader.exec("BEGIN")
    assert.deepStrictEqual(count(), { n: 2 })
    assert.strictEqual((yield* backups.restore(target)).documents, 1)
    assert.deepStrictEqual(count(), { n: 2 })
    reader.close()
    assert.deepStrictEqual(yield* sources((yield* open(filename)).store), ["old"])
  })
)

it.scoped("a damaged index replaces no backup, and a damaged backup is told by a check", () =>
  Effect.gen(function* () {
    const { filename, folder, backups, target } = yield* place
    const { close, store } = yield* open(filename)
    yield* store.createCollection(defaultCollection, embedder)
    for (let n = 0; n < 50; n++) yield* put(store, `document ${n} ${"of many words ".repeat(20)}`)
    yield* close
    const whole = yield* backups.backup(target)
    assert.deepStrictEqual(yield* backups.check(target), whole)
    const good = fs.readFileSync(target)
    const index = fs.readFileSync(filename)

    const changes: Readonly<Record<string, (file: string) => void>> = {
      "a letter": (file) => change(file, "UPDATE passages SET text = 'D' || substr(text, 2) WHERE id = 7"),
      "a vector": (file) => change(file, "UPDATE vectors_1 SET vector = zeroblob(length(vector)) WHERE passage_id = 7"),
      "a missing vector": (file) => change(file, "DELETE FROM vectors_1 WHERE passage_id = 7"),
      "an orphan": (file) => change(file, "DELETE FROM documents WHERE id = 7"),
      pages: (file) => {
        const bytes = fs.readFileSync(file)
        bytes.fill(0x5a, bytes.length - 8192, bytes.length - 4096)
        bytes.fill(0x5a, bytes.length - 40_960, bytes.length - 36_864)
        fs.writeFileSync(file, bytes)
      }
    }
    for (const [what, alter] of Object.entries(changes)) {
      fs.writeFileSync(filename, index)
      alter(filename)
      const refused = yield* Effect.flip(backups.backup(target))
      assert.match(refused.message, /is damaged \(.*\), so .* was left as it was; run `clew doctor --fix`/, what)
      assert.deepStrictEqual(fs.readFileSync(target), good, what)

      const copy = path.join(folder, "copy.db")
      fs.writeFileSync(copy, good)
      alter(copy)
      const found = yield* Effect.flip(backups.check(copy))
      assert.match(found.message, /The backup .*copy\.db is damaged \(/, what)
      fs.rmSync(copy)
    }
    assert.deepStrictEqual(fs.readdirSync(folder).sort(), ["backup.db", "index.db"])
    assert.match((yield* Effect.flip(backups.check(path.join(folder, "none")))).message, /There is no backup/)
  })
)

it.scoped("keeps as many backups as asked, the newest under the name itself", () =>
  Effect.gen(function* () {
    const { filename, folder, backups, target } = yield* place
    const { close, store } = yield* open(filename)
    yield* store.createCollection(defaultCollection, embedder)
    for (let n = 1; n <= 5; n++) {
      yield* put(store, `document ${n}`)
      yield* backups.backup(target, { keep: 3 })
    }
    const names = fs.readdirSync(folder).filter((name) => name.startsWith("backup"))
    assert.deepStrictEqual(names.sort(), ["backup.db", "backup.db.1", "backup.db.2"])
    const held = yield* Effect.forEach(names, (name) => backups.check(path.join(folder, name)))
    assert.deepStrictEqual(
      held.map(({ documents }) => documents),
      [5, 4, 3]
    )
    // Without it, only the newest is replaced.
    yield* backups.backup(target)
    assert.strictEqual((yield* backups.check(`${target}.1`)).documents, 4)
    // A file that is no backup is not overwritten.
    fs.writeFileSync(`${target}.1`, "notes of somebody's ".repeat(20))
    assert.match((yield* Effect.flip(backups.backup(target, { keep: 3 }))).message, /backup\.db\.1 .*not a Clew backup/)
    assert.strictEqual((yield* backups.check(target)).documents, 5)
    yield* close
  })
)

for (const [type, made] of [
  ["trigger", "CREATE TRIGGER t AFTER INSERT ON documents BEGIN DELETE FROM documents WHERE id <> new.id; END"],
  [
    "view",
    "ALTER TABLE files RENAME TO held; CREATE VIEW files AS WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x FROM n) SELECT held.* FROM held, n"
  ]
] as const) {
  it.scoped(`opens no index and restores no backup with a ${type}, which SQLite would run`, () =>
    Effect.gen(function* () {
      const { backups, filename, folder, target } = yield* place
      const { close, store } = yield* open(filename)
      yield* store.createCollection(defaultCollection, embedder)
      yield* put(store, "first")
      yield* backups.backup(target)
      yield* close
      for (const file of [filename, target]) change(file, made)
      const says = new RegExp(`has a ${type}, which no Clew makes`)
      assert.match((yield* Effect.flip(open(filename))).message, says)
      assert.match((yield* Effect.flip(backups.check(target))).message, says)
      assert.match((yield* Effect.flip(backups.backup(path.join(folder, "other.db")))).message, says)
      fs.rmSync(filename)
      assert.match((yield* Effect.flip(backups.restore(target))).message, says)
      assert.isFalse(fs.existsSync(filename))
      const { examine } = yield* Effect.provide(Examiner, SqliteExaminer.layer(target))
      assert.deepStrictEqual(
        (yield* examine(() => Effect.void)).map(({ detail, status }) => [status, says.test(detail)]),
        [["fail", true]]
      )
    })
  )
}

const change = (file: string, statement: string) => {
  const db = new Database(file)
  db.pragma("foreign_keys = OFF")
  db.exec(statement)
  db.close()
}
