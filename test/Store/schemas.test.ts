import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { copyFileSync, readFileSync, readdirSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { CollectionName, defaultCollection } from "../../src/model/Collection.ts"
import { Examiner, whole } from "../../src/Store.ts"
import * as SqliteExaminer from "../../src/Store/SqliteExaminer.ts"
import { schemaVersion } from "../../src/Store/sqlite/schema.ts"
import { connect } from "../../src/Store/sqlite/connect.ts"
import { beyondAscii } from "../contracts/beyondAscii.ts"
import { dialectOf } from "../../src/Store/sql/dialect.ts"
import { metadataRows } from "../../src/Store/sql/filter.ts"
import * as structure from "../../src/Store/examine/structure.ts"
import { disagreements, indexFile } from "./opened.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { ranked } from "../ranked.ts"

const folder = fileURLToPath(new URL("../fixtures/schemas/", import.meta.url))
const fixtures = readdirSync(folder).filter((name) => name.endsWith(".db"))
const notes = CollectionName.make("notes")

describe("an index of an older schema", () => {
  for (const name of fixtures) {
    it.scoped(`answers, and is made anew step by step: ${name}`, () =>
      Effect.gen(function* () {
        const filename = yield* indexFile
        copyFileSync(`${folder}${name}`, filename)
        yield* Effect.gen(function* () {
          const store = yield* whole
          const find = (collection: CollectionName, text: string) =>
            Effect.map(ranked(store, { collection, keyword: text }), (hits) =>
              hits.map(({ document }) => document.source.split("/").at(-1))
            )
          const pending = yield* store.rebuilds()
          if (/^[123]\b/.test(name)) {
            assert.deepStrictEqual(
              pending.map(({ collection, done, kind, missing }) => ({ collection, done, kind, missing })),
              [notes, defaultCollection].map((collection) => ({
                collection,
                done: 0,
                kind: "postings",
                missing: name === "1.db"
              }))
            )
          } else {
            assert.isFalse(pending.some(({ done, missing }) => done > 0 || missing))
          }
          // What there is answers meanwhile.
          if (name !== "1.db") assert.deepStrictEqual(yield* find(defaultCollection, "dough"), ["bread.md"])
          while ((yield* store.rebuildStep()) !== undefined);
          assert.deepStrictEqual(yield* store.rebuilds(), [])

          for (const [source, { finds }] of Object.entries(beyondAscii)) {
            for (const text of finds) assert.deepStrictEqual(yield* find(defaultCollection, text), [source], text)
          }
          assert.deepStrictEqual(yield* find(defaultCollection, "kneten"), [])
          assert.deepStrictEqual(yield* find(notes, "lava"), ["notes.jsonl#n1"])
          // Names of the graph are found by their beginnings, whichever schema collected them.
          if (/^1[89]\b/.test(name)) {
            const suggested = yield* store.suggest([defaultCollection], "tid", 5)
            assert.deepStrictEqual(
              suggested.map(({ kind, text }) => [kind, text]),
              [["title", "Tides"]]
            )
          }
          const { documents, passages } = yield* store.stats()
          assert.deepStrictEqual([documents, passages], [16, 16])
        }).pipe(Effect.provide(Sqlite.layer({ filename, mode: "existing" })))

        const sql = yield* connect({ filename, mode: "readonly" })
        assert.deepStrictEqual(yield* structure.schema(sql, yield* structure.fresh), [
          { name: "schema", status: "ok", detail: "every table and index exists" }
        ])
        assert.deepStrictEqual(yield* disagreements(sql), [])
        assert.deepStrictEqual(yield* sql.unsafe("SELECT name FROM sqlite_schema WHERE sql LIKE '%fts5%'"), [])
      })
    )
  }

  it.scoped("is called damaged where SQLite finds a flipped bit in a definition to be a wrong statement", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      const bytes = readFileSync(`${folder}21.db`)
      bytes[bytes.indexOf("passage_id", bytes.indexOf("CREATE TABLE graph_passages"))]! ^= 1
      writeFileSync(filename, bytes)
      const { message } = yield* Effect.flip(Layer.build(Sqlite.layer({ filename, mode: "existing" })))
      assert.match(message, /it is damaged; run `clew doctor`/)
      const examiner = yield* Effect.provide(Examiner, SqliteExaminer.layer(filename))
      assert.isFalse(yield* examiner.migrate)
    })
  )

  it.scoped("has the keys whose values are no scalars, which filters took for absent up to schema 17", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      copyFileSync(`${folder}17.db`, filename)
      const metadata = {
        none: null,
        'of "one"\n': {},
        two: [],
        three: [null, [1], {}],
        four: [{}, 0],
        five: 5,
        six: "[]",
        "": [false]
      }
      const db = new Database(filename)
      db.prepare("UPDATE documents SET metadata = ? WHERE source LIKE '%/tides.md'").run(JSON.stringify(metadata))
      db.prepare("UPDATE documents SET metadata = '{' WHERE source LIKE '%/bread.md'").run()
      db.exec("DELETE FROM metadata_values")
      db.close()
      yield* Layer.build(Sqlite.layer({ filename, mode: "existing" }))
      const sql = yield* connect({ filename, mode: "readonly" })
      const rows = yield* sql.unsafe<{ readonly key: string; readonly kind: string; readonly value: string }>(
        "SELECT DISTINCT key, kind, value FROM metadata_values"
      )
      assert.sameDeepMembers(
        [...rows],
        metadataRows(dialectOf(sql), metadata).filter(({ kind }) => kind === "o") as never
      )
      assert.lengthOf(rows, 4)
    })
  )

  it("is there for every schema but the newest", () => {
    const versions = fixtures.map((name) => {
      const db = new Database(`${folder}${name}`, { readonly: true })
      const version = Number(db.pragma("user_version", { simple: true }))
      db.close()
      return version
    })
    assert.deepStrictEqual(
      [...new Set(versions)].sort((a, b) => a - b),
      Array.from({ length: schemaVersion - 1 }, (_, index) => index + 1)
    )
  })
})
