import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as fs from "node:fs"
import * as path from "node:path"
import { connect } from "../../../src/Store/sqlite/connect.ts"
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
