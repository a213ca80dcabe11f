import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import { execFileSync, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import { defaultCollection } from "../../../src/model/Collection.ts"
import type { Store } from "../../../src/Store.ts"
import * as Threaded from "../../../src/Store/SqliteThreaded.ts"
import { document, embedder } from "../../contracts/Store.ts"
import * as Sqlite from "../../../src/Store/Sqlite.ts"
import { startWorker } from "../../../src/runtime/workers.ts"
import { temporaryFolder } from "../../folder.ts"
import { opened as open } from "../opened.ts"
import { sqliteDriver } from "../../sqlite.ts"

type Mode = Sqlite.DatabaseOptions["mode"]

const modes: ReadonlyArray<Mode> = ["create", "existing", "readonly"]

/** A thread that starts only then is told so by what it finds at the path. */
const overwritten = /overwritten in place|does not belong to|is empty but .* is not/

const put = (store: typeof Store.Service, text: string) =>
  store.put(defaultCollection, [document(text, { source: text })])

const sources = (store: typeof Store.Service) =>
  Effect.map(store.list(defaultCollection, { limit: 100 }), (found) => found.map(({ source }) => source))

/** An index with these documents, closed. */
const index = (filename: string, ...texts: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { store } = yield* open(filename)
      yield* Effect.ignore(store.createCollection(defaultCollection, embedder))
      for (const text of texts) yield* put(store, text)
    })
  )

const refusal = (filename: string, mode: Mode) =>
  Effect.map(Effect.flip(Effect.scoped(open(filename, { mode }))), ({ reason }) => reason)

/** What stands in a folder, byte by byte. */
const bytesOf = (folder: string) =>
  Object.fromEntries(fs.readdirSync(folder).map((name) => [name, fs.readFileSync(path.join(folder, name), "hex")]))

const stores: ReadonlyArray<readonly [string, typeof Sqlite.layer]> = [
  ["on one thread", Sqlite.layer],
  ["of a command", Threaded.layer],
  ["read in threads", (options) => Threaded.layerPooled({ ...options, readers: 2 })]
]

for (const [name, layer] of stores) {
  it.scoped(`opens the file that has taken an open one's place, ${name}`, () =>
    Effect.gen(function* () {
      const here = yield* temporaryFolder
      const [filename, other] = [path.join(here, "index.db"), path.join(here, "other.db")]
      yield* index(filename, "old")
      yield* index(other, "new")
      const { close, store } = yield* open(filename, { layer })
      yield* put(store, "before")
      for (const end of ["-wal", "-shm"]) fs.rmSync(filename + end)
      fs.renameSync(other, filename)
      yield* put(store, "after")
      assert.deepStrictEqual(yield* sources(store), ["after", "new"])
      assert.strictEqual((yield* store.stats()).documents, 2)
      yield* close
      const again = yield* open(filename, { mode: "existing" })
      assert.deepStrictEqual(yield* sources(again.store), ["after", "new"])
    })
  )

  it.scoped(`acknowledges nothing once its file is removed, ${name}`, () =>
    Effect.gen(function* () {
      const here = yield* temporaryFolder
      const filename = path.join(here, "index.db")
      yield* index(filename, "old")
      const { store } = yield* open(filename, { layer })
      yield* put(store, "before")
      fs.rmSync(filename)
      const failed = yield* Effect.flip(put(store, "lost"))
      assert.match(failed.message, /was removed while it was open|There is no index at/)
      assert.match((yield* Effect.flip(store.stats())).message, /was removed while it was open/)
      assert.match((yield* Effect.flip(sources(store))).message, /was removed while it was open|There is no index at/)
      assert.isFalse(fs.existsSync(filename))
    })
  )

  it.scoped(`says why where its folder can no longer be entered, and goes on when it can, ${name}`, () =>
    Effect.gen(function* () {
      const folder = path.join(yield* temporaryFolder, "here")
      fs.mkdirSync(folder)
      const filename = path.join(folder, "index.db")
      yield* index(filename, "old")
      const { store } = yield* open(filename, { layer })
      yield* put(store, "before")
      // Root may enter any folder, but not follow such a link.
      fs.renameSync(folder, `${folder}.away`)
      fs.symlinkSync(folder, folder)
      for (const call of [put(store, "refused"), Effect.asVoid(sources(store)), Effect.asVoid(store.stats())]) {
        assert.match((yield* Effect.flip(call)).message, /cannot be opened: its links form a circle/)
      }
      fs.rmSync(folder)
      fs.renameSync(`${folder}.away`, folder)
      yield* put(store, "after")
      assert.sameMembers(yield* sources(store), ["old", "before", "after"])
    })
  )

  it.scoped(`acknowledges nothing once its WAL is removed or replaced, ${name}`, () =>
    Effect.gen(function* () {
      const filename = path.join(yield* temporaryFolder, "index.db")
      yield* index(filename, "old")
      const { store } = yield* open(filename, { layer })
      yield* put(store, "before")
      fs.rmSync(`${filename}-wal`)
      for (const _ of [1, 2]) {
        assert.match((yield* Effect.flip(put(store, "lost"))).message, /-wal was removed or replaced while/)
        fs.writeFileSync(`${filename}-wal`, "")
      }
    })
  )

  it.scoped(`notices that its file was overwritten in place, ${name}`, () =>
    Effect.gen(function* () {
      const here = yield* temporaryFolder
      const [filename, backup] = [path.join(here, "index.db"), path.join(here, "backup.db")]
      yield* index(filename, "first")
      fs.copyFileSync(filename, backup)
      yield* index(filename, "second")
      const { store } = yield* open(filename, { layer })
      yield* put(store, "third")
      fs.copyFileSync(backup, filename)
      assert.match((yield* Effect.flip(put(store, "fourth"))).message, overwritten)
      assert.match((yield* Effect.flip(sources(store))).message, overwritten)
      fs.truncateSync(filename, 0)
      assert.match((yield* Effect.flip(put(store, "fifth"))).message, overwritten)
    })
  )
}

it.scoped("reads an index whose last program was killed as it closed it, and left a journal to be taken back", () =>
  Effect.gen(function* () {
    const filename = path.join(yield* temporaryFolder, "index.db")
    yield* index(filename, "kept")
    const left = `
      const db = new (require(process.argv[2]))(process.argv[1])
      db.exec("PRAGMA cache_size = 1; BEGIN; CREATE TABLE t AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 5000) SELECT x, randomblob(500) FROM n")
      process.kill(process.pid, "SIGKILL")`
    for (const mode of ["readonly", "existing"] as const) {
      assert.strictEqual(spawnSync(process.execPath, ["-e", left, filename, sqliteDriver]).signal, "SIGKILL")
      assert.isAbove(fs.statSync(`${filename}-journal`).size, 0)
      const { close, store } = yield* open(filename, { mode })
      assert.deepStrictEqual(yield* sources(store), ["kept"])
      yield* close
    }
  })
)

it.scoped("a thread opens a file whose inode number a deleted one had, whose descriptor its parent has closed", () =>
  Effect.gen(function* () {
    const filename = path.join(yield* temporaryFolder, "index.db")
    yield* index(filename, "restored")
    const { dev, ino } = fs.statSync(filename, { bigint: true })
    for (const opened of [undefined, "/dev/null"]) {
      const fd = fs.openSync(opened ?? filename, "r")
      if (opened === undefined) fs.closeSync(fd)
      const thread = startWorker(
        { source: "../test/Store/file/headerThread.ts", built: "" },
        { filename, raw: { fd, dev, ino } }
      )
      const header = yield* Effect.promise(
        () =>
          new Promise<{ readonly isWal: boolean } | undefined>((resolve, reject) => {
            thread.once("message", resolve)
            thread.once("error", reject)
          })
      )
      yield* Effect.promise(() => thread.terminate())
      if (opened !== undefined) fs.closeSync(fd)
      assert.isDefined(header)
    }
  })
)

it.scoped("refuses a file beside another's WAL, and takes one beside its own", () =>
  Effect.gen(function* () {
    const here = yield* temporaryFolder
    const filename = path.join(here, "index.db")
    yield* index(filename, "first")
    const backups = [path.join(here, "first.db"), path.join(here, "second.db")]
    fs.copyFileSync(filename, backups[0]!)
    yield* index(filename, "second")
    fs.copyFileSync(filename, backups[1]!)
    const other = path.join(here, "other.db")
    yield* index(other, "of another index")

    const { close, store } = yield* open(filename)
    yield* put(store, "third")
    // As a killed process leaves them.
    const crashed = (name: string, main: string) => {
      const made = path.join(here, name)
      fs.mkdirSync(made)
      fs.copyFileSync(main, path.join(made, "index.db"))
      fs.copyFileSync(`${filename}-wal`, path.join(made, "index.db-wal"))
      return made
    }
    for (const [place, main] of [backups[0]!, other].entries()) {
      const made = crashed(`strange${place}`, main)
      const before = bytesOf(made)
      for (const mode of modes) {
        assert.match(
          yield* refusal(path.join(made, "index.db"), mode),
          /index\.db-wal does not belong to .*clew restore/
        )
      }
      assert.deepStrictEqual(bytesOf(made), before)
    }
    for (const [place, main] of [backups[1]!, filename].entries()) {
      const made = crashed(`own${place}`, main)
      const again = yield* open(path.join(made, "index.db"), { mode: "existing" })
      assert.deepStrictEqual(yield* sources(again.store), ["first", "second", "third"])
    }
    yield* close
    assert.deepStrictEqual(
      fs.readdirSync(here).filter((name) => name.startsWith("index")),
      ["index.db"]
    )
  })
)

it.scoped("knows its WAL also after it was copied back in part and begun anew", () =>
  Effect.gen(function* () {
    const here = yield* temporaryFolder
    const filename = path.join(here, "index.db")
    yield* index(filename, "first")
    const { store } = yield* open(filename)
    const other = new Database(filename)
    const seen = ["first"]
    for (let round = 0; round < 6; round++) {
      yield* put(store, `round ${round}`)
      seen.push(`round ${round}`)
      const copy = path.join(here, `copy${round}`)
      fs.mkdirSync(copy)
      for (const end of ["", "-wal"]) fs.copyFileSync(filename + end, path.join(copy, `index.db${end}`))
      const again = yield* open(path.join(copy, "index.db"), { mode: "existing" })
      assert.deepStrictEqual(yield* sources(again.store), seen)
      other.pragma(`wal_checkpoint(${["PASSIVE", "RESTART", "TRUNCATE"][round % 3]})`)
    }
    other.close()
  })
)

/** Locks that processes hold on a file, as Linux lists them. */
const locksOn = (filename: string) =>
  fs
    .readFileSync("/proc/locks", "utf8")
    .split("\n")
    .filter((line) => line.includes(`:${fs.statSync(filename).ino} `)).length

it.scoped.skipIf(process.platform !== "linux")(
  "keeps its locks when its file is opened and closed again in the same process",
  () =>
    Effect.gen(function* () {
      const here = yield* temporaryFolder
      const filename = path.join(here, "index.db")
      yield* index(filename, "first")
      const { store } = yield* open(filename, { layer: (options) => Threaded.layerPooled({ ...options, readers: 1 }) })
      yield* put(store, "second")
      assert.isAbove(locksOn(filename), 0)
      const again = yield* open(filename, { mode: "readonly" })
      assert.deepStrictEqual(yield* sources(again.store), ["first", "second"])
      yield* again.close
      // Without them another process may think itself the last one, and take the WAL away.
      assert.isAbove(locksOn(filename), 0)
    })
)

it.scoped("writes no more once a newer program has changed the schema", () =>
  Effect.gen(function* () {
    const here = yield* temporaryFolder
    const filename = path.join(here, "index.db")
    yield* index(filename, "first")
    const { store } = yield* open(filename)
    const newer = new Database(filename)
    newer.pragma("user_version = 99")
    assert.match((yield* Effect.flip(put(store, "second"))).message, /newer Clew .*schema 99.*restart/)
    assert.deepStrictEqual(newer.prepare("SELECT count(*) AS n FROM documents").get(), { n: 1 })
    newer.close()
  })
)

it.scoped("refuses what is no index, and waits for none of it", () =>
  Effect.gen(function* () {
    const here = yield* temporaryFolder
    const named = (name: string) => path.join(here, name)
    execFileSync("mkfifo", [named("pipe")])
    fs.mkdirSync(named("folder"))
    const server = net.createServer().listen(named("socket"))
    yield* Effect.addFinalizer(() => Effect.async<void>((resume) => void server.close(() => resume(Effect.void))))
    yield* Effect.async<void>((resume) => void server.once("listening", () => resume(Effect.void)))
    fs.writeFileSync(named("empty"), "")
    fs.writeFileSync(named("empty-wal"), "something")
    fs.writeFileSync(named("beside"), "")
    execFileSync("mkfifo", [named("beside-wal")])
    const foreign = new Database(named("foreign"))
    foreign.exec("CREATE TABLE theirs (x)")
    foreign.pragma(`application_id = ${0x436c6577}`)
    foreign.close()
    const versioned = new Database(named("versioned"))
    versioned.pragma(`application_id = ${0x436c6577}`)
    versioned.pragma("user_version = 3")
    versioned.close()
    const wanted: ReadonlyArray<readonly [string, RegExp]> = [
      ["pipe", /it is a named pipe/],
      ["folder", /it is a directory/],
      ["socket", /it is a socket/],
      ["../../../dev/null", /it is a device/],
      ["empty", /is empty but .*empty-wal is not.*nothing was written/],
      ["beside", /beside-wal is a named pipe/],
      ["foreign", /is not a Clew index/],
      ["versioned", /is not a Clew index/]
    ]
    const before = ["empty", "empty-wal", "foreign", "versioned"].map((name) => fs.readFileSync(named(name), "hex"))
    for (const mode of modes) {
      for (const [name, reason] of wanted) {
        const filename = name.startsWith("..") ? "/dev/null" : named(name)
        assert.match(yield* refusal(filename, mode), reason, `${name} ${mode}`)
      }
    }
    assert.deepStrictEqual(
      ["empty", "empty-wal", "foreign", "versioned"].map((name) => fs.readFileSync(named(name), "hex")),
      before
    )
  })
)
