import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { CollectionName, defaultCollection } from "../../src/model/Collection.ts"
import { whole } from "../../src/Store.ts"
import { indexFile } from "../Store/opened.ts"
import { many, run, temporary, untold, withoutCodes, wrong } from "../examined.ts"
import * as Sqlite from "../../src/Store/Sqlite.ts"
import { ranked } from "../ranked.ts"

/** Everything that is stored, but for what cannot be told. */
const contents = (filename: string): string => {
  const db = new Database(filename, { readonly: true })
  try {
    const tables = db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
      .pluck()
      .all() as Array<string>
    return tables
      .map((table) => {
        const rows = db.prepare(`SELECT * FROM ${table} NOT INDEXED`).all() as Array<Record<string, unknown>>
        for (const row of rows) {
          for (const column of untold[table] ?? []) delete row[column]
          for (const [column, value] of Object.entries(row)) {
            if (Buffer.isBuffer(value)) row[column] = value.toString("base64")
          }
        }
        return JSON.stringify([table, rows])
      })
      .join("\n")
  } finally {
    db.close()
  }
}

/** Numbers from 0 to 1 that a seed decides (mulberry32). */
const random = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

it.layer(NodeFileSystem.layer)("doctor", (it) => {
  it.scoped("finds nothing wrong with an index in order, nor writes to it", () =>
    Effect.gen(function* () {
      const { bytes, folder } = yield* temporary
      const report = yield* run(`${folder}/index.db`, { deep: true, fix: true })
      assert.deepStrictEqual(wrong(report), [])
      assert.includeMembers(
        report.checks.map(({ name }) => name),
        [
          "schema",
          "pages",
          "references",
          "sequences",
          "records",
          "documents",
          "postings",
          "codes",
          "vectors",
          "graph",
          "embedder"
        ]
      )
      assert.deepStrictEqual(readFileSync(`${folder}/index.db`), bytes)
    })
  )

  /** All that can be tried takes many minutes: with CLEW_LONG_TESTS=1 it is, else every `stride`th of it. */
  const isLong = process.env["CLEW_LONG_TESTS"] === "1"
  const patience = isLong ? 1_800_000 : 120_000
  const some = <A>(all: ReadonlyArray<A>, stride: number, from = 0): ReadonlyArray<A> =>
    isLong ? all : all.filter((_, index) => index % stride === from)

  it.scoped(
    "finds every changed byte, but those that change nothing",
    () =>
      Effect.gen(function* () {
        const { bytes, folder } = yield* temporary
        const whole = contents(`${folder}/index.db`)
        const file = `${folder}/flipped.db`
        const missed: Array<string> = []
        for (const seed of some([...Array(200).keys()], 40)) {
          const next = random(seed)
          const at = Math.floor(next() * bytes.length)
          const changed = Buffer.from(bytes)
          changed[at] = changed[at]! ^ (1 << Math.floor(next() * 8))
          for (const name of [file, `${file}-wal`, `${file}-shm`, `${file}-journal`]) rmSync(name, { force: true })
          writeFileSync(file, changed)
          const report = yield* run(file)
          if (wrong(report).length === 0 && contents(file) !== whole) {
            missed.push(`seed ${seed}: byte ${at}`)
          }
        }
        assert.deepStrictEqual(missed, [])
      }),
    patience
  )

  /** What happens to rows, and what of it cannot be mended from what is there. */
  const damages: ReadonlyArray<readonly [name: string, sql: string, left?: string]> = [
    ["a posting block gone", "DELETE FROM keyword_postings WHERE id % 1048576 = 1"],
    ["a posting block changed", "UPDATE keyword_postings SET data = zeroblob(length(data)) WHERE id % 1048576 = 1"],
    [
      "varints without an end",
      "UPDATE keyword_postings SET data = x'8080808080808080', crc = NULL WHERE id % 1048576 = 1"
    ],
    ["heads gone", "DELETE FROM keyword_postings WHERE id % 1048576 = 0"],
    [
      "heads of another length",
      "UPDATE keyword_postings SET data = substr(data, 1, 3), crc = NULL WHERE id % 1048576 = 0"
    ],
    [
      "a segment gone",
      "DELETE FROM keyword_segments WHERE id = (SELECT min(id) FROM keyword_segments WHERE state = 0)"
    ],
    ["a segment miscounted", "UPDATE keyword_segments SET terms = terms + 1"],
    ["tombstones gone", "DELETE FROM keyword_tombstones"],
    ["a code block gone", "DELETE FROM code_blocks WHERE version = (SELECT max(version) FROM code_blocks)"],
    ["codes changed", "UPDATE code_blocks SET body = zeroblob(length(body))"],
    ["codes that no checksum knows changed", "UPDATE code_blocks SET body = zeroblob(length(body)), crc = NULL"],
    ["a centroid changed", "UPDATE code_epochs SET centroid = zeroblob(length(centroid))"],
    ["counters wrong", "UPDATE collections SET passages = passages + 1, documents = documents - 1"],
    [
      "every seventh vector gone",
      "DELETE FROM vectors_1 WHERE passage_id % 7 = 0; DELETE FROM vectors_2 WHERE passage_id % 7 = 0"
    ],
    ["a vector changed", "UPDATE vectors_1 SET vector = zeroblob(length(vector)) WHERE passage_id = 7"],
    ["a vector of another length", "UPDATE vectors_1 SET vector = zeroblob(12) WHERE passage_id = 7"],
    ["metadata of filters gone", "DELETE FROM metadata_values WHERE document_id % 2 = 0"],
    ["the next number taken", "UPDATE sqlite_sequence SET seq = 1 WHERE name IN ('passages', 'documents')"],
    ["orphans", "PRAGMA foreign_keys = OFF; INSERT INTO metadata_values VALUES ('k', 's', 'v', 9999)"],
    ["what passages mention changed", "UPDATE graph_passages SET mentions = zeroblob(length(mentions))"],
    ["mentions gone", "DELETE FROM graph_mentions WHERE passage_id % 3 = 0"],
    ["mentions moved", "UPDATE graph_mentions SET ordinal = ordinal + 1 WHERE passage_id % 3 = 0"],
    ["passages out of the graph", "DELETE FROM graph_passages WHERE passage_id % 3 = 0"],
    ["what a model said changed", "UPDATE graph_answers SET answer = '{}'"],
    ["what a model was asked changed", "UPDATE graph_answers SET asked = asked || 'x'"],
    ["what a model said gone", "DELETE FROM graph_answers"],
    ["the runs' number gone", "DELETE FROM run_numbers"],
    ["a file gone", "DELETE FROM files"],
    ["a file that is none", "UPDATE files SET outcome = 'lost', many = 7"],
    ["a folder with lists that are none", "UPDATE roots SET include = '*.md'"],
    ["a document changed in its name", "UPDATE documents SET doc_id = 'other' WHERE id = 2", "texts"],
    ["a locator changed", "UPDATE passages SET locator = replace(locator, '1', '2') WHERE locator LIKE '%1%'", "texts"],
    ["a passage gone", "DELETE FROM passages WHERE id = 7", "texts"],
    ["passages of several documents gone", "DELETE FROM passages WHERE ordinal = 1", "texts"],
    ["a text changed", "UPDATE passages SET text = replace(text, 'château', 'chateau') WHERE id = 7", "texts"],
    ["a heading that is no JSON", "UPDATE passages SET heading = '[' WHERE id = 7", "texts"],
    ["metadata that are no JSON", "UPDATE documents SET metadata = '{' WHERE id = 2", "texts"],
    ["a span beyond its text", "UPDATE passages SET start = start + 1 WHERE id = 7", "texts"],
    ["the runs' number behind", "UPDATE run_numbers SET last = 0"]
  ]

  it.scoped(
    "finds and mends what happens to rows, and no search answers from it without a word",
    () =>
      Effect.gen(function* () {
        const [large, small] = [yield* temporary, yield* withoutCodes]
        const ask = (filename: string) =>
          Effect.flatMap(whole, (store) =>
            Effect.forEach([defaultCollection, many], (collection) =>
              ranked(store, {
                collection,
                keyword: "north château",
                vector: Float32Array.of(1, 0.1, 0, 0),
                alpha: 0.5,
                limit: 20
              })
            )
          ).pipe(
            // Similarities are told above the mean of the vectors, for which codes that are made again have another sample.
            Effect.map((lists) =>
              lists.map((hits) => hits.map(({ document, passage, score }) => [document, passage, score]))
            ),
            Effect.provide(
              Sqlite.layer({ filename, mode: "readonly", vectors: { oversample: 4, exact: false, exactBelow: 100 } })
            )
          )
        const expected = new Map<object, unknown>()
        for (const of of [large, small]) expected.set(of, yield* ask(`${of.folder}/index.db`))
        for (const [index, [name, sql, left]] of some([...damages.entries()], 10)) {
          const of = /code_|vectors_/.test(sql) ? large : small
          const { bytes, folder } = of
          const filename = `${folder}/damaged${index}.db`
          writeFileSync(filename, bytes)
          const db = new Database(filename)
          db.exec(sql)
          db.close()
          // Typed, with the way out; anything else would be a defect.
          const before = yield* Effect.either(ask(filename))
          if (Either.isLeft(before)) assert.match(before.left.message, /clew doctor/, name)
          const found = yield* run(filename)
          assert.isAbove(wrong(found).length, 0, name)
          const fixed = yield* run(filename, { fix: true })
          assert.deepStrictEqual(
            wrong(fixed).map((check) => check.name),
            left === undefined ? [] : [left],
            `${name}: ${JSON.stringify(wrong(fixed))}`
          )
          assert.isTrue(existsSync(fixed.copy!), name)
          const after = yield* Effect.either(ask(filename))
          // What only the next index replaces is shown to nobody.
          if (left !== undefined && Either.isLeft(after)) assert.match(after.left.message, /clew doctor/, name)
          else if (left === undefined) assert.deepStrictEqual(Either.getOrThrow(after), expected.get(of), name)
          assert.strictEqual(
            (yield* Effect.provide(
              Effect.flatMap(whole, (store) => store.stats()),
              Sqlite.layer({ filename, mode: "readonly" })
            )).documents,
            10,
            name
          )
        }
      }),
    patience
  )

  it.scoped("finds and deletes rows of every table whose owner is gone", () =>
    Effect.gen(function* () {
      const { bytes, folder } = yield* withoutCodes
      const sample = new Database(bytes, { readonly: true })
      const tables = sample
        .prepare(
          `SELECT DISTINCT t.name, r."from" AS owner FROM sqlite_schema AS t JOIN pragma_foreign_key_list(t.name) AS r
           WHERE t.name <> 'documents'`
        )
        .all() as ReadonlyArray<{ readonly name: string; readonly owner: string }>
      sample.close()
      assert.isAbove(tables.length, 12)
      const filename = `${folder}/orphans.db`
      writeFileSync(filename, bytes)
      const db = new Database(filename)
      db.pragma("foreign_keys = OFF")
      for (const { name, owner } of tables) {
        const columns = db
          .prepare('SELECT name, type, "notnull" AS needed FROM pragma_table_info(?)')
          .all(name) as Array<Record<"name" | "type", string> & { readonly needed: number }>
        const needed = columns.filter((column) => column.needed === 1 || column.name === owner)
        const value = (column: (typeof columns)[number]) =>
          column.name === owner ? "9999" : column.type === "BLOB" ? "x'00'" : column.type === "TEXT" ? "'[]'" : "7777"
        db.exec(
          `INSERT INTO ${name} (${needed.map((column) => `"${column.name}"`).join()}) VALUES (${needed.map(value).join()})`
        )
      }
      assert.strictEqual(db.prepare("SELECT count(*) FROM pragma_foreign_key_check").pluck().get(), tables.length)
      db.close()
      assert.include(
        wrong(yield* run(filename)).map(({ name }) => name),
        "references"
      )
      assert.deepStrictEqual(wrong(yield* run(filename, { fix: true })), [])
    })
  )

  it.scoped("makes anew from the first passage on what was damaged while it was half rebuilt", () =>
    Effect.gen(function* () {
      const { bytes, folder } = yield* withoutCodes
      const filename = `${folder}/half.db`
      writeFileSync(filename, bytes)
      const db = new Database(filename)
      db.exec(`
        INSERT INTO rebuilds (collection_id, kind, format, terms_version, through, until, boundary)
          SELECT 1, 'postings', max(format), max(terms_version), 30, 9999, 9999 FROM keyword_segments;
        DELETE FROM keyword_postings WHERE id % 1048576 = 1`)
      db.close()
      assert.isAbove(wrong(yield* run(filename)).length, 0)
      assert.deepStrictEqual(wrong(yield* run(filename, { fix: true })), [])
    })
  )

  it.scoped("leaves what a newer Clew has built, or is building, to it, and says so", () =>
    Effect.gen(function* () {
      const [large, small] = [yield* temporary, yield* withoutCodes]
      for (const [kind, sql] of [
        ["postings", "UPDATE keyword_segments SET terms_version = terms_version + 1"],
        ["postings", "UPDATE keyword_segments SET terms_version = terms_version + 1 WHERE id % 2 = 0"],
        ["postings", "UPDATE keyword_segments SET terms_version = terms_version - 1 + 2 * (id % 2)"],
        [
          "postings",
          `UPDATE keyword_segments SET terms_version = terms_version - 1;
           INSERT INTO rebuilds (collection_id, kind, format, terms_version, until, boundary)
           SELECT id, 'postings', 1, 99, 5, 1 FROM collections`
        ],
        ["codes", "UPDATE code_sets SET format = 100"]
      ]) {
        const { bytes, folder } = kind === "codes" ? large : small
        const filename = `${folder}/newer.db`
        writeFileSync(filename, bytes)
        const db = new Database(filename)
        db.exec(sql!)
        const versions = () =>
          db
            .prepare("SELECT format, terms_version FROM keyword_segments UNION ALL SELECT format, 0 FROM code_sets")
            .all()
        const before = versions()
        for (const fix of [false, true]) {
          const bad = wrong(yield* run(filename, { fix }))
          assert.isAbove(bad.length, 0, sql)
          for (const { name, next, status, detail } of bad) {
            assert.deepStrictEqual([name, status, next], [kind, "warn", "update Clew"], sql)
            assert.match(detail, /^collection \S+: built by a newer Clew, so not checked$/)
          }
        }
        const pending = yield* Effect.provide(
          Effect.flatMap(whole, (store) => Effect.zipRight(store.rebuildStep(), store.rebuilds())),
          Sqlite.layer({ filename, mode: "existing" })
        )
        assert.deepStrictEqual(pending, [], sql)
        assert.deepStrictEqual(versions(), before, sql)
        db.close()
      }
    })
  )

  it.scoped("an index that another process has brought up to date is of this version before that is in the file", () =>
    Effect.gen(function* () {
      const filename = yield* indexFile
      copyFileSync(fileURLToPath(new URL("../fixtures/schemas/21.db", import.meta.url)), filename)
      yield* Effect.gen(function* () {
        yield* (yield* whole).collections
        assert.strictEqual(readFileSync(filename).readUInt32BE(60), 21)
        assert.isFalse((yield* run(filename)).checks.some(({ detail }) => /older Clew/.test(detail)))
        const { fixed } = yield* run(filename, { fix: true })
        assert.isFalse(fixed.some((text) => /older version/.test(text)))
      }).pipe(Effect.provide(Sqlite.layer({ filename, mode: "existing" })))
    })
  )

  it.scoped("finds documents whose collection is lost, and gives them another", () =>
    Effect.gen(function* () {
      const [large, small] = [yield* temporary, yield* withoutCodes]
      for (const [name, damage] of [
        ["a row of collections", "DELETE FROM collections WHERE id = 1"],
        ["every row of collections", "DELETE FROM collections"],
        ["a row and its vectors", "DELETE FROM collections WHERE id = 1; DROP TABLE vectors_1"],
        ["another number", "UPDATE documents SET collection_id = 0 WHERE collection_id = 1"],
        ["a number beyond all", "UPDATE documents SET collection_id = 9223372036854775806 WHERE collection_id = 1"],
        [
          "two, of which a new number could be the other's",
          `UPDATE documents SET collection_id = CASE WHEN id % 2 THEN -1 ELSE 3 END WHERE collection_id = 1;
           DELETE FROM sqlite_sequence WHERE name = 'collections'`
        ]
      ] as const) {
        const { bytes, folder } = name === "every row of collections" ? large : small
        const filename = `${folder}/${name}.db`
        writeFileSync(filename, bytes)
        const db = new Database(filename)
        db.exec(`PRAGMA foreign_keys = OFF; ${damage}`)
        db.close()
        const found = yield* run(filename)
        assert.isTrue(
          found.checks.some(({ detail }) =>
            /documents in no collection, so not found: note0, .* and \d more/.test(detail)
          ),
          name
        )
        const fixed = yield* run(filename, { fix: true })
        assert.deepStrictEqual(wrong(fixed), [], name)
        const said = fixed.fixed.join("\n")
        const made = /^documents whose collection was lost are in a new one: (recovered-\d)/m.exec(said)![1]!
        assert.match(said, /vectors were embedded again/)
        const store = Sqlite.layer({ filename, mode: "readonly" })
        const hits = yield* Effect.flatMap(whole, (store) =>
          ranked(store, { collection: CollectionName.make(made), keyword: "north château", limit: 20 })
        ).pipe(Effect.provide(store))
        assert.isAbove(hits.length, 0, name)
        const { documents } = yield* Effect.provide(
          Effect.flatMap(whole, (store) => store.stats()),
          store
        )
        assert.strictEqual(documents, 10, name)
      }
    })
  )

  it.scoped("makes a table of vectors again that is gone, with its vectors", () =>
    Effect.gen(function* () {
      const { folder } = yield* temporary
      const filename = `${folder}/index.db`
      const db = yield* Effect.acquireRelease(
        Effect.sync(() => new Database(filename)),
        (db) => Effect.sync(() => db.close())
      )
      const rows = () => db.prepare("SELECT count(*) FROM vectors_2").pluck().get()
      const before = rows()
      db.exec("DROP TABLE vectors_2")
      assert.strictEqual(wrong(yield* run(filename))[0]?.name, "schema")
      assert.deepStrictEqual(wrong(yield* run(filename, { fix: true })), [])
      assert.strictEqual(rows(), before)
    })
  )

  it.scoped(
    "finds pages that changed places, and an end that is missing, without a crash",
    () =>
      Effect.gen(function* () {
        const { bytes, folder } = yield* temporary
        const whole = contents(`${folder}/index.db`)
        const page = bytes.readUInt16BE(16)
        const pages = bytes.length / page
        const damaged: Array<readonly [name: string, bytes: Buffer]> = []
        for (let seed = 0; seed < 30; seed++) {
          const next = random(seed)
          const [a, b] = [1 + Math.floor(next() * (pages - 1)), 1 + Math.floor(next() * (pages - 1))]
          const swapped = Buffer.from(bytes)
          bytes.copy(swapped, a * page, b * page, (b + 1) * page)
          bytes.copy(swapped, b * page, a * page, (a + 1) * page)
          if (a !== b) damaged.push([`pages ${a} and ${b} swapped`, swapped])
        }
        for (let seed = 0; seed < 20; seed++) {
          const length = Math.floor(random(seed)() * bytes.length)
          damaged.push([`cut to ${length} bytes`, bytes.subarray(0, length)])
        }
        for (const length of [0, 99, page, bytes.length - page, bytes.length - 1]) {
          damaged.push([`cut to ${length} bytes`, bytes.subarray(0, length)])
        }
        const file = `${folder}/torn.db`
        const missed: Array<string> = []
        for (const [name, content] of some(damaged, 14)) {
          for (const left of [file, `${file}-wal`, `${file}-shm`, `${file}-journal`]) rmSync(left, { force: true })
          writeFileSync(file, content)
          if (wrong(yield* run(file)).length === 0 && contents(file) !== whole) missed.push(name)
        }
        assert.deepStrictEqual(missed, [])
      }),
    patience
  )
})
