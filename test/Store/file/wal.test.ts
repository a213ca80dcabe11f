import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as fs from "node:fs"
import * as path from "node:path"
import { connect } from "../../../src/Store/sqlite/connect.ts"
import { belongs, markSql, wasOverwritten } from "../../../src/Store/sqlite/file/marks.ts"
import * as Turn from "../../../src/runtime/Turn.ts"
import { walKeeper } from "../../../src/Store/sqlite/Database.ts"
import { temporaryFolder } from "../../folder.ts"

it.scoped("gives back a WAL that grew beside a reader, once that one is gone", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const filename = path.join(folder, "index.db")
    const sql = yield* connect({ filename, mode: "create" })
    const most = 256 * 1024
    const committed = yield* walKeeper(sql, Turn.make(), filename, most)
    const reader = new Database(filename, { readonly: true })
    reader.exec("BEGIN")
    reader.prepare("SELECT count(*) FROM documents").get()
    yield* sql.unsafe("CREATE TABLE large (body BLOB)")
    for (let n = 0; n < 8; n++) {
      yield* sql.unsafe("INSERT INTO large VALUES (randomblob(65536))")
      yield* committed
    }
    const size = () => fs.statSync(`${filename}-wal`).size
    yield* TestClock.adjust(Duration.seconds(3))
    assert.isAbove(size(), most)
    reader.exec("COMMIT")
    reader.close()
    yield* TestClock.adjust(Duration.seconds(3))
    assert.strictEqual(size(), 0)
  })
)

it.scoped("lets the WAL of a large index grow to a sixteenth of it before it is copied back", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const filename = path.join(folder, "index.db")
    const sql = yield* connect({ filename, mode: "create" })
    const committed = yield* walKeeper(sql, Turn.make(), filename, 256 * 1024 * 1024)
    const pages = Effect.map(sql`PRAGMA wal_autocheckpoint`, ([row]) => Object.values(row!)[0])
    yield* sql.unsafe("CREATE TABLE large (body BLOB)")
    yield* sql.unsafe("INSERT INTO large VALUES (zeroblob(17000000))")
    yield* committed
    assert.strictEqual(yield* pages, 4000)
    // As large as if it had so many pages; what is beyond those that its header counts is not read.
    fs.truncateSync(filename, 400 * 1024 * 1024)
    yield* committed
    assert.strictEqual(yield* pages, 6400)
    fs.truncateSync(filename, 3 * 1024 ** 3)
    fs.truncateSync(`${filename}-wal`, 6400 * 4096)
    yield* committed
    assert.strictEqual(yield* pages, 32_000)
  })
)

/** Reads of this process so far, as Linux counts them. */
const reads = () => Number(/syscr: (\d+)/.exec(fs.readFileSync("/proc/self/io", "latin1"))![1])

it.scoped.skipIf(process.platform !== "linux")("reads few frames of a large WAL to know its file", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const filename = path.join(folder, "index.db")
    yield* Effect.scoped(connect({ filename, mode: "create" }))
    const writer = new Database(filename)
    writer.pragma("journal_mode = WAL")
    writer.pragma("wal_autocheckpoint = 0")
    writer.exec(markSql.next)
    for (let n = 0; n < 1000; n++) writer.exec(`INSERT INTO reserve (id, body) VALUES (${n}, randomblob(8000))`)
    const fd = fs.openSync(filename, "r")
    const mark = writer.prepare("SELECT lower(hex(now)) FROM file_mark").pluck().get() as string
    for (const copiedBack of [false, true]) {
      if (copiedBack) writer.pragma("wal_checkpoint(PASSIVE)")
      const before = reads()
      assert.isTrue(belongs(filename, fd))
      assert.isFalse(wasOverwritten(filename, fd, { mark, shrunk: undefined }))
      assert.isBelow(reads() - before, 100)
    }
    fs.closeSync(fd)
    writer.close()
  })
)
