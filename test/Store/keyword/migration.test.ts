import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import { CollectionName, defaultCollection } from "../../../src/model/Collection.ts"
import { Store } from "../../../src/Store.ts"
import * as Sqlite from "../../../src/Store/Sqlite.ts"
import { connect } from "../../../src/Store/sqlite/connect.ts"
import * as keyword from "../../../src/Store/sqlite/keyword.ts"
import { document, embedder } from "../../contracts/Store.ts"

const empty = CollectionName.make("empty")
const other = CollectionName.make("other")

/** Turns a database into one of the first schema, with FTS5's tables in the place of postings. */
const takeBack = (filename: string): void => {
  const db = new Database(filename)
  for (const table of ["segments", "postings", "tombstones"]) db.exec(`DROP TABLE keyword_${table}`)
  for (const id of db.prepare("SELECT id FROM collections").pluck().all()) {
    db.exec(
      `CREATE VIRTUAL TABLE keyword_${id} USING fts5 (title, heading, text, content = '', contentless_delete = 1)`
    )
  }
  for (const table of ["blocks", "epochs", "sets"]) db.exec(`DROP TABLE code_${table}`)
  for (const index of ["passages", "unnamed"]) db.exec(`DROP INDEX documents_${index}`)
  db.exec("ALTER TABLE documents DROP COLUMN first_passage")
  db.exec("ALTER TABLE documents DROP COLUMN seen_run")
  for (const table of ["run_numbers", "file_mark"]) db.exec(`DROP TABLE ${table}`)
  db.exec("ALTER TABLE collections DROP COLUMN changes")
  db.exec("DELETE FROM clew_migrations WHERE migration_id > 1")
  db.pragma("user_version = 1")
  db.close()
}

it.layer(NodeFileSystem.layer)("a database of the first schema", (it) => {
  it.scoped("is given postings for its passages, and keeps nothing of FTS5", () =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const filename = `${yield* files.makeTempDirectoryScoped()}/index.db`
      const lines = (count: number, word: string) =>
        Array.from({ length: count }, (_, n) => `${word} ${n} of many`).join("\n")
      yield* Effect.gen(function* () {
        const store = yield* Store
        for (const name of [defaultCollection, empty, other]) yield* store.createCollection(name, embedder)
        // In turns, so that neither has consecutive ids; more than a page of them.
        for (let n = 0; n < 5; n++) {
          yield* store.put(defaultCollection, [
            document(lines(600, `river${n}`), { title: "A title", source: `river${n}` })
          ])
          yield* store.put(other, [document(lines(10, `sea${n}`), { source: `sea${n}` })])
        }
        yield* store.deleteSource(other, "sea2")
      }).pipe(Effect.provide(Sqlite.layer({ filename, mode: "create" })))
      takeBack(filename)

      yield* Effect.gen(function* () {
        const store = yield* Store
        const find = (collection: CollectionName, text: string) =>
          store.rank({ collection, keyword: text, alpha: 0, fusion: "rrf", filter: {}, limit: 10 })
        assert.strictEqual((yield* find(defaultCollection, "river3 599"))[0]?.passage.text, "river3 599 of many")
        assert.strictEqual((yield* find(other, "sea4")).length, 10)
        assert.strictEqual((yield* find(other, "sea2")).length, 0)
        assert.strictEqual((yield* find(empty, "sea4")).length, 0)
        yield* store.put(empty, [document("sea4")])
        assert.strictEqual((yield* find(empty, "sea4")).length, 1)
      }).pipe(Effect.provide(Sqlite.layer({ filename, mode: "existing" })))

      const sql = yield* connect({ filename, mode: "readonly" })
      const collections = yield* sql.unsafe<{ readonly id: number }>("SELECT id FROM collections")
      assert.strictEqual(collections.length, 3)
      for (const { id } of collections) assert.deepStrictEqual(yield* keyword.verify(sql, id), [])
      assert.deepStrictEqual(yield* sql.unsafe("SELECT name FROM sqlite_schema WHERE sql LIKE '%fts5%'"), [])
    })
  )
})
